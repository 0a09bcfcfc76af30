"""The first screen of a report, read from the tables that it wrote.

The page of results draws it itself, so that its sentences are in the reader's language and its colours are
those of the site.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from analysis.io.spreadsheet import unescape_formula
from analysis.participants.tasks import find_measure
from foundation.frozen_model import FrozenModel

ALPHA = 0.05  # of Holm's p
KEY_MEASURES = (
    "over_estimation",
    "fraction_correct",
    "agreement",
    "over_reliance",
    "final_accuracy",
    "simulation_effect",
    "precision",
    "prediction_accuracy",
)  # the first that the data have


class Estimated(FrozenModel):
    """The key measure of a condition, with its 95 % confidence interval."""

    condition: str
    value: float
    low: float | None
    high: float | None
    participants: int


class Difference(FrozenModel):
    """The second condition minus the first, with its 95 % confidence interval."""

    first: str
    second: str
    value: float
    low: float
    high: float
    p: float | None

    @property
    def is_clear(self) -> bool:
        """True if the interval leaves out zero, and the corrected p is small.

        The interval is that of this comparison alone.
        """
        return not self.low <= 0 <= self.high and (self.p is None or self.p <= ALPHA)


class RankCell(FrozenModel):
    """The relation of a human measure to a score: "+", "-" or "".

    ``percent`` of the bootstrap replicates have the sign; None if it is unknown, as in reports of before.
    ``is_open`` says that they are too few to count on it.
    """

    sign: str
    percent: int | None = None
    is_open: bool = False


class RankRow(FrozenModel):
    """The relation of a human measure to each score: "+", "-" or "".

    ``cells`` are empty in reports of before, which know the signs only.
    """

    measure: str
    signs: tuple[str, ...]
    cells: tuple[RankCell, ...] = ()

    @property
    def shown(self) -> tuple[RankCell, ...]:
        """The cells of the row."""
        return self.cells or tuple(RankCell(sign=sign) for sign in self.signs)


class Summary(FrozenModel):
    """The first screen of a report.

    ``measure`` is the key of the measure that the screen is about, empty if the data have none. ``scores``
    are the keys of the columns of ``ranks``.
    """

    measure: str = ""
    estimates: tuple[Estimated, ...] = ()
    differences: tuple[Difference, ...] = ()
    scores: tuple[str, ...] = ()
    ranks: tuple[RankRow, ...] = ()
    trials: int = 0
    excluded: int = 0

    @property
    def clearest(self) -> Difference | None:
        """The largest difference that is clear, else the largest one."""
        return max(
            self.differences,
            key=lambda difference: (difference.is_clear, abs(difference.value)),
            default=None,
        )

    @property
    def clear(self) -> int:
        """The number of differences that are clear."""
        return sum(difference.is_clear for difference in self.differences)


def read_summary(report: Path) -> Summary:
    """Read the first screen from the folder of a report."""
    tables = report / "tables"
    measures = [
        row for row in _read_rows(tables / "measures.csv") if row["exclusions"] == "with" and row["value"]
    ]
    available = dict.fromkeys(row["measure"] for row in measures)
    key = next((key for key in KEY_MEASURES if key in available), _select_main_measure(available))
    differences = [row for row in _read_rows(tables / "differences.csv") if row["measure"] == key]
    ranks = _read_rows(tables / "rank_table.csv") or _read_rows(tables / "rank_table_1.csv")
    scores = tuple(name for name in (ranks[0] if ranks else ()) if name != "measure")
    related = {(row["measure"], row["score"]): row for row in _read_rows(tables / "correlations.csv")}
    counts = _read_rows(tables / "exclusions_by_condition.csv")[-1:]  # the last row is the sum
    return Summary(
        measure=key,
        estimates=tuple(
            Estimated(
                condition=row["condition"],
                value=float(row["value"]),
                low=_parse_number(row["low"]),
                high=_parse_number(row["high"]),
                participants=int(row["participants"]),
            )
            for row in measures
            if row["measure"] == key
        ),
        differences=tuple(
            Difference(
                first=row["first"],
                second=row["second"],
                value=float(row["difference"]),
                low=float(row["low"]),
                high=float(row["high"]),
                p=_parse_number(row["p_holm"]),
            )
            for row in differences
            if row["difference"] and row["low"] and row["high"]
        ),
        scores=scores,
        ranks=tuple(_rank_row(row, scores, related) for row in ranks),
        trials=int(counts[0]["submitted"]) if counts else 0,
        excluded=int(counts[0]["excluded"]) if counts else 0,
    )


def _select_main_measure(measures: Iterable[str]) -> str:
    """Return a win rate, in the order of the criteria, else the first by name."""
    rates = [name for name in measures if name.startswith("win_rate_")]
    return next(iter(rates or sorted(measures)), "")


def measure_label(key: str) -> str:
    """Return the label of a measure, the key of a question of the study's own."""
    measure = find_measure(key)
    return key if measure is None else measure.label


def measure_unit(key: str) -> str:
    """Return the unit of a measure."""
    measure = find_measure(key)
    return "" if measure is None else measure.unit


def _rank_row(
    row: Mapping[str, str], scores: Sequence[str], related: Mapping[tuple[str, str], Mapping[str, str]]
) -> RankRow:
    cells = []
    for score in scores:
        pair = related.get((row["measure"], score), {})
        share = _parse_number(pair.get("sign_share", ""))
        percent = None if share is None else int(100 * share + 1e-9)
        is_open = pair.get("sign_recurs") == "false"
        cells.append(RankCell(sign=row[score], percent=percent, is_open=is_open))
    return RankRow(measure=row["measure"], signs=tuple(row[name] for name in scores), cells=tuple(cells))


def _read_rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: unescape_formula(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _parse_number(text: str) -> float | None:
    return float(text) if text else None
