"""Number of systems that a study needs to relate people to a model score.

Each simulated study draws its systems from a bivariate normal population with a true correlation of people's
measure of a system and its score. People's mean of a system carries noise, because participants and items are
a sample; the noise pulls the correlation towards 0. The study claims a relation if the correlation has the
true sign and the test over systems rejects.

The test is that of `analysis.stats.correlations`: the exact permutation distribution of the rank coefficients
up to eight systems; above, the usual approximations of it (t with n − 2 degrees of freedom for Pearson and
Spearman, the normal distribution with Kendall's variance for tau), which spare a permutation test in every
simulated study.

References:
    1. Kendall (1938). A new measure of rank correlation. Biometrika 30.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict, Unpack

import numpy as np
import scipy

from ..stats.arguments import check_choice, check_count, read_values
from ..stats.arrays import Array, split_into_chunks
from ..stats.correlations import (
    COEFFICIENTS,
    LEAST_FOR_P,
    MOST_FOR_ENUMERATION,
    STATISTICS,
    Coefficient,
    list_orders,
)
from ..stats.streams import derive_stream
from .power import Rate, estimate_rate

SCENARIOS = (0.5, 0.7, 0.9)  # true correlations, if none is given
MOST_SYSTEMS = 200
SIMULATIONS = 2000
PAIRS_AT_ONCE = 4_000_000  # of systems, over simulated studies; Kendall's tau compares all pairs


@dataclass(frozen=True)
class SystemsNeeded:
    """The fewest systems with the target power.

    Attributes:
        correlation: True correlation over all systems of the kind.
        noise: Standard error of people's mean of a system, in standard deviations between systems.
        systems: None if 200 are too few.
        power: At that number.
    """

    correlation: float
    noise: float
    systems: int | None
    power: Rate

    def __str__(self) -> str:
        return f"more than {MOST_SYSTEMS}" if self.systems is None else str(self.systems)


@dataclass(frozen=True)
class Scenario:
    """The systems needed for a true correlation.

    Attributes:
        correlation: True correlation over all systems of the kind.
        without: If people's means had no noise.
        noisy: With noise; None if it is unknown.
    """

    correlation: float
    without: SystemsNeeded
    noisy: SystemsNeeded | None


class SystemsArguments(TypedDict):
    """Arguments of `find_fewest_systems` beside correlation, noise and stream."""

    coefficient: NotRequired[Coefficient]
    target: NotRequired[float]
    alpha: NotRequired[float]
    simulations: NotRequired[int]
    drawn: NotRequired[Callable[[], None]]


def plan_systems(
    correlations: Sequence[float],
    noise: float | None,
    rng: np.random.Generator,
    **design: Unpack[SystemsArguments],
) -> list[Scenario]:
    """Find the systems needed for each true correlation.

    Args:
        correlations: True correlations of people and score, between −1 and 1 and not 0.
        noise: Standard error of people's mean of a system, in standard deviations between systems; None if it
            is unknown.
        rng: Source of random numbers; each scenario has a stream of its own.
        **design: The correlation `coefficient` that is tested ("pearson" by default), the `target` power
            (0.8), the two-sided `alpha` (0.05), the number of `simulations` of each size (2000), and `drawn`,
            which is called before each size is simulated and may raise to stop.

    Returns:
        One scenario per correlation, in their order.

    Raises:
        ValueError: A correlation is 0 or beyond ±1, or another number makes no design.
    """

    def find_needed(true: float, noise: float) -> SystemsNeeded:
        stream = derive_stream(rng, f"{true:g}", f"{noise:g}")
        return find_fewest_systems(true, noise=noise, rng=stream, **design)

    return [
        Scenario(true, find_needed(true, 0.0), None if noise is None else find_needed(true, noise))
        for true in correlations
    ]


def find_fewest_systems(
    correlation: float,
    *,
    noise: float = 0.0,
    coefficient: Coefficient = "pearson",
    target: float = 0.8,
    alpha: float = 0.05,
    simulations: int = SIMULATIONS,
    drawn: Callable[[], None] = lambda: None,
    rng: np.random.Generator,
) -> SystemsNeeded:
    """Find the fewest systems that reach the target power.

    No fewer than `analysis.stats.correlations.LEAST_FOR_P`, below which no p is given. Because of simulation
    error a neighbour may be the true smallest.

    Args:
        correlation: True correlation.
        noise: See `SystemsNeeded`.
        coefficient: Correlation that is tested.
        target: Power to reach.
        alpha: Two-sided level.
        simulations: Number of simulated studies of each size.
        drawn: Called before each size is simulated; it may raise to stop.
        rng: Source of random numbers.

    Raises:
        ValueError: The correlation is 0 or beyond ±1, or another number makes no design.

    Examples:
        >>> needed = find_fewest_systems(0.9, rng=np.random.default_rng(1))
        >>> needed.systems in (6, 7)
        True
    """
    check_choice(coefficient, COEFFICIENTS, "coefficient")
    check_count(simulations, 1, "simulations")
    if not (0 < abs(correlation) <= 1 and 0 <= noise < np.inf and 0 < alpha < target < 1):
        raise ValueError(
            "a correlation must lie between −1 and 1 and not be 0, noise be at least 0, and the power lie "
            f"between alpha and 1; not {correlation:g}, {noise:g}, {target:g} with alpha {alpha:g}"
        )

    def power_of(systems: int) -> Rate:
        drawn()
        return simulate_power_over_systems(
            correlation, systems, noise=noise, coefficient=coefficient, alpha=alpha,
            simulations=simulations, rng=rng,
        )  # fmt: skip

    low, high = LEAST_FOR_P - 1, LEAST_FOR_P
    while (reached := power_of(high)).value < target:
        if high == MOST_SYSTEMS:
            return SystemsNeeded(correlation, noise, None, reached)
        low, high = high, min(2 * high, MOST_SYSTEMS)
    while high - low > 1:
        middle = (low + high) // 2
        tried = power_of(middle)
        if tried.value >= target:
            high, reached = middle, tried
        else:
            low = middle
    return SystemsNeeded(correlation, noise, high, reached)


def simulate_power_over_systems(
    correlation: float,
    systems: int,
    *,
    noise: float,
    coefficient: Coefficient,
    alpha: float,
    simulations: int,
    rng: np.random.Generator,
) -> Rate:
    """Simulate how often a study of n systems claims the relation.

    Arguments as in `find_fewest_systems`.
    """
    people, other, error = rng.normal(size=(3, simulations, systems))
    score = abs(correlation) * people + np.sqrt(1 - correlation**2) * other
    people += noise * error
    coefficients = np.concatenate([
        STATISTICS[coefficient](people[part], score[part])
        for part in split_into_chunks(simulations, PAIRS_AT_ONCE // systems**2)
    ])  # fmt: skip
    return estimate_rate(coefficients >= critical_value(coefficient, systems, alpha) - 1e-9)


def critical_value(coefficient: Coefficient, systems: int, alpha: float) -> float:
    """Return the smallest coefficient that is significant, two-sided.

    Infinite if no order of the systems is rare enough.
    """
    if coefficient != "pearson" and systems <= MOST_FOR_ENUMERATION:
        orders = list_orders(systems).astype(float)
        sizes = np.round(np.abs(STATISTICS[coefficient](orders[:1], orders)), 9)
        values, counts = np.unique(sizes, return_counts=True)
        rare = values[counts[::-1].cumsum()[::-1] <= alpha * len(orders) + 1e-9]
        return float(rare[0]) if len(rare) else float("inf")
    if coefficient == "kendall":
        spread = np.sqrt(2 * (2 * systems + 5) / (9 * systems * (systems - 1)))
        return float(-scipy.special.ndtri(alpha / 2) * spread)
    t = -float(scipy.special.stdtrit(systems - 2, alpha / 2))
    return float(t / np.sqrt(systems - 2 + t**2))


def estimate_noise(values: Array, replicates: Array) -> float | None:
    """Estimate the noise of people's means from a study.

    The variance between systems is that of the means less that of their noise.

    Args:
        values: Measure of each system, shape (n,).
        replicates: Of the measure, replicates × n.

    Returns:
        The noise in standard deviations between systems; None if the systems differ
        by no more than noise, or a replicate is undefined.

    Raises:
        ValueError: There are fewer than two systems, the shapes do not fit together, or a value is infinite.

    Examples:
        >>> estimate_noise(np.array([0.0, 2.0]), np.array([[0.0, 2.0], [1.0, 2.0], [-1.0, 2.0]]))
        0.4472135954999579
    """
    values = read_values(values, "values", "system")
    replicates = read_values(replicates, "replicates", "replicate", "system")
    if len(values) < 2 or replicates.shape[1] != len(values) or not len(replicates):
        raise ValueError(
            "values and replicates must be of the same systems, two or more, "
            f"not of shapes {values.shape} and {replicates.shape}"
        )
    apart = _centre_rows(replicates) - _centre_rows(values[None])
    noise = float((apart**2).sum(axis=1).mean()) / (len(values) - 1)
    between = float(values.var(ddof=1)) - noise
    return float(np.sqrt(noise / between)) if between > 0 else None


def choose_correlations(observed: float | None) -> Sequence[float]:
    """Return true correlations to plan with: given ones and the study's own."""
    if observed is None or not 0.05 <= abs(observed) < 1:
        return SCENARIOS
    return sorted({*SCENARIOS, round(abs(observed), 2)})


def _centre_rows(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=1, keepdims=True))
