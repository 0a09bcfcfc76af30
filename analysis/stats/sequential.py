"""Looks at a running study without more false alarms: alpha spending and its boundaries.

Source: Lan and DeMets 1983 (Discrete sequential boundaries for clinical trials, Biometrika 70), spending
functions of the O'Brien-Fleming and the Pocock type; the recursion is that of Armitage, McPherson and Rowe
1969 (Repeated significance tests on accumulating data), here by Gauss-Legendre quadrature.

The statistic at each look is a standardised difference z whose information grows with the sample; at the
information fraction t, z·√t is Brownian motion with drift. The fraction is the participants so far over the
planned maximum, per condition, where the conditions grow alike.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from .arrays import Array
from .effect_sizes import welch_difference

Spending = Literal["obrien_fleming", "pocock"]
SPENDING_LABELS: dict[Spending, str] = {"obrien_fleming": "O'Brien-Fleming", "pocock": "Pocock"}
FARTHEST = 8.0  # standard deviations; what lies beyond has a probability below 1e-15
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
MOST_LOOKS = 50


@dataclass(frozen=True)
class Look:
    """One look. z: the boundary; |z| at or above it stops. p: the two-sided p that it stands for.

    spent: alpha used up to and with this look.
    """

    fraction: float
    z: float
    p: float
    spent: float


@dataclass(frozen=True)
class Boundaries:
    """Symmetric two-sided boundaries for the given looks."""

    spending: Spending
    alpha: float
    looks: tuple[Look, ...]
    method: str = "alpha spending, two-sided symmetric, recursive numerical integration"


@dataclass(frozen=True)
class Cost:
    """What the looks cost against one analysis at the end with the same alpha and power.

    inflation: the planned maximum sample over that of a design without looks. expected_null,
    expected_effect: mean sample at stopping over the sample of a design without looks, where there is no
    effect and where there is the planned one. power_without_more: power if the sample is not raised.
    """

    power: float
    inflation: float
    expected_null: float
    expected_effect: float
    power_without_more: float


@dataclass(frozen=True)
class Decision:
    """What the looks so far say. stop: whether a boundary is reached; sentence: the same for people."""

    stop: bool
    look: Look
    z: float
    sentence: str


def spent_alpha(spending: Spending, fraction: float, alpha: float) -> float:
    """Alpha that may be used up to an information fraction in (0, 1] (Lan and DeMets 1983, §2).

    O'Brien-Fleming type 4 − 4Φ(z/√t) with z the upper alpha/4 point: half of alpha is spent by
    2 − 2Φ(·/√t) on either side, as ldbounds and gsDesign do; Lan and DeMets's own example is one-sided.
    Pocock type alpha·ln(1 + (e − 1)t).

    >>> round(spent_alpha("pocock", 1.0, 0.05), 4)
    0.05
    """
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * fraction)
    return float(4 * ndtr(ndtri(alpha / 4) / math.sqrt(fraction)))


def boundaries(
    fractions: Sequence[float], *, spending: Spending = "obrien_fleming", alpha: float = 0.05
) -> Boundaries:
    """Boundaries for looks at the given information fractions.

    fractions: increasing, in (0, 1]; where the last is below 1, alpha is left for later looks, and adding
    them does not change the earlier boundaries. alpha: two-sided.

    Raises ValueError for other fractions, more than `MOST_LOOKS` of them, or an alpha not in (0, 0.5].

    >>> [round(look.z, 2) for look in boundaries([0.5, 1.0]).looks]
    [2.96, 1.97]
    """
    times = _fractions_iv(fractions, spending, alpha)
    walk = _Walk(0.0)
    looks: list[Look] = []
    used = 0.0
    for time in times:
        spent = spent_alpha(spending, time, alpha)
        z = walk.boundary(time, spent - used)
        walk.step(time, z)
        looks.append(Look(time, z, float(2 * ndtr(-z)), spent))
        used = spent
    return Boundaries(spending, alpha, tuple(looks))


def crossing_probabilities(bounds: Boundaries, drift: float = 0.0) -> Array:
    """Probability of stopping at each look, either side, where z has mean drift·√t; shape (looks,).

    drift: the mean of z at the planned maximum; 0 gives the alpha that each look spends.
    """
    walk = _Walk(drift)
    return np.array([walk.step(look.fraction, look.z) for look in bounds.looks])


def cost_of_looks(bounds: Boundaries, power: float = 0.8) -> Cost:
    """What these looks cost in sample size, for a power at the planned effect.

    Raises ValueError where the last look is not at the fraction 1 or power is not between alpha and 1.
    """
    if bounds.looks[-1].fraction != 1:
        raise ValueError("the last look must be at the information fraction 1 to say what looks cost")
    if not bounds.alpha < power < 1:
        raise ValueError(f"power must be between alpha and 1, not {power}")
    single = _drift_for(lambda drift: ndtr(drift - _fixed(bounds)) + ndtr(-drift - _fixed(bounds)), power)
    drift = _drift_for(lambda drift: crossing_probabilities(bounds, drift).sum(), power)
    inflation = (drift / single) ** 2
    return Cost(
        power=power,
        inflation=inflation,
        expected_null=inflation * _expected_fraction(bounds, 0.0),
        expected_effect=inflation * _expected_fraction(bounds, drift),
        power_without_more=float(crossing_probabilities(bounds, single).sum()),
    )


def decide(bounds: Boundaries, observed: Sequence[float]) -> Decision:
    """Whether to stop after the looks so far.

    observed: z at each look so far, in order (two-sided; the sign says which condition is ahead).

    Raises ValueError for none, more than there are looks, a value that is not finite, or a study that goes
    on after a boundary was reached.
    """
    if not 1 <= len(observed) <= len(bounds.looks):
        raise ValueError(f"observed must hold 1 to {len(bounds.looks)} values, not {len(observed)}")
    if not np.isfinite(observed).all():
        raise ValueError("observed holds a value that is not finite")
    reached = [abs(z) >= look.z for z, look in zip(observed, bounds.looks, strict=False)]
    if any(reached[:-1]):
        first = reached.index(True) + 1
        raise ValueError(f"the boundary was reached at look {first}; later looks do not count")
    look, z = bounds.looks[len(observed) - 1], float(observed[-1])
    last = look.fraction == 1
    return Decision(reached[-1], look, z, _sentence(bounds, len(observed), look, z, reached[-1], last))


def observed_z(first: ArrayLike, second: ArrayLike) -> float:
    """Z of a look: that of the normal curve with the p of Welch's t over participants' values.

    first, second: one value per participant of each condition so far, NaN where undefined. Positive where
    the second is ahead. The step from t to z makes few participants count for no more than they are.

    Raises ValueError, with the reason, where Welch's t is refused.
    """
    found = welch_difference(first, second)
    if found.estimate is None or found.p is None:
        raise ValueError(f"no z can be given: {found.reason}")
    return float(-ndtri(found.p / 2) * np.sign(found.estimate))


class _Walk:
    """The density of z·√t over the looks so far, kept on quadrature nodes, of studies that did not stop."""

    def __init__(self, drift: float) -> None:
        self.drift = drift
        self.time = 0.0
        self.nodes = np.zeros(1)
        self.masses = np.ones(1)  # density times quadrature weight

    def boundary(self, time: float, spend: float) -> float:
        """Z that is crossed at the time with probability `spend`, both sides together."""
        if self._leaving(time, FARTHEST) >= spend:
            return FARTHEST
        return float(brentq(lambda z: self._leaving(time, z) - spend, 0.0, FARTHEST, xtol=1e-10))

    def step(self, time: float, z: float) -> float:
        """Goes on to the time with the boundary z; returns the probability of stopping there."""
        leaving, step = self._leaving(time, z), math.sqrt(time - self.time)
        edge = z * math.sqrt(time)
        nodes, weights = _quadrature(edge, step)
        moved = (nodes[:, None] - self.nodes - self.drift * (time - self.time)) / step
        density = np.exp(-(moved**2) / 2) @ self.masses / (step * math.sqrt(2 * math.pi))
        self.nodes, self.masses, self.time = nodes, density * weights, time
        return leaving

    def _leaving(self, time: float, z: float) -> float:
        step, edge = math.sqrt(time - self.time), z * math.sqrt(time)
        mean = self.nodes + self.drift * (time - self.time)
        return float(self.masses @ (ndtr((mean - edge) / step) + ndtr((-edge - mean) / step)))


def _quadrature(edge: float, step: float) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [-edge, edge], in panels no wider than an increment's deviation."""
    panels = max(8, math.ceil(2 * edge / step))
    half = edge / panels
    middles = -edge + half * (2 * np.arange(panels) + 1)
    return (middles[:, None] + half * _NODES).ravel(), np.tile(half * _WEIGHTS, panels)


def _fractions_iv(fractions: Sequence[float], spending: Spending, alpha: float) -> list[float]:
    times = [float(fraction) for fraction in fractions]
    if spending not in get_args(Spending):
        raise ValueError(f"spending must be one of {', '.join(get_args(Spending))}, not {spending!r}")
    if not 0 < alpha <= 0.5:
        raise ValueError(f"alpha must be above 0 and at most 0.5, not {alpha}")
    if not 1 <= len(times) <= MOST_LOOKS:
        raise ValueError(f"fractions must hold 1 to {MOST_LOOKS} looks, not {len(times)}")
    steps = np.diff([0.0, *times])
    if not ((steps >= 1e-3).all() and times[-1] <= 1):
        raise ValueError(f"fractions must increase by 0.001 or more from 0 and end at 1 at most, not {times}")
    return times


def _fixed(bounds: Boundaries) -> float:
    return float(-ndtri(bounds.alpha / 2))


def _drift_for(power_at: Callable[[float], float], power: float) -> float:
    return float(brentq(lambda drift: power_at(drift) - power, 0.0, 20.0, xtol=1e-10))


def _expected_fraction(bounds: Boundaries, drift: float) -> float:
    stopping = crossing_probabilities(bounds, drift)
    fractions = np.array([look.fraction for look in bounds.looks])
    return float(stopping @ fractions + (1 - stopping.sum()))


def _sentence(bounds: Boundaries, number: int, look: Look, z: float, stop: bool, last: bool) -> str:
    what = "reaches" if stop else "stays inside"
    text = (
        f"Look {number} of {len(bounds.looks)} at {100 * look.fraction:.0f} % of the information: |z| = "
        f"{abs(z):.3f} {what} the {SPENDING_LABELS[bounds.spending]} boundary of {look.z:.3f} "
        f"(nominal two-sided p {look.p:.4f}; {look.spent:.4f} of alpha {bounds.alpha:g} spent). "
    )
    if stop and last:
        return text + "A difference is claimed."
    if stop:
        return text + "The study may stop and claim a difference; the estimate tends to be too large then."
    if last:
        return (
            text + "This was the last look: no difference is claimed, which does not show that there is none."
        )
    return text + "The study goes on."
