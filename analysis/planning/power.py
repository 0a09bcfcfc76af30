"""Power analysis by simulation: power, sample size, smallest effect.

Each simulated study has its conditions between participants over the same items, and is analysed as the real
one: one value per participant (the mean over items), Welch's t test for each declared contrast, Holm over
the contrasts. Preferences are within participants: the win rate of each pair of conditions is tested against
one half, by a one-sample t test. Source: Welch 1947; Holm 1979. Simulation error is given with every rate,
with Wilson's interval (Wilson 1927).

The participant-level test takes the items as given. An effect that differs by item (a condition × item
interaction) limits what more participants can show of other items; no sample size here makes up for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NotRequired, TypedDict, Unpack, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..stats.arguments import check_choice, check_count, check_finite, check_level
from ..stats.arrays import Array, split_into_chunks
from .populations import Population

CELLS_PER_CHUNK = 2_000_000  # trials simulated at once
BETWEEN = "Welch's t over participant means, Holm over the contrasts, simulated"
AGAINST = "one-sample t over participants' win rates against one half, Holm over the pairs, simulated"
Contrast = tuple[int, int]
Criterion = Literal["all", "any"]


@dataclass(frozen=True)
class Rate:
    """A share of simulated studies.

    Attributes:
        error: Standard error of the simulation.
        interval: 95 % confidence interval of the simulation.
    """

    value: float
    error: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Power:
    """Power of a design. participants: per condition.

    Attributes:
        participants: Per condition.
        items: Number of items that a participant sees.
        effects: Shift of each condition, or of each pair, in the unit of the population.
        alpha: Two-sided level, after Holm's correction.
        simulations: Number of simulated studies.
        each: Contrast (positions of two conditions, or twice that of a pair against the reference) to the
            rate of studies that find it, after Holm.
        any: Rate of studies that find any contrast with a planted effect; None without one.
        all: Rate of studies that find all of them; None without one.
        false_alarm: Rate of studies that claim any contrast without an effect; None if all have one.
        method: Name of the test.
    """

    participants: int
    items: int
    effects: tuple[float, ...]
    alpha: float
    simulations: int
    each: dict[Contrast, Rate]
    any: Rate | None
    all: Rate | None
    false_alarm: Rate | None
    method: str = BETWEEN


@dataclass(frozen=True)
class SmallestDesign:
    """The fewest participants per condition that reach the target.

    The rate at `participants` has a simulation error: a neighbour may be the true smallest.

    Attributes:
        target: Wanted power.
        criterion: "all" or "any" of the contrasts with an effect must be found.
        participants: Per condition; None if the largest size that was tried does not reach the target.
        tried: Every design that was simulated, by size.
        reason: Why there is no size; empty otherwise.
    """

    target: float
    criterion: Criterion
    participants: int | None
    tried: tuple[Power, ...]
    reason: str = ""


def simulate_power(
    population: Population,
    *,
    effects: Sequence[float],
    participants: int,
    items: int,
    simulations: int,
    rng: np.random.Generator,
    alpha: float = 0.05,
    contrasts: Sequence[Contrast] | None = None,
    reference: float | None = None,
) -> Power:
    """Simulate the power of one design.

    effects: planted shift of each condition, in the unit of the population (for log seconds a log ratio).
    contrasts: pairs of positions in effects; each condition against the first if left out.
    reference: the value of the population without an effect. Effects are then those of pairs of conditions
    that all participants compare, each tested against it.

    Raises ValueError for fewer than two conditions, participants, an item or a simulation, an unknown
    contrast, or an alpha not in (0, 1).

    Examples:
        >>> from analysis.planning import Assumed
        >>> found = simulate_power(Assumed(1.0, residual_sd=0.0), effects=[0, 1], participants=17, items=1,
        ...               simulations=2000, rng=np.random.default_rng(1))
        >>> 0.76 < found.all.value < 0.84  # the t test's power is 0.80
        True
    """
    if reference is not None and contrasts is None:
        contrasts = [(index, index) for index in range(len(effects))]
    shifts, pairs = _design_iv(effects, participants, items, simulations, alpha, contrasts, reference)
    claimed = np.zeros((simulations, len(pairs)), dtype=bool)
    for rows in split_into_chunks(simulations, CELLS_PER_CHUNK // (len(shifts) * participants * items)):
        means = population.means(rng, shifts, participants, items, rows.stop - rows.start)
        p = _welch(means, pairs) if reference is None else _compute_t_test_p(means - reference)
        claimed[rows] = _holm(p) <= alpha
    real = np.array([shifts[a] != (shifts[b] if reference is None else 0) for a, b in pairs])
    return Power(
        participants=participants,
        items=items,
        effects=tuple(map(float, effects)),
        alpha=alpha,
        simulations=simulations,
        each={pair: estimate_rate(claimed[:, i]) for i, pair in enumerate(pairs)},
        any=estimate_rate(claimed[:, real].any(axis=1)) if real.any() else None,
        all=estimate_rate(claimed[:, real].all(axis=1)) if real.any() else None,
        false_alarm=estimate_rate(claimed[:, ~real].any(axis=1)) if not real.all() else None,
        method=BETWEEN if reference is None else AGAINST,
    )


def compute_smallest_effect(
    standard_error: float, freedom: float, *, target: float = 0.8, alpha: float = 0.05
) -> float:
    """Return the smallest true difference that a t test finds with this power.

    Computed from the noncentral t distribution, two-sided.

    Args:
        standard_error: Of the difference.
        freedom: Degrees of freedom of the test.
        target: Power to reach.
        alpha: Two-sided level.

    Raises:
        ValueError: The target does not lie between alpha and 1.

    Examples:
        >>> n, sd = 17, 1.0  # two groups of 17 find one standard deviation with a power of 0.8
        >>> round(compute_smallest_effect(sd * (2 / n) ** 0.5, 2 * n - 2), 2)
        0.99
    """
    if not 0 < alpha < target < 1:
        raise ValueError(f"target must lie between alpha and 1, not {target} with alpha {alpha}")
    bound = -float(scipy.special.stdtrit(freedom, alpha / 2))

    def compute_lacking_power(shift: float) -> float:
        # The other side, where a claim would have the wrong sign, does not count.
        return float(scipy.stats.nct.sf(bound, freedom, shift)) - target

    high = bound + 2.0
    while compute_lacking_power(high) < 0:
        high *= 2
    return standard_error * float(scipy.optimize.brentq(compute_lacking_power, 0.0, high))


class PowerArguments(TypedDict):
    """Arguments of `simulate_power` beside population and participants."""

    effects: Sequence[float]
    items: int
    simulations: int
    rng: np.random.Generator
    alpha: NotRequired[float]
    contrasts: NotRequired[Sequence[Contrast] | None]
    reference: NotRequired[float | None]


def power_curve(
    population: Population, *, participants: Sequence[int], **design: Unpack[PowerArguments]
) -> list[Power]:
    """Simulate the power of each sample size.

    Args:
        population: The source of simulated participants.
        participants: Sample sizes, per condition; at least 2 each.
        **design: The other arguments of `simulate_power`: `effects` in the unit of the population, one for
            each condition; the numbers of `items` and `simulations`; `rng`; `alpha`, `contrasts` and
            `reference`.

    Returns:
        One result per sample size, in their order.

    Raises:
        ValueError: As `simulate_power`.
    """
    return [simulate_power(population, participants=size, **design) for size in participants]


def smallest_design(
    population: Population,
    *,
    target: float = 0.8,
    criterion: Criterion = "all",
    most: int = 1000,
    **design: Unpack[PowerArguments],
) -> SmallestDesign:
    """Find the smallest sample size with the target power.

    The search doubles the size and then halves the gap.

    Args:
        population: Source of simulated participants.
        target: Power to reach, in (0, 1).
        criterion: "all" or "any" of the contrasts with an effect must be detected.
        most: Largest sample size to try, at least 2.
        **design: Other arguments as in `simulate_power`.

    Returns:
        The smallest size, with every design that was simulated; without a size, with the reason, if `most`
        does not reach the target.

    Raises:
        ValueError: The target is not in (0, 1), `criterion` is unknown, `most` is below 2, no effect is
            planted, or as in `simulate_power`.
    """
    check_level(target, "target")
    check_choice(criterion, get_args(Criterion), "criterion")
    check_count(most, 2, "most")
    tried: dict[int, Power] = {}

    def is_enough(size: int) -> bool:
        tried[size] = result = simulate_power(population, participants=size, **design)
        rate = result.all if criterion == "all" else result.any
        if rate is None:
            raise ValueError("effects plant no difference in any contrast")
        return rate.value >= target

    low, high = 1, 2
    while not is_enough(high):
        if high == most:
            ordered = tuple(tried[size] for size in sorted(tried))
            unit = " per condition" if design.get("reference") is None else ""
            reason = f"even {most} participants{unit} do not reach a power of {target:g}"
            return SmallestDesign(target, criterion, None, ordered, reason)
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return SmallestDesign(target, criterion, high, tuple(tried[size] for size in sorted(tried)))


def _design_iv(
    effects: Sequence[float],
    participants: int,
    items: int,
    simulations: int,
    alpha: float,
    contrasts: Sequence[Contrast] | None,
    reference: float | None,
) -> tuple[Array, list[Contrast]]:
    shifts = np.asarray(effects, dtype=float)
    least_effects, of = (2, "two or more conditions") if reference is None else (1, "one or more pairs")
    if shifts.ndim != 1 or len(shifts) < least_effects or not np.isfinite(shifts).all():
        raise ValueError(f"effects must hold one number for each of {of}, not {effects}")
    for name, value, least in (
        ("participants", participants, 2),
        ("items", items, 1),
        ("simulations", simulations, 1),
    ):
        check_count(value, least, name)
    check_level(alpha, "alpha")
    possible = list(combinations(range(len(shifts)), 2))
    pairs = [(0, other) for other in range(1, len(shifts))] if contrasts is None else list(contrasts)
    if reference is not None:
        check_finite(reference, "reference")
        return shifts, pairs
    if not pairs or any(tuple(sorted(pair)) not in possible for pair in pairs):
        raise ValueError(f"contrasts must be pairs of different conditions 0 to {len(shifts) - 1}")
    return shifts, pairs


def _welch(means: Array, pairs: Sequence[Contrast]) -> Array:
    """Compute the two-sided p of Welch's t by simulation and pair.

    p is 1 if nothing varies.
    """
    n = means.shape[2]
    centre, spread = means.mean(axis=2), means.var(axis=2, ddof=1) / n
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    a, b = spread[:, first], spread[:, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(centre[:, first] - centre[:, second]) / np.sqrt(a + b)
        freedom = (a + b) ** 2 / ((a**2 + b**2) / (n - 1))
        p = 2 * scipy.special.stdtr(freedom, -t)
    return np.where(np.isnan(p), 1.0, p)


def _compute_t_test_p(distances: Array) -> Array:
    """Compute the two-sided p of a one-sample t by simulation and pair.

    p is 1 if nothing varies.
    """
    n = distances.shape[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(distances.mean(axis=2)) / np.sqrt(distances.var(axis=2, ddof=1) / n)
    p = 2 * scipy.special.stdtr(n - 1, -t)
    return np.where(np.isnan(p), 1.0, p)


def _holm(p: Array) -> Array:
    """Holm's adjusted p values within each row."""
    order = np.argsort(p, axis=1)
    factors = np.arange(p.shape[1], 0, -1)
    stepped = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * factors, axis=1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=1)
    return adjusted


def estimate_rate(claimed: ArrayLike) -> Rate:
    """Return the share of simulated studies, one truth value each."""
    n, hits = np.size(claimed), int(np.sum(claimed))
    low, high = scipy.stats.binomtest(hits, n).proportion_ci(method="wilson")
    return Rate(hits / n, float(np.sqrt(hits / n * (1 - hits / n) / n)), (float(low), float(high)))
