"""Measures per participant and condition, with bootstrap intervals.

The bootstrap is over participants and items.

Values pooled over trials stand beside them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from ..stats.arguments import check_choice, check_count
from ..stats.arrays import Array, split_into_chunks
from ..stats.bootstrap import (
    Method,
    Weights,
    bootstrap_interval,
    leave_one_out_means,
    resample,
    split_into_blocks,
    widen_level,
)
from .measures import Measure
from .trial_grid import Grid, Summed, Sums, group_grids, pool_sums

LEVEL = 0.95
ITEMS_AT_ONCE = 50  # left out in turn
NO_CORRECTNESS = "it is not recorded whether the system's answer is correct"
NO_TRIAL = "no trial is retained"
NO_TIME = "no clock has a value"
ONE_SURVEY = "the post survey is answered once, after all conditions that a participant saw"
NOT_ASKED = "the condition does not ask for it"
NO_ADVICE = "the condition shows no advice"
UNDEFINED = (
    "its formula divides by zero for every participant (no answer of the kind that it counts was shown)"
)


@dataclass(frozen=True)
class Estimate:
    """One measure in one condition.

    Attributes:
        condition: Name of the condition.
        measure: The measure, which has the unit.
        value: Mean over participants of their own values; None if it cannot be given, `reason` then says why.
        interval: 95 % interval of the two-way bootstrap, its percentiles widened for few participants
            (`analysis.stats.widen_level`); None for fewer than two participants, or if too many replicates
            are undefined.
        pooled: The same formula over all trials at once.
        trials: Number of trials that enter; None for the post survey.
        participants: Number of participants with a defined value.
        undefined: Number of participants without one.
        reason: Why there is no value; empty otherwise.
        interval_method: "percentile" or "bca".
        interval_reason: Why it is not the method that was asked for; empty otherwise.
    """

    condition: str
    measure: Measure
    value: float | None
    interval: tuple[float, float] | None
    pooled: float | None
    trials: int | None
    participants: int
    undefined: int
    reason: str = ""
    interval_method: Method = "percentile"
    interval_reason: str = ""

    @property
    def is_asked(self) -> bool:
        """False if the condition does not ask the question of the measure."""
        return self.reason != NOT_ASKED


@dataclass(frozen=True)
class Estimates:
    """All measures in all conditions.

    Attributes:
        conditions: Names, in order.
        measures: The measures, in order.
        table: Key of a measure and name of a condition to the estimate.
        per_participant: Measure key to one array per condition, a value per participant.
        replicates: Measure key to an array of replicates × conditions, NaN where undefined. All conditions of
            a replicate have the same items.
        without_item: Measure key to an array of items × conditions, the value without the item; only for BCa
            intervals.
        groups: Per condition the number of its group (`analysis.participants.trial_grid.group_grids`); the
            participants of a group are in one order.
        grids: The trials, one grid per condition.
    """

    conditions: tuple[str, ...]
    measures: tuple[Measure, ...]
    table: dict[tuple[str, str], Estimate]
    per_participant: dict[str, list[Array]]
    replicates: dict[str, Array]
    without_item: dict[str, Array] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    grids: tuple[Grid, ...] = ()
    _influences: dict[tuple[str, str], Array] = field(default_factory=dict, repr=False)

    def has_same_participants(self, first: str, second: str) -> bool:
        """Test whether the same participants saw both conditions.

        Args:
            first: Name of a condition.
            second: Name of another condition.

        Returns:
            False too if the estimates have no groups.

        Raises:
            ValueError: A condition was not estimated.
        """
        if not self.groups:
            return False
        indices = [self.conditions.index(name) for name in (first, second)]
        return self.groups[indices[0]] == self.groups[indices[1]]

    def get(self, measure: str, condition: str) -> Estimate:
        """Return the estimate of the measure in the condition.

        Args:
            measure: Key of the measure.
            condition: Name of the condition.

        Returns:
            The estimate; one without a value has a reason.

        Raises:
            KeyError: The measure was not estimated in the condition.
        """
        return self.table[measure, condition]

    def has_value(self, measure: str) -> bool:
        """Test whether any condition has a value.

        Args:
            measure: Key of the measure.

        Returns:
            True if one has; False too if the measure was not estimated.
        """
        estimates = (self.table.get((measure, condition)) for condition in self.conditions)
        return any(estimate is not None and estimate.value is not None for estimate in estimates)

    def item_influence(self, measure: Measure, condition: str) -> Array:
        """Return how the items change each participant's value.

        It is (items − 1) times what the value, or its logarithm if geometric, changes by when the item is
        left out. A participant whose only trial of a conditional measure is on the item would leave with it:
        the value then changes to the others' mean.

        Args:
            measure: One of the estimated measures.
            condition: Name of the condition.

        Returns:
            Shape (participants, items); 0 for an item that was not shown, NaN where nothing would be left.

        Raises:
            ValueError: The condition was not estimated.
        """
        key = (measure.key, condition)
        if key not in self._influences:
            grid = self.grids[self.conditions.index(condition)]
            summed, count = Summed(grid), len(grid.items)
            whole = measure.formula(summed.sums(np.ones((count, 1))))
            rest = measure.formula(summed.sum_without_item(median=measure.key == "time_median"))
            if measure.conditional and (~np.isnan(whole)).any():
                rest = np.where(np.isnan(rest), np.nanmean(whole), rest)
            if measure.geometric:
                with np.errstate(divide="ignore", invalid="ignore"):
                    whole, rest = np.log(whole), np.log(rest)
            self._influences[key] = (count - 1) * (whole - rest)
        return self._influences[key]


def estimate(
    grids: Sequence[Grid],
    measures: Sequence[Measure],
    *,
    rng: np.random.Generator,
    resamples: int,
    advance: Callable[[int], None] = lambda replicates: None,
    method: Method = "percentile",
) -> Estimates:
    """Estimate every measure in every condition.

    Args:
        grids: One per condition, over common items.
        measures: Measures to estimate; one that no condition can give has only reasons.
        rng: Source of random numbers.
        resamples: Of the bootstrap; 0 gives no confidence intervals.
        advance: Is called with the number of replicates finished since the last call, for a progress bar.
        method: Of the confidence intervals; see `analysis.stats.bootstrap.bootstrap_interval`.

    Returns:
        An estimate for each measure and condition, in the unit of the measure; one without a value has a
        reason.

    Raises:
        ValueError: There is no grid, `resamples` is negative, `method` is unknown, or two grids share some
            participants and not all.
    """
    check_count(resamples, 0, "resamples")
    check_choice(method, get_args(Method), "method")
    if not grids:
        raise ValueError("grids must hold at least one condition, and is empty")
    reasons = {(m.key, g.condition): explain_missing(m, g) for m in measures for g in grids}
    laid_out = [Summed(grid) for grid in grids]
    ones = [summed.sums(np.ones((len(grids[0].items), 1))) for summed in laid_out]
    measured = [m for m in measures if not all(reasons[m.key, grid.condition] for grid in grids)]
    values = {
        m.key: [_compute_values(m, sums, grid, reasons) for sums, grid in zip(ones, grids, strict=True)]
        for m in measured
    }
    again = _Reaggregation(grids, laid_out, measured, reasons)
    drawn = _draw_replicates(again, rng, resamples, advance)
    left_out = _compute_without_item(again) if resamples and method == "bca" else {}
    table = {}
    for m in measures:
        for column, grid in enumerate(grids):
            reason = reasons[m.key, grid.condition]
            own = np.array([]) if reason else values[m.key][column]
            draws = drawn[m.key][:, column] if m.key in drawn else np.array([])
            items = left_out[m.key][:, column] if m.key in left_out else np.array([])
            table[m.key, grid.condition] = _estimate(
                m, grid, own, draws, items, ones[column], reason, method=method
            )
    names = tuple(g.condition for g in grids)
    return Estimates(names, tuple(measures), table, values, drawn, left_out, again.groups, tuple(grids))


def explain_missing(measure: Measure, grid: Grid) -> str:
    """Explain why the condition cannot give the measure, "" if it can."""
    if not grid.participants:
        return "the condition has no participants"
    if grid.shared and not measure.counted:
        return ONE_SURVEY
    if measure.counted and not grid.present.any():
        return NO_TRIAL
    for need in measure.needs:
        if need == "system_correct":
            if np.isnan(grid.system_correct).all():
                return NO_CORRECTNESS
        elif need == "time":
            if np.isnan(grid.seconds).all():
                return NO_TIME
        elif need in grid.unasked:
            return NO_ADVICE if need == "advice" else NOT_ASKED
        elif (answers := (grid.answers | grid.post).get(need)) is None:
            return f"the study does not ask for it (no question with the role {need})"
        elif np.isnan(answers).all():
            return "nobody answered the question"
    return ""


def average_participants(values: Array, weights: Array, *, geometric: bool = False) -> Array:
    """Average participants (rows) by weight for each replicate (column).

    Undefined values are left out. With `geometric` the geometric mean. NaN if no
    participant is defined.
    """
    return divide_totals(*sum_by_weight(values, weights, geometric=geometric), geometric=geometric)


def sum_by_weight(values: Array, weights: Array, *, geometric: bool = False) -> tuple[Array, Array]:
    """Sum the defined values (or logs) by weight, and their weights.

    `average_participants` divides the two. Both add over blocks of participants.
    Shapes as there; the results have one value per replicate.
    """
    with np.errstate(divide="ignore"):
        summed = np.log(values) if geometric else values
    undefined = np.isnan(summed)
    if undefined.any():
        total = np.einsum("pr,pr->r", weights, (~undefined).astype(float))
        summed = np.where(undefined, 0.0, summed)
    else:
        total = weights.sum(axis=0)
    return np.einsum("pr,pr->r", weights, summed), total


def divide_totals(summed: Array, total: Array, *, geometric: bool = False) -> Array:
    """Divide the sums of `sum_by_weight`, NaN where nothing is defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = summed / total
    return np.asarray(np.exp(mean) if geometric else mean)


def average_without_participant(values: Array, *, geometric: bool = False) -> Array:
    """Leave each participant out of `average_participants`, (participants,)."""
    with np.errstate(divide="ignore"):
        means = leave_one_out_means(np.log(values) if geometric else values)
    return np.exp(means) if geometric else means


def _compute_values(measure: Measure, sums: Sums, grid: Grid, reasons: dict[tuple[str, str], str]) -> Array:
    """Return the participants' values, NaN if the condition lacks the measure."""
    if reasons[measure.key, grid.condition]:
        return np.full(len(grid.participants), np.nan)
    return measure.formula(sums)[:, 0]


class _Reaggregation:
    """Compute all measures again under other weights.

    The weights are of participants and items.
    """

    def __init__(
        self,
        grids: Sequence[Grid],
        laid_out: Sequence[Summed],
        measures: Sequence[Measure],
        reasons: dict[tuple[str, str], str],
    ) -> None:
        self.people = [len(grid.participants) for grid in grids]
        self.items = len(grids[0].items)
        self.laid_out, self.measures = laid_out, measures
        self.given = [{m.key for m in measures if not reasons[m.key, grid.condition]} for grid in grids]
        self.median = any(m.key == "time_median" for m in measures)
        self.groups = group_grids(grids)

    def make_empty(self, rows: int) -> dict[str, Array]:
        """Return rows × columns of NaN for each measure."""
        return {m.key: np.full((rows, len(self.people)), np.nan) for m in self.measures}

    def fill(self, table: dict[str, Array], rows: slice, weights: Weights) -> None:
        """Write the values under the weights into these rows of `table`."""
        for group in dict.fromkeys(self.groups):
            own = [column for column, of in enumerate(self.groups) if of == group]
            totals: dict[tuple[str, int], tuple[Array, Array]] = {}
            # The conditions of a group are held together, so that each is as small a part.
            for block in split_into_blocks(self.people[group], weights.replicates * len(own)):
                people = weights.participants[group][block]
                sums = {c: self.laid_out[c].sums(weights.items, block, median=self.median) for c in own}
                for m in self.measures:
                    for column, parts in self._parts(m, sums, people):
                        before = totals.get((m.key, column), (0.0, 0.0))
                        totals[m.key, column] = (before[0] + parts[0], before[1] + parts[1])
            for m in self.measures:
                for column in own:
                    if total := totals.get((m.key, column)):
                        table[m.key][rows, column] = divide_totals(*total, geometric=m.geometric)

    def _parts(
        self, m: Measure, sums: dict[int, Sums], people: Array
    ) -> Iterator[tuple[int, tuple[Array, Array]]]:
        """Yield column and `sum_by_weight` of each condition."""
        for column, own in sums.items():
            if m.key in self.given[column]:
                yield column, sum_by_weight(m.formula(own), people, geometric=m.geometric)


def _draw_replicates(
    again: _Reaggregation, rng: np.random.Generator, resamples: int, advance: Callable[[int], None]
) -> dict[str, Array]:
    table, done = again.make_empty(resamples), 0
    for weights in resample(rng, again.people, again.items, resamples, again.groups):
        again.fill(table, slice(done, done + weights.replicates), weights)
        done += weights.replicates
        advance(weights.replicates)
    return table


def _compute_without_item(again: _Reaggregation) -> dict[str, Array]:
    """Compute every measure without each item in turn, items × conditions.

    The item has weight 0.
    """
    table = again.make_empty(again.items)
    for left in split_into_chunks(again.items, ITEMS_AT_ONCE):
        kept = 1 - np.eye(again.items, left.stop - left.start, -left.start)
        again.fill(table, left, Weights(kept, [np.ones((count, kept.shape[1])) for count in again.people]))
    return table


def _estimate(
    measure: Measure,
    grid: Grid,
    values: Array,
    replicates: Array,
    without_item: Array,
    sums: Sums,
    reason: str,
    *,
    method: Method,
) -> Estimate:
    defined = int(np.count_nonzero(~np.isnan(values)))
    trials = int(sums[measure.counted].sum()) if measure.counted and not reason else None
    if reason or not defined:
        reason = reason or UNDEFINED
        return Estimate(grid.condition, measure, None, None, None, trials, 0, len(grid.participants), reason)
    ones = np.ones((len(values), 1))
    mean = float(average_participants(values[:, None], ones, geometric=measure.geometric)[0])
    interval = None
    if defined > 1:
        left_out = [average_without_participant(values, geometric=measure.geometric), without_item]
        level = widen_level(LEVEL, defined)
        interval = bootstrap_interval(replicates, mean, left_out, level=level, method=method)
    pooled = float(measure.formula(pool_sums(grid))[0, 0])
    return Estimate(
        condition=grid.condition,
        measure=measure,
        value=mean,
        interval=interval.bounds if interval else None,
        pooled=None if np.isnan(pooled) else pooled,
        trials=trials,
        participants=defined,
        undefined=len(values) - defined,
        interval_method=interval.method if interval else method,
        interval_reason=interval.reason if interval else "",
    )
