"""Statistics that are functions of sums over units, such as examples.

A mean, a ratio of sums, an F1 over pooled counts and Krippendorff's alpha all depend on a unit only through
a few numbers that add up. Resampling units, leaving one out and swapping a unit's two sides are then sums
with other weights, for all statistics at once.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .arguments import check_level, check_resamples, read_values
from .arrays import Array, ratio, split_into_chunks
from .bootstrap import Interval, bootstrap_interval, resample

Formula = Callable[[Array], Array]
Key = TypeVar("Key", bound=Hashable)
CELLS_PER_CHUNK = 4_000_000  # sums by replicates held at once


@dataclass(frozen=True)
class Tally:
    """The sums that one statistic needs.

    Attributes:
        sums: Units × columns.
        formula: Maps sums of shape (…, columns) to values of shape (…), NaN where
            undefined.
        n: Number of cases, for readers.
        reason: Why the statistic is undefined, if it is.
    """

    sums: Array
    formula: Formula
    n: int
    reason: str

    @property
    def value(self) -> float:
        """The statistic itself, NaN where undefined."""
        return float(self.formula(self.sums.sum(axis=0)))


@dataclass(frozen=True)
class Quantity:
    """A statistic with its uncertainty.

    Attributes:
        value: None if undefined; `reason` then says why.
        n: Number of cases.
        interval: From a bootstrap over units; None if not asked for, for fewer than two units, or if more
            than one replicate in twenty is undefined.
        replicates: Shape (resamples,), NaN where undefined.
        reason: Why the statistic is undefined; empty otherwise.
    """

    value: float | None
    n: int
    interval: Interval | None
    replicates: Array
    reason: str = ""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lower and upper end of the interval; None without one."""
        return self.interval.bounds if self.interval else None


def compute_mean(sums: Array) -> Array:
    """Divide the first column by the last: a mean, if the last column counts."""
    return ratio(sums[..., 0], sums[..., -1])


def mean_tally(values: ArrayLike, reason: str = "no unit has a value") -> Tally:
    """Build the sums of a mean of one value per unit, NaN without one.

    Args:
        values: Shape (units,), NaN for a unit without a value.
        reason: Why the mean is undefined if no unit has a value.

    Returns:
        Sums of shape (units, 2): the value and 1, both 0 for a unit without a value.

    Raises:
        ValueError: `values` has another shape or an infinite value.
    """
    values = read_values(values, "values", "unit")
    defined = ~np.isnan(values)
    sums = np.stack([np.where(defined, values, 0.0), defined], axis=1)
    return Tally(sums, compute_mean, int(defined.sum()), reason)


def quantities(
    tallies: Mapping[Key, Tally],
    *,
    rng: np.random.Generator | None = None,
    resamples: int = 0,
    level: float = 0.95,
) -> dict[Key, Quantity]:
    """Compute statistics with BCa intervals from one bootstrap over the units.

    Args:
        tallies: All over the same units, in the same order.
        rng: Needed with `resamples`.
        resamples: Number of bootstrap replicates; 0 gives no intervals.
        level: Of the confidence intervals.

    Returns:
        The quantity of each key, in the order of `tallies`.

    Raises:
        ValueError: The numbers of units differ, sums have another shape than units × columns, `resamples` is
            negative or lacks an `rng`, or `level` does not lie between 0 and 1.

    Examples:
        >>> tallies = {"mean": mean_tally([1.0, 2.0, 3.0])}
        >>> quantities(tallies)["mean"].value
        2.0
    """
    check_level(level)
    units = _quantities_iv(tallies, rng, resamples)
    draws = dict.fromkeys(tallies, np.zeros(0))
    if resamples and rng and units:
        draws = _bootstrap(tallies, units, rng, resamples)
    return {key: _build_quantity(tally, draws[key], level) for key, tally in tallies.items()}


def _quantities_iv(tallies: Mapping[Key, Tally], rng: np.random.Generator | None, resamples: int) -> int:
    for key, tally in tallies.items():
        read_values(tally.sums, f"the sums of {key!r}", "unit", "column")
    sizes = {len(tally.sums) for tally in tallies.values()}
    if len(sizes) > 1:
        raise ValueError(f"tallies must be over the same units, not over {sorted(sizes)}")
    check_resamples(resamples, rng)
    return sizes.pop() if sizes else 0


def _build_quantity(tally: Tally, draws: Array, level: float) -> Quantity:
    value = tally.value
    if np.isnan(value):
        return Quantity(None, tally.n, None, draws, tally.reason)
    interval = None
    if len(draws) and len(tally.sums) > 1:
        left_out = tally.formula(tally.sums.sum(axis=0) - tally.sums)
        interval = bootstrap_interval(draws, value, [left_out], level=level)
    return Quantity(value, tally.n, interval, draws)


def _bootstrap(
    tallies: Mapping[Key, Tally], units: int, rng: np.random.Generator, resamples: int
) -> dict[Key, Array]:
    sums = np.concatenate([tally.sums for tally in tallies.values()], axis=1)
    edges = np.cumsum([0, *(tally.sums.shape[1] for tally in tallies.values())])
    draws = {key: np.empty(resamples) for key in tallies}
    done = 0
    for chunk in split_into_chunks(resamples, CELLS_PER_CHUNK // sums.shape[1]):
        for weights in resample(rng, [units], 1, chunk.stop - chunk.start):
            totals = weights.participants[0].T @ sums  # replicates by columns
            rows = slice(done, done + weights.replicates)
            for (key, tally), start, end in zip(tallies.items(), edges, edges[1:], strict=False):
                draws[key][rows] = tally.formula(totals[:, start:end])
            done += weights.replicates
    return draws
