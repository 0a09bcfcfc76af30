"""Interim analyses of a running study: alpha spending and its boundaries.

The statistic at each interim analysis is a standardised difference z whose
information grows with the sample; at the information fraction t, z·√t is
Brownian motion with drift. The fraction is the participants so far over the
planned maximum, per condition, if the conditions grow alike.

References:
    1. Lan and DeMets (1983). Discrete sequential boundaries for clinical
       trials. Biometrika 70: spending functions of the O'Brien-Fleming and
       the Pocock type.
    2. Armitage, McPherson and Rowe (1969). Repeated significance tests on
       accumulating data: the recursion, here by Gauss-Legendre quadrature.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .arguments import check_choice, check_finite, read_values
from .arrays import Array
from .effect_sizes import welch_difference

Spending = Literal["obrien_fleming", "pocock"]
SPENDING_LABELS: dict[Spending, str] = {"obrien_fleming": "O'Brien-Fleming", "pocock": "Pocock"}
FARTHEST = 8.0  # standard deviations; what lies beyond has a probability below 1e-15
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
MOST_ANALYSES = 50


@dataclass(frozen=True)
class InterimAnalysis:
    """An interim analysis.

    Attributes:
        fraction: Of the planned information, in (0, 1].
        z: The boundary; the study stops at |z| at or above it.
        p: The two-sided p of the boundary.
        spent: Alpha used up to and including this analysis.
    """

    fraction: float
    z: float
    p: float
    spent: float


@dataclass(frozen=True)
class Boundaries:
    """Symmetric two-sided boundaries of interim analyses.

    Attributes:
        spending: Type of the alpha spending function, "obrien_fleming" or "pocock".
        alpha: Two-sided level that all analyses share.
        analyses: The interim analyses in order.
        method: Name of the method.
    """

    spending: Spending
    alpha: float
    analyses: tuple[InterimAnalysis, ...]
    method: str = "alpha spending, two-sided symmetric, recursive numerical integration"


@dataclass(frozen=True)
class Cost:
    """Cost of interim analyses against a single analysis of the same power.

    Attributes:
        power: Of both designs.
        inflation: The planned maximum sample over that of a single analysis.
        expected_null: Mean sample at stopping, relative to a single analysis,
            without an effect.
        expected_effect: The same with the planned effect.
        power_without_more: Power if the sample is not raised.
    """

    power: float
    inflation: float
    expected_null: float
    expected_effect: float
    power_without_more: float


@dataclass(frozen=True)
class Decision:
    """Result of the interim analyses so far.

    Attributes:
        stop: True if a boundary is reached.
        analysis: The latest interim analysis.
        z: Its statistic.
        sentence: The result for readers.
    """

    stop: bool
    analysis: InterimAnalysis
    z: float
    sentence: str


def spent_alpha(spending: Spending, fraction: float, alpha: float) -> float:
    """Compute the alpha spent up to an information fraction [1, §2].

    O'Brien-Fleming type 4 − 4Φ(z/√t) with z the upper alpha/4 point: half of alpha is spent by 2 − 2Φ(·/√t)
    on either side, as ldbounds and gsDesign do; the example of [1] is one-sided. Pocock type alpha·ln(1 + (e
    − 1)t).

    Args:
        spending: Type of the alpha spending function.
        fraction: Information fraction, in (0, 1].
        alpha: Two-sided, in (0, 0.5].

    Returns:
        Part of alpha that is spent, from 0 to alpha.

    Raises:
        ValueError: `spending` is unknown, or `fraction` or `alpha` is out of range.

    References:
        1. Lan and DeMets (1983). Biometrika 70.

    Examples:
        >>> round(spent_alpha("pocock", 1.0, 0.05), 4)
        0.05
    """
    _check_spending(spending, alpha)
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, not {fraction}")
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * fraction)
    return float(4 * scipy.special.ndtr(scipy.special.ndtri(alpha / 4) / math.sqrt(fraction)))


def boundaries(
    fractions: Sequence[float], *, spending: Spending = "obrien_fleming", alpha: float = 0.05
) -> Boundaries:
    """Compute the boundaries of interim analyses at information fractions.

    Args:
        fractions: Increasing, in (0, 1]; if the last is below 1, alpha is left for
            later analyses, and adding them does not change the earlier boundaries.
        spending: Type of the alpha spending function.
        alpha: Two-sided, in (0, 0.5].

    Returns:
        One boundary per fraction, as z and as two-sided p.

    Raises:
        ValueError: `spending` is unknown, the fractions are malformed or more than 50, or alpha
            does not lie in (0, 0.5].

    Examples:
        >>> [round(analysis.z, 2) for analysis in boundaries([0.5, 1.0]).analyses]
        [2.96, 1.97]
    """
    times = _fractions_iv(fractions, spending, alpha)
    walk = _Walk(0.0)
    analyses: list[InterimAnalysis] = []
    used = 0.0
    for time in times:
        spent = spent_alpha(spending, time, alpha)
        z = walk.boundary(time, spent - used)
        walk.step(time, z)
        analyses.append(InterimAnalysis(time, z, float(2 * scipy.special.ndtr(-z)), spent))
        used = spent
    return Boundaries(spending, alpha, tuple(analyses))


def crossing_probabilities(bounds: Boundaries, drift: float = 0.0) -> Array:
    """Compute the probability of stopping at each interim analysis.

    Args:
        bounds: Their boundaries.
        drift: Mean of z at the planned maximum; at fraction t it is drift·√t. 0
            gives the alpha that each analysis spends.

    Returns:
        Probabilities of either side together, shape (analyses,).

    Raises:
        ValueError: `drift` is not finite.
    """
    check_finite(drift, "drift")
    walk = _Walk(drift)
    return np.array([walk.step(analysis.fraction, analysis.z) for analysis in bounds.analyses])


def cost_of_interim_analyses(bounds: Boundaries, power: float = 0.8) -> Cost:
    """Compute the cost of interim analyses in sample size.

    Args:
        bounds: Their boundaries; the last analysis is at the fraction 1.
        power: At the planned effect.

    Returns:
        Sample sizes relative to that of a single analysis.

    Raises:
        ValueError: The last fraction is not 1, or power does not lie between alpha
            and 1.

    Examples:
        >>> round(cost_of_interim_analyses(boundaries([0.5, 1.0])).inflation, 3)
        1.004
    """
    if not bounds.analyses or bounds.analyses[-1].fraction != 1:
        raise ValueError(
            "the last interim analysis must be at the information fraction 1 to compute the cost"
        )
    if not bounds.alpha < power < 1:
        raise ValueError(f"power must be between alpha and 1, not {power}")
    ndtr = scipy.special.ndtr
    single = _solve_drift(
        lambda drift: ndtr(drift - _compute_fixed_z(bounds)) + ndtr(-drift - _compute_fixed_z(bounds)), power
    )
    drift = _solve_drift(lambda drift: crossing_probabilities(bounds, drift).sum(), power)
    inflation = (drift / single) ** 2
    return Cost(
        power=power,
        inflation=inflation,
        expected_null=inflation * _compute_expected_fraction(bounds, 0.0),
        expected_effect=inflation * _compute_expected_fraction(bounds, drift),
        power_without_more=float(crossing_probabilities(bounds, single).sum()),
    )


def decide(bounds: Boundaries, observed: Sequence[float]) -> Decision:
    """Decide whether to stop after the interim analyses so far.

    Args:
        bounds: Their boundaries.
        observed: z at each analysis so far, in order (two-sided; the sign says
            which condition is ahead).

    Returns:
        The decision after the latest value, with a sentence for readers.

    Raises:
        ValueError: There are no values or too many, one is not finite, or the
            study goes on after it reached a boundary.

    Examples:
        >>> decide(boundaries([0.5, 1.0]), [3.1]).stop
        True
    """
    if not 1 <= len(read_values(observed, "observed", "interim analysis")) <= len(bounds.analyses):
        raise ValueError(f"observed must hold 1 to {len(bounds.analyses)} values, not {len(observed)}")
    if np.isnan(observed).any():
        raise ValueError("observed holds a value that is not finite")
    reached = [abs(z) >= analysis.z for z, analysis in zip(observed, bounds.analyses, strict=False)]
    if any(reached[:-1]):
        first = reached.index(True) + 1
        raise ValueError(f"interim analysis {first} reached the boundary; later ones do not count")
    analysis, z = bounds.analyses[len(observed) - 1], float(observed[-1])
    last = analysis.fraction == 1
    return Decision(
        reached[-1], analysis, z, _describe_decision(bounds, len(observed), analysis, z, reached[-1], last)
    )


def observed_z(first: ArrayLike, second: ArrayLike) -> float:
    """Compute z of an interim analysis from participants' values.

    z is the point of the normal curve with the p of Welch's t, positive if the
    second condition is ahead. The step from t to z keeps a small sample from
    counting for more than it is.

    Args:
        first: One value per participant so far, NaN where undefined.
        second: The same for the second condition.

    Returns:
        z, in standard errors of the difference.

    Raises:
        ValueError: There is no Welch's t; the message is the reason.
    """
    difference = welch_difference(first, second)
    if difference.estimate is None or difference.p is None:
        raise ValueError(f"no z can be given: {difference.reason}")
    return float(-scipy.special.ndtri(difference.p / 2) * np.sign(difference.estimate))


class _Walk:
    """Density of z·√t at quadrature nodes, of studies that did not stop."""

    def __init__(self, drift: float) -> None:
        self.drift = drift
        self.time = 0.0
        self.nodes = np.zeros(1)
        self.masses = np.ones(1)  # density times quadrature weight

    def boundary(self, time: float, spend: float) -> float:
        """Find the z crossed with probability `spend`, both sides together."""
        if self._compute_leaving(time, FARTHEST) >= spend:
            return FARTHEST
        return float(
            scipy.optimize.brentq(lambda z: self._compute_leaving(time, z) - spend, 0.0, FARTHEST, xtol=1e-10)
        )

    def step(self, time: float, z: float) -> float:
        """Move to the time with the boundary z; return the stopping probability."""
        leaving, step = self._compute_leaving(time, z), math.sqrt(time - self.time)
        edge = z * math.sqrt(time)
        nodes, weights = _build_quadrature(edge, step)
        moved = (nodes[:, None] - self.nodes - self.drift * (time - self.time)) / step
        density = np.exp(-(moved**2) / 2) @ self.masses / (step * math.sqrt(2 * math.pi))
        self.nodes, self.masses, self.time = nodes, density * weights, time
        return leaving

    def _compute_leaving(self, time: float, z: float) -> float:
        step, edge = math.sqrt(time - self.time), z * math.sqrt(time)
        mean = self.nodes + self.drift * (time - self.time)
        ndtr = scipy.special.ndtr
        return float(self.masses @ (ndtr((mean - edge) / step) + ndtr((-edge - mean) / step)))


def _build_quadrature(edge: float, step: float) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on [-edge, edge].

    Panels are no wider than the standard deviation of an increment.
    """
    panels = max(8, math.ceil(2 * edge / step))
    half = edge / panels
    middles = -edge + half * (2 * np.arange(panels) + 1)
    return (middles[:, None] + half * _NODES).ravel(), np.tile(half * _WEIGHTS, panels)


def _check_spending(spending: Spending, alpha: float) -> None:
    check_choice(spending, get_args(Spending), "spending")
    if not 0 < alpha <= 0.5:
        raise ValueError(f"alpha must be above 0 and at most 0.5, not {alpha}")


def _fractions_iv(fractions: Sequence[float], spending: Spending, alpha: float) -> list[float]:
    _check_spending(spending, alpha)
    times = read_values(fractions, "fractions", "interim analysis").tolist()
    if not 1 <= len(times) <= MOST_ANALYSES:
        raise ValueError(f"fractions must hold 1 to {MOST_ANALYSES} interim analyses, not {len(times)}")
    steps = np.diff([0.0, *times])
    if not ((steps >= 1e-3).all() and times[-1] <= 1):
        raise ValueError(f"fractions must increase by 0.001 or more from 0 and end at 1 at most, not {times}")
    return times


def _compute_fixed_z(bounds: Boundaries) -> float:
    return float(-scipy.special.ndtri(bounds.alpha / 2))


def _solve_drift(power_at: Callable[[float], float], power: float) -> float:
    return float(scipy.optimize.brentq(lambda drift: power_at(drift) - power, 0.0, 20.0, xtol=1e-10))


def _compute_expected_fraction(bounds: Boundaries, drift: float) -> float:
    stopping = crossing_probabilities(bounds, drift)
    fractions = np.array([analysis.fraction for analysis in bounds.analyses])
    return float(stopping @ fractions + (1 - stopping.sum()))


def _describe_decision(
    bounds: Boundaries, number: int, analysis: InterimAnalysis, z: float, stop: bool, last: bool
) -> str:
    what = "reaches" if stop else "stays inside"
    text = (
        f"Interim analysis {number} of {len(bounds.analyses)} at {100 * analysis.fraction:.0f} % of the "
        f"information: |z| = {abs(z):.3f} {what} the {SPENDING_LABELS[bounds.spending]} boundary of "
        f"{analysis.z:.3f} (nominal two-sided p {analysis.p:.4f}; {analysis.spent:.4f} of "
        f"alpha {bounds.alpha:g} spent). "
    )
    if stop and last:
        return text + "A difference is claimed."
    if stop:
        return text + "The study may stop and claim a difference; the estimate tends to be too large then."
    if last:
        return (
            text
            + "This was the last analysis: no difference is claimed, which does not show that there is none."
        )
    return text + "The study goes on."
