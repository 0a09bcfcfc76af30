"""Two-way bootstrap over participants and items, and confidence intervals.

Rows and columns of a crossed design are resampled independently, here
participants (within each condition) and items (across the study). The variance
is not below the true one under crossed random effects, and up to three times
the residual's share above it: confidence intervals err on the wide side.

References:
    1. Owen (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy

from .arguments import check_choice, check_count, check_finite, check_level, read_values
from .arrays import Array, split_into_chunks

Method = Literal["percentile", "bca"]
CELLS_PER_CHUNK = 200_000  # participants by replicates whose sums are held at once, about 60 MB
LEAST_AT_ONCE = 50  # replicates: with fewer, what is done once per chunk would count


@dataclass(frozen=True)
class Interval:
    """A confidence interval and the method that gave it.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Such as 0.95.
        method: "percentile" even if BCa was asked for and is undefined.
        reason: Why BCa is undefined; empty otherwise.
    """

    low: float
    high: float
    level: float
    method: Method
    reason: str = ""

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper end, in the unit of the statistic."""
        return self.low, self.high


@dataclass(frozen=True)
class Weights:
    """Counts of each item and participant in some replicates.

    items: items × replicates, common to all conditions. participants: one array per condition, participants
    × replicates; the same one for all conditions of a group.
    """

    items: Array
    participants: list[Array]

    @property
    def replicates(self) -> int:
        """Number of bootstrap replicates."""
        return self.items.shape[1]


def resample(
    rng: np.random.Generator,
    participants: Sequence[int],
    items: int,
    replicates: int,
    groups: Sequence[int] | None = None,
) -> Iterator[Weights]:
    """Yield bootstrap weights in chunks of replicates.

    See `split_into_blocks` for memory.

    Args:
        rng: Source of random numbers.
        participants: Number in each condition; a condition may have none.
        items: Number in the study.
        replicates: Number of bootstrap replicates.
        groups: As `analysis.participants.trial_grid.group_grids` gives
            them: a participant who saw several conditions is drawn for all.

    Yields:
        Weights of one chunk; `replicates` in all.

    Raises:
        ValueError: `items` is below 1, another number is negative, or `groups` are not one per condition.
    """
    check_count(items, 1, "items")
    check_count(replicates, 0, "replicates")
    for people in participants:
        check_count(people, 0, "participants")
    groups = range(len(participants)) if groups is None else groups
    if len(groups) != len(participants):
        raise ValueError(f"groups must have one entry per condition, {len(participants)}, not {len(groups)}")
    size = max(LEAST_AT_ONCE, CELLS_PER_CHUNK // max(1, sum(participants)))
    for rows in split_into_chunks(replicates, size):
        count = rows.stop - rows.start
        of_items, of_people = draw_counts(rng, items, count), {}
        for group, people in zip(groups, participants, strict=True):
            if group not in of_people:
                of_people[group] = draw_counts(rng, people, count)
        yield Weights(of_items, [of_people[group] for group in groups])


def split_into_blocks(participants: int, replicates: int) -> Iterator[slice]:
    """Yield blocks of participants whose sums fit into bounded memory.

    There is at least one block.
    """
    if not participants:
        yield slice(0, 0)
    yield from split_into_chunks(participants, CELLS_PER_CHUNK // max(1, replicates))


def percentile_interval(replicates: Array, level: float = 0.95) -> tuple[float, float] | None:
    """Compute the percentile interval of bootstrap replicates.

    Args:
        replicates: Shape (B,), NaN where undefined.
        level: Wanted coverage.

    Returns:
        Lower and upper end, in the unit of the replicates; None when more than one replicate in twenty is
        undefined, because the rest would be a biased selection, or there is none.

    Raises:
        ValueError: `replicates` has another shape or an infinite value, or `level` does not lie between 0 and
            1.
    """
    check_level(level)
    replicates = read_values(replicates, "replicates", "replicate")
    defined = replicates[~np.isnan(replicates)]
    if len(replicates) == 0 or len(defined) < 0.95 * len(replicates):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def widen_level(level: float, *units: int) -> float:
    """Widen the level of a percentile interval for few resampled units [1].

    A bootstrap over n units spreads by √((n − 1)/n) too little and has normal, not
    t, tails. The share beyond each end is therefore Φ(−√(n/(n − 1)) t), t the
    quantile with n − 1 degrees of freedom. For two samples, the variances and the
    degrees of freedom add, as if the samples varied alike.

    Args:
        level: Wanted coverage, such as 0.95.
        *units: Size of the sample, or of the two samples whose difference it is;
            at least two in one of them.

    Returns:
        Level above the wanted one and below 1.

    Raises:
        ValueError: `level` does not lie between 0 and 1, there are no units, or none is above 1.

    References:
        1. Hesterberg (2015), The American Statistician 69, section 3.3.

    Examples:
        >>> round(widen_level(0.95, 10), 3), round(widen_level(0.95, 1000), 3)
        (0.983, 0.95)
        >>> round(widen_level(0.95, 10, 10), 3)
        0.973
    """
    check_level(level)
    for n in units:
        check_count(n, 1, "units")
    if max(units, default=0) < 2:
        raise ValueError(f"units must be at least 2 in one sample, not {units}")
    freedom = sum(n - 1 for n in units)
    spread = sum(1 / n for n in units) / sum((n - 1) / n**2 for n in units)
    t = float(scipy.special.stdtrit(freedom, (1 + level) / 2))
    return min(1 - 2 * float(scipy.special.ndtr(-t * np.sqrt(spread))), 1 - 1e-9)


def bootstrap_interval(
    replicates: Array,
    estimate: float,
    left_out: Sequence[Array],
    *,
    level: float = 0.95,
    method: Method = "bca",
) -> Interval | None:
    """Compute a percentile or BCa confidence interval from replicates.

    The statistic may be of several independent samples. BCa [1] takes the
    quantiles Φ(z0 + (z0 + z) / (1 − a (z0 + z))) of the replicates, with
    z = Φ⁻¹((1 ∓ level) / 2) and the bias z0 = Φ⁻¹(share of replicates below the
    estimate, ties counted half). The acceleration a = Σ u³ / (6 (Σ u²)^(3/2)) runs
    over the units of all samples together, u_j = (n − 1)/n · (mean of the n
    leave-one-out values − the value without unit j). The sums add over samples
    because cumulants of independent parts add [2]. Here the samples are the
    participants of each condition and the items; what arises only between a
    participant and an item belongs to neither and does not count.

    Args:
        replicates: Shape (B,), NaN where undefined.
        estimate: The statistic itself.
        left_out: Per sample the statistic without each unit, shape (units,); not
            needed for the percentile interval.
        level: Wanted coverage.
        method: "bca" falls back to "percentile", with a reason, if undefined.

    Returns:
        The interval; None when more than one replicate in twenty is undefined,
        because the rest would be a biased selection.

    Raises:
        ValueError: `level` does not lie between 0 and 1, `method` is unknown, an array has another shape or
            an infinite value, `estimate` is not finite, or BCa lacks `left_out`.

    References:
        1. Efron (1987). Better bootstrap confidence intervals. JASA 82, section 2.
        2. Davison and Hinkley (1997). Bootstrap Methods and their Application,
           section 5.3.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> draws = rng.normal(size=20_001)
        >>> bootstrap_interval(draws, 0.0, [np.array([1.0, 0, -1])]).method
        'bca'
    """
    check_choice(method, get_args(Method), "method")
    check_finite(estimate, "estimate")
    plain = percentile_interval(replicates, level)
    if plain is None:
        return None
    if method == "percentile":
        return Interval(*plain, level, "percentile")
    defined = replicates[~np.isnan(replicates)]
    tied = np.isclose(defined, estimate, rtol=1e-12, atol=1e-12 * np.abs(defined).max())
    below = (np.count_nonzero((defined < estimate) & ~tied) + np.count_nonzero(tied) / 2) / len(defined)
    if not 0 < below < 1:
        side = "above" if below == 0 else "below"
        reason = f"BCa is undefined: all bootstrap replicates lie {side} the estimate"
        return Interval(*plain, level, "percentile", reason)
    acceleration = _compute_acceleration([read_values(own, "left_out", "unit") for own in left_out])
    if isinstance(acceleration, str):
        return Interval(*plain, level, "percentile", acceleration)
    shares = _compute_bca_shares(float(scipy.special.ndtri(below)), acceleration, level)
    if shares is None:
        reason = "BCa is undefined: bias and skewness are too large for its formula"
        return Interval(*plain, level, "percentile", reason)
    low, high = np.quantile(defined, shares)
    return Interval(float(low), float(high), level, "bca")


def leave_one_out_means(values: Array) -> Array:
    """Compute the mean of the defined values without each value in turn.

    Leaving out an undefined value changes nothing.

    Args:
        values: Shape (n,), NaN where undefined.

    Returns:
        Shape (n,), NaN where no value would be left.

    Raises:
        ValueError: `values` has another shape or an infinite value.
    """
    values = read_values(values, "values", "unit")
    defined = ~np.isnan(values)
    rest = np.count_nonzero(defined) - defined
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rest > 0, (np.nansum(values) - np.where(defined, values, 0.0)) / rest, np.nan)


def _compute_acceleration(left_out: Sequence[Array]) -> float | str:
    """Compute the acceleration, or return why it is undefined."""
    if not any(map(len, left_out)):
        raise ValueError("left_out must have a value per unit for a BCa interval, and has none")
    influence = np.concatenate([(len(v) - 1) / len(v) * (v.mean() - v) for v in left_out if len(v)])
    if np.isnan(influence).any():
        return "BCa is undefined: without some participant or item there is no value"
    spread = (influence**2).sum()
    if not spread > 0:
        return "BCa is undefined: no single participant or item changes the value"
    return float((influence**3).sum() / (6 * spread**1.5))


def _compute_bca_shares(bias: float, acceleration: float, level: float) -> Array | None:
    """Return the two shares at which BCa cuts; None beyond the formula's pole."""
    shifted = bias + scipy.special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    shrunk = 1 - acceleration * shifted
    if (shrunk <= 0).any():
        return None
    return np.asarray(scipy.special.ndtr(bias + shifted / shrunk))


def draw_counts(rng: np.random.Generator, count: int, replicates: int) -> Array:
    """Count how often each unit is drawn with replacement: count × replicates."""
    if count == 0:
        return np.zeros((0, replicates))
    drawn = rng.integers(0, count, (count, replicates)) * replicates + np.arange(replicates)
    return np.bincount(drawn.ravel(), minlength=count * replicates).reshape(count, replicates).astype(float)
