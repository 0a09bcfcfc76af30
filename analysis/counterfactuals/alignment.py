"""Alignment of counterfactual and saliency explanations.

A reader is aligned if it is right for the expected reasons.

References:
    1. Ray Choudhury et al. (2022), definitions 2 and 3, section 4.3.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import scipy
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..io.errors import AnalysisError, InputError, find_first_problem
from ..io.whole_files import parse_model, read_lines
from ..stats.arguments import check_count
from ..stats.arrays import Array
from .instances import CONFIRMED

LEVEL = 0.05  # of the test in each instance
Score = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Interval = tuple[float, float]


class Record(BaseModel):
    """One instance under one saliency method.

    Attributes:
        id: ID of the instance.
        original_correct: True if the original question was answered exactly.
        counterfactual_correct: True if the counterfactual was.
        positive: Saliency of the tokens that ought to count; None if there is no saliency.
        negative: Saliency of those that ought not to; None likewise.
        dataset: Name, which groups the records, as do the next three.
        system: Name of the system.
        step: Reasoning step.
        method: Saliency method.
        context: Part of the context that the system read: "facts", "paragraphs", or "" for all.
        distribution: "in" if the counterfactual's words are among those of training, else "out".
        original_f1: F1 of the answer to the original, from 0 to 1.
        counterfactual_f1: F1 of the answer to the counterfactual, from 0 to 1.
        near_synonym: The swap hardly changes the meaning.
        verdict: Of people who checked it; empty if nobody has.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    id: Annotated[str, Field(min_length=1)]
    original_correct: bool
    counterfactual_correct: bool
    positive: list[Score] | None = None
    negative: list[Score] | None = None
    dataset: str = ""
    system: str = ""
    step: str = ""
    method: str = ""
    context: Literal["", "facts", "paragraphs"] = ""
    distribution: Literal["in", "out"] = "in"
    original_f1: Share | None = None
    counterfactual_f1: Share | None = None
    near_synonym: bool = False
    verdict: str = ""

    @property
    def is_doubtful(self) -> bool:
        """True if the swap hardly changes the meaning and nobody confirmed it."""
        return self.near_synonym and self.verdict not in CONFIRMED


@dataclass(frozen=True)
class Group:
    """A group of records that one alignment score is about."""

    dataset: str = ""
    system: str = ""
    step: str = ""
    method: str = ""
    context: str = ""
    distribution: str = "in"


@dataclass(frozen=True)
class Verdict:
    """Verdict on one instance.

    Attributes:
        id: ID of the instance.
        group: Names that group the records.
        answered: Both questions were answered exactly.
        difference: Mean of the positive minus mean of the negative saliency.
        p: Of the test that the positive is higher; None if no test was possible.
        higher: The test finds the positive partition higher.
        aligned: `answered` and `higher`.
        control: Share of random partitions of the same sizes that the test finds higher; None like `p`.
    """

    id: str
    group: Group
    answered: bool
    difference: float | None
    p: float | None
    higher: bool
    aligned: bool
    control: float | None


@dataclass(frozen=True)
class Alignment:
    """The alignment of one group.

    Attributes:
        group: Names that group the records.
        n: Number of instances with saliency.
        answered: Number with both questions answered exactly.
        higher: Number whose positive partition is significantly higher.
        aligned: Number that are both.
        untested: Number with too few tokens for a test; they are not aligned.
        score: aligned / n.
        interval: Wilson's 95 % interval of `score`.
        among_answered: aligned / answered; None if none is.
        among_answered_interval: Wilson's 95 % interval of it; None likewise.
        control: Share of random partitions found higher, over the tested instances; None if there are none.
    """

    group: Group
    n: int
    answered: int
    higher: int
    aligned: int
    untested: int
    score: float
    interval: Interval
    among_answered: float | None
    among_answered_interval: Interval | None
    control: float | None

    @property
    def above_control(self) -> bool:
        """True if the whole interval of `among_answered` lies above the control."""
        return bool(
            self.among_answered_interval is not None
            and self.control is not None
            and self.among_answered_interval[0] > self.control
        )


def compute_higher_mean_p(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Compute Student's one-tailed p: is the positive mean the higher one?

    The samples are independent. Pooled variance, so that a part of one token can
    be tested. None if a part is empty or there are fewer than three tokens.
    Without any spread p is 0 for a higher mean and 1 for any other.

    Differs in no digit from scipy.stats.ttest_ind(positive, negative,
    alternative="greater").

    Examples:
        >>> round(compute_higher_mean_p([3.0, 4.0], [1.0, 2.0, 1.5]), 4)
        0.0161
    """
    if not positive or not negative or len(positive) + len(negative) < 3:
        return None
    return float(_compute_p(np.array([*positive, *negative], dtype=float)[None], len(positive))[0])


def judge(
    records: Iterable[Record | Mapping[str, Any]], *, rng: np.random.Generator, draws: int = 100
) -> Iterator[Verdict]:
    """Judge every record that has saliency, in their order.

    Args:
        records: Records, or mappings with their fields; those without saliency are left out.
        rng: Source of the random partitions.
        draws: Number of random partitions for each instance's control; 0 for no control.

    Yields:
        One verdict per record; its difference is in the unit of the saliency.

    Raises:
        ValueError: `draws` is negative, a mapping is no record, or a group has an instance twice.
    """
    check_count(draws, 0, "draws")
    seen: set[tuple[Group, str]] = set()
    for record in map(_parse_record, records):
        if record.positive is None and record.negative is None:
            continue
        group = build_group(record)
        if (group, record.id) in seen:
            raise ValueError(f"id: {record.id!r} is there twice in one group")
        seen.add((group, record.id))
        yield _judge_record(record, group, rng, draws)


def alignments(verdicts: Iterable[Verdict]) -> list[Alignment]:
    """Compute the alignment of every group.

    Args:
        verdicts: Verdicts of any groups, from `judge`.

    Returns:
        One per group, in order of first appearance.
    """
    groups: dict[Group, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.group].append(verdict)
    return [_build_alignment(group, found) for group, found in groups.items()]


def alignment_score(
    records: Iterable[Record | Mapping[str, Any]], *, rng: np.random.Generator, draws: int = 100
) -> Alignment:
    """Compute the alignment of records of one group.

    Args:
        records: Records, or mappings with their fields; those without saliency are left out.
        rng: Source of the random partitions.
        draws: Number of random partitions for each instance's control; 0 for no control.

    Returns:
        Counts and shares of the group.

    Raises:
        ValueError: The records have no group or several, or `judge` refuses them.

    Examples:
        >>> record = {"id": "1", "original_correct": True, "counterfactual_correct": True}
        >>> record |= {"positive": [3.0, 4.0], "negative": [1.0, 2.0, 1.5]}
        >>> alignment_score([record], rng=np.random.default_rng(1)).score
        1.0
    """
    groups = alignments(judge(records, rng=rng, draws=draws))
    if len(groups) != 1:
        raise ValueError(f"records: they make {len(groups)} groups, not one")
    return groups[0]


def build_group(record: Record) -> Group:
    """Return the group that a record belongs to."""
    return Group(
        record.dataset, record.system, record.step, record.method, record.context, record.distribution
    )


def read_records(path: Path) -> list[Record]:
    """Read records from JSON lines.

    Args:
        path: File of JSON lines with the fields of `Record`.

    Returns:
        Records in the file's order.

    Raises:
        InputError: The file is missing or malformed; names file, line and field.
    """
    lines: dict[tuple[Group, str], int] = {}
    return read_lines(path, lambda number, line: _read_line(path, number, line, lines), what="record")


def _read_line(path: Path, number: int, line: bytes, lines: dict[tuple[Group, str], int]) -> Record:
    where = f"line {number}"
    record = parse_model(Record, line, path, where=where)
    if (record.positive is None) != (record.negative is None):
        missing = "positive" if record.positive is None else "negative"
        raise InputError(path, "positive and negative come together", where=where, field=missing)
    first = lines.setdefault((build_group(record), record.id), number)
    if first != number:
        problem = f"{record.id!r} is already in line {first}, with the same names"
        raise InputError(path, problem, where=where, field="id")
    return record


def _parse_record(given: Record | Mapping[str, Any]) -> Record:
    if isinstance(given, Record):
        return given
    try:
        return Record.model_validate(dict(given))
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise AnalysisError(f"{field}: {problem}") from None


def _judge_record(record: Record, group: Group, rng: np.random.Generator, draws: int) -> Verdict:
    positive, negative = record.positive or [], record.negative or []
    answered = record.original_correct and record.counterfactual_correct
    p = compute_higher_mean_p(positive, negative)
    if p is None:
        return Verdict(record.id, group, answered, None, None, False, False, None)
    higher = p < LEVEL
    pooled = np.array([*positive, *negative], dtype=float)
    control = None
    if draws:
        dealt = rng.permuted(np.tile(pooled, (draws, 1)), axis=1)
        control = float((_compute_p(dealt, len(positive)) < LEVEL).mean())
    difference = float(np.mean(positive) - np.mean(negative))
    return Verdict(record.id, group, answered, difference, p, higher, answered and higher, control)


def _compute_p(values: Array, first: int) -> Array:
    """Compute p of each row (rows × tokens), the positive tokens first."""
    positive, negative = values[:, :first], values[:, first:]
    sizes = positive.shape[1], negative.shape[1]
    freedom = sum(sizes) - 2
    difference = positive.mean(1) - negative.mean(1)
    squares = sum(((part - part.mean(1, keepdims=True)) ** 2).sum(1) for part in (positive, negative))
    # The mean of equal numbers may miss them by a last digit, which is neither spread nor difference.
    scale = np.abs(values).max(1)
    difference = np.where(np.abs(difference) <= 1e-14 * scale, 0.0, difference)
    error = np.sqrt(
        np.where(squares <= 1e-26 * scale**2, 0.0, squares) / freedom * (1 / sizes[0] + 1 / sizes[1])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(difference == 0, 0.0, difference / error)
    flat = (error == 0) & (difference <= 0)
    return np.where(flat, 1.0, scipy.special.stdtr(freedom, -t))


def _build_alignment(group: Group, verdicts: Sequence[Verdict]) -> Alignment:
    n, answered = len(verdicts), sum(verdict.answered for verdict in verdicts)
    aligned = sum(verdict.aligned for verdict in verdicts)
    controls = [verdict.control for verdict in verdicts if verdict.control is not None]
    return Alignment(
        group=group,
        n=n,
        answered=answered,
        higher=sum(verdict.higher for verdict in verdicts),
        aligned=aligned,
        untested=sum(verdict.p is None for verdict in verdicts),
        score=aligned / n,
        interval=_compute_wilson_interval(aligned, n),
        among_answered=aligned / answered if answered else None,
        among_answered_interval=_compute_wilson_interval(aligned, answered) if answered else None,
        control=float(np.mean(controls)) if controls else None,
    )


def _compute_wilson_interval(hits: int, n: int) -> Interval:
    # The site imports this module and never gets here: statsmodels would take each web process 20 MB.
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(hits, n, method="wilson")
    return float(low), float(high)
