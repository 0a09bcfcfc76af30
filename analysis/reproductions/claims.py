"""Claims of a paper, and what the released files say about each."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, TypeVar, get_args

from .published import Grid, Value

Data = TypeVar("Data")
# Our value is computed from one of these: released files, or other numbers that the paper prints.
Basis = Literal["release", "paper", "both"]
Verdict = Literal["same", "differs", "not reproducible", "not in the paper"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """A published value, and how to compute it again.

    Attributes:
        place: Table, figure or section of the paper.
        row: Description of the value.
        published: None if the paper does not give it.
        ours: Computes the value from the released files; None if they cannot give it.
        column: Its column, if the claim is a cell of a table.
        decimals: Digits that the paper prints.
        basis: Source of our value.
        reason: Why the values differ, or why there is none of ours.
        tolerance: Difference that still counts as the same; by default half a unit of the last digit.
    """

    place: str  # words: allow - as in the files of published values
    row: str
    published: Value
    ours: Callable[[Data], Value] | None
    column: str = ""
    decimals: int = 2
    basis: Basis = "release"
    reason: str | Callable[[Data], str] = ""
    tolerance: float | None = None


@dataclass(frozen=True)
class Result:
    """A claim with our value.

    Attributes:
        difference: Ours minus the published value, both as they are.
        reason: Empty if the values are the same.
    """

    place: str  # words: allow - a key and a column of the results
    row: str
    column: str
    published: Value
    ours: Value
    difference: float | None
    verdict: Verdict
    basis: Basis
    decimals: int
    reason: str


def check(claims: Iterable[Claim[Data]], data: Data) -> list[Result]:
    """Compute our value of every claim and compare it with the paper's."""
    return [_build_result(claim, data) for claim in claims]


def build_cell_claims(
    grid: Grid,
    ours: Callable[[str, str], Callable[[Data], Value] | None],
    *,
    location: str = "",
    reason: Callable[[str, str], str | Callable[[Data], str]] | str = "",
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    labels: dict[str, str] | None = None,
    basis: Basis = "release",
    tolerance: float | None = None,
) -> list[Claim[Data]]:
    """Declare a claim for each filled cell of a published table.

    Args:
        grid: The table.
        ours: The function that computes the cell of a row and a column, None without one.
        location: Place in the paper if it is not that of the table.
        reason: As in `Claim`, or a function of a row and a column that gives it.
        columns: Columns to take; all by default.
        rows: Rows to take; all by default.
        labels: Names for people of rows and columns.
        basis: As in `Claim`.
        tolerance: As in `Claim`.
    """
    named = labels or {}
    return [
        Claim(
            location or grid.place,
            named.get(row, row),
            value,
            ours(row, column),
            named.get(column, column),
            grid.decimals,
            basis,
            reason if isinstance(reason, str) else reason(row, column),
            tolerance,
        )
        for row in rows or grid.rows
        for column in columns or grid.columns
        if (value := grid.get(row, column)) is not None
    ]


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """Return the results and the number of each verdict."""
    return {"counts": count_verdicts(results), "results": [asdict(result) for result in results]}


def count_verdicts(results: Iterable[Result]) -> dict[Verdict, int]:
    """Count the results of each verdict."""
    counts = Counter(result.verdict for result in results)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _build_result(claim: Claim[Data], data: Data) -> Result:
    ours = claim.ours(data) if claim.ours else None
    verdict = _judge_claim(claim, ours)
    difference = None
    if isinstance(ours, int | float) and isinstance(claim.published, int | float):
        difference = ours - claim.published
    reason = "" if verdict == "same" else claim.reason(data) if callable(claim.reason) else claim.reason
    return Result(
        claim.place,
        claim.row,
        claim.column,
        claim.published,
        ours,
        difference,
        verdict,
        claim.basis,
        claim.decimals,
        reason,
    )


def _judge_claim(claim: Claim[Data], ours: Value) -> Verdict:
    if ours is None:
        return "not reproducible"
    if claim.published is None:
        return "not in the paper"
    if isinstance(ours, str) or isinstance(claim.published, str):
        return "same" if ours == claim.published else "differs"
    most = 0.5 * 10.0**-claim.decimals if claim.tolerance is None else claim.tolerance
    return "same" if abs(ours - claim.published) <= most + ROUNDING else "differs"
