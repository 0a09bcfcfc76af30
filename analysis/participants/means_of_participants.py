"""Means over participants of statistics of their trials, with intervals.

Learning and calibration share this: each participant gives one value from the
trials that count, participants are averaged, and the confidence interval comes
from drawing participants and items again [1], that of changes within people
from Student's t. docs/reference/coverage.md gives the coverage.

References:
    1. Owen (2007); see `analysis.stats.bootstrap`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from ..stats.arguments import check_count
from ..stats.arrays import Array, ratio
from ..stats.bootstrap import Weights, percentile_interval, resample, split_into_blocks, widen_level
from .estimates import divide_totals, sum_by_weight
from .trial_grid import EVERY_ROW

EVERYBODY = ""  # the condition of a mean over the participants of all conditions
METHOD = "mean over participants, 95 % percentile interval of a two-way bootstrap"
METHOD_WITHIN = "mean over participants, 95 % interval of Student's t over participants"
NO_VALUE = "no participant has the trials that it needs"
# From item weights (items by replicates) and some participants (rows) to their values, rows by replicates.
Statistic = Callable[[Array, slice], Array]


@dataclass(frozen=True)
class Part:
    """Source of statistics: one condition.

    participants, items: their numbers. values: from item weights (items ×
    replicates) and some participants (rows) to each statistic's values, rows ×
    replicates, NaN where a participant has none. group: parts of one group have
    the same participants, who are drawn together; None for people of their own.
    within: statistics that set trials of one participant against each other by an
    order of that participant's own. An item then affects each participant
    differently, as noise does, which a bootstrap that draws items too would count
    three times: such statistics have t intervals. No participant may then be in
    two parts.
    """

    condition: str
    participants: int
    items: int
    values: Callable[[Array, slice], dict[str, Array]]
    group: int | None = None
    within: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ParticipantMean:
    """A mean over participants.

    Attributes:
        value: None if nobody has one; `reason` then says why.
        interval: 95 %; None for fewer than two participants, without replicates, or if more than one in
            twenty is undefined.
        participants: Number of participants with a value.
        undefined: Number of participants without one.
        method: Name of the method of the interval.
        reason: Why there is no value; empty otherwise.
    """

    value: float | None
    interval: tuple[float, float] | None
    participants: int
    undefined: int
    method: str = METHOD
    reason: str = ""


@dataclass(frozen=True)
class ParticipantMeans:
    """All statistics in all conditions, and over everybody.

    Attributes:
        table: Statistic and condition to the mean; the condition "" takes all participants,
            those who saw several conditions once for each.
        replicates: The same keys to the bootstrap replicates, shape (resamples,).
    """

    table: dict[tuple[str, str], ParticipantMean]
    replicates: dict[tuple[str, str], Array]

    def get(self, statistic: str, condition: str = EVERYBODY) -> ParticipantMean:
        """Return the mean of the statistic in the condition.

        Args:
            statistic: Name of the statistic.
            condition: Name of the condition; "" for all participants.

        Returns:
            The mean, with its interval.

        Raises:
            KeyError: There is no such statistic or condition.
        """
        return self.table[statistic, condition]


def participant_means(parts: Sequence[Part], *, rng: np.random.Generator, resamples: int) -> ParticipantMeans:
    """Estimate means of statistics per condition and over all participants.

    Args:
        parts: One per condition, all over the same items.
        rng: Source of random numbers.
        resamples: Of the bootstrap; 0 gives no confidence intervals.

    Returns:
        Means by statistic and condition, in the unit of the statistic.

    Raises:
        ValueError: There are no parts, their items differ, `resamples` is negative, or a condition name is
            given twice or "", which stands for all of them.
    """
    _check(parts, resamples)
    plain = [part.values(np.ones((part.items, 1)), EVERY_ROW) for part in parts]
    names = list(plain[0])
    conditions = (*(part.condition for part in parts), EVERYBODY)
    replicates = {(name, condition): np.full(resamples, np.nan) for name in names for condition in conditions}
    done = 0
    groups = [-1 - index if part.group is None else part.group for index, part in enumerate(parts)]
    for weights in resample(rng, [part.participants for part in parts], parts[0].items, resamples, groups):
        rows = slice(done, done + weights.replicates)
        totals = np.stack([_sum_totals(part, names, weights, index) for index, part in enumerate(parts)])
        totals = np.concatenate([totals, totals.sum(axis=0, keepdims=True)])  # the last: everybody
        for condition, of_condition in zip(conditions, totals, strict=True):
            for name, (summed, total) in zip(names, of_condition, strict=True):
                replicates[name, condition][rows] = divide_totals(summed, total)
        done += weights.replicates
    table = {}
    for name in names:
        by_condition = [values[name][:, 0] for values in plain]
        for condition, values in zip(conditions, [*by_condition, np.concatenate(by_condition)], strict=True):
            within = name in parts[0].within
            table[name, condition] = _estimate_mean(values, replicates[name, condition], within=within)
    return ParticipantMeans(table, replicates)


def build_mean_statistic(values: Array) -> Statistic:
    """Average each participant's items; NaN without a value.

    values: participants × items, NaN where there is none.
    """
    filled, has_value = np.nan_to_num(values), (~np.isnan(values)).astype(float)
    return lambda item_weights, rows: ratio(filled[rows] @ item_weights, has_value[rows] @ item_weights)


def build_slope_statistic(x: Array, y: Array) -> Statistic:
    """Fit each participant's least-squares slope of y on x.

    x, y: participants × items; a trial counts if both are known. NaN if x does not vary.
    """
    both = ~np.isnan(x) & ~np.isnan(y)
    counts = both.astype(float)
    # From each participant's own mean, so that squares of large values do not swamp their differences.
    u = np.where(both, x, 0.0)
    u = np.where(both, u - ratio(u.sum(axis=1), counts.sum(axis=1))[:, None], 0.0)
    v = np.where(both, y, 0.0)
    terms = (counts, u, v, u * u, u * v)

    def slope(item_weights: Array, rows: slice) -> Array:
        """Compute the slopes under item weights."""
        n, su, sv, suu, suv = (term[rows] @ item_weights for term in terms)
        spread = n * suu - su**2
        return ratio(n * suv - su * sv, np.where(spread > 1e-9 * n * suu, spread, 0.0))

    return slope


def _check(parts: Sequence[Part], resamples: int) -> None:
    if not parts:
        raise ValueError("parts must hold at least one condition")
    check_count(resamples, 0, "resamples")
    names = [part.condition for part in parts]
    if len(set(names)) < len(names) or EVERYBODY in names:
        raise ValueError(f"parts need a name each, all different, not {names}")
    if len({part.items for part in parts}) > 1:
        raise ValueError("parts must be over the same items")


def _sum_totals(part: Part, names: Sequence[str], weights: Weights, index: int) -> Array:
    """Return weighted sums and sums of weights: statistics × 2 × replicates."""
    totals = np.zeros((len(names), 2, weights.replicates))
    for block in split_into_blocks(part.participants, weights.replicates):
        values, people = part.values(weights.items, block), weights.participants[index][block]
        totals += np.array([sum_by_weight(values[name], people) for name in names])
    return totals


def _estimate_mean(values: Array, replicates: Array, *, within: bool) -> ParticipantMean:
    defined = values[~np.isnan(values)]
    undefined = len(values) - len(defined)
    method = METHOD_WITHIN if within else METHOD
    if not len(defined):
        return ParticipantMean(None, None, 0, undefined, method, NO_VALUE)
    interval = None
    if len(defined) > 1 and len(replicates):
        wide = widen_level(0.95, len(defined))
        interval = t_interval(defined) if within else percentile_interval(replicates, wide)
    return ParticipantMean(float(defined.mean()), interval, len(defined), undefined, method)


def t_interval(values: Array) -> tuple[float, float]:
    """Compute Student's 95 % interval of a mean of two or more values."""
    half = float(scipy.special.stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - half, float(values.mean()) + half
