"""Reliability of a scale: do its items agree with each other?

References:
    1. Cronbach (1951): alpha. Feldt (1965): its confidence interval.
    2. McDonald (1999), chapter 6: omega of a one-factor model.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .arrays import Array

TOO_FEW_ITEMS = "the scale has a single item"
TOO_FEW_PEOPLE = "fewer than three participants answered every item"
NO_SPREAD = "every participant has the same score"
NO_OMEGA = "omega needs three items or more"
NO_FACTOR = "a single factor does not fit the items"


@dataclass(frozen=True)
class Reliability:
    """Cronbach's alpha and McDonald's omega of a scale.

    Attributes:
        participants: Participants who answered every item.
        alpha: None if it cannot be given; `reason` then says why.
        interval: 95 % confidence interval of alpha, for normal answers.
        omega: None if it cannot be given; `omega_reason` then says why.
    """

    participants: int
    alpha: float | None = None
    interval: tuple[float, float] | None = None
    omega: float | None = None
    reason: str = ""
    omega_reason: str = ""


def reliability(answers: ArrayLike) -> Reliability:
    """Compute alpha and omega of answers, reversed items turned round already.

    alpha = k / (k − 1) · (1 − Σ var(item) / var(sum)). omega = (Σλ)² / ((Σλ)² + Σψ), with loadings λ and
    unique variances ψ of one factor, fitted to the covariances by least squares (minres). Programs that fit
    by maximum likelihood give slightly different values.

    answers: participants × items; participants with a NaN are left out.

    Raises ValueError for another shape.

    Examples:
        >>> reliability([[1, 2], [2, 2], [3, 4]]).alpha
        0.9230769230769231
    """
    values = np.asarray(answers, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"answers must be participants × items, not of shape {values.shape}")
    whole = values[~np.isnan(values).any(axis=1)]
    people, items = whole.shape
    if items < 2:
        return Reliability(people, reason=TOO_FEW_ITEMS, omega_reason=TOO_FEW_ITEMS)
    if people < 3:
        return Reliability(people, reason=TOO_FEW_PEOPLE, omega_reason=TOO_FEW_PEOPLE)
    covariance = np.cov(whole, rowvar=False)
    if covariance.sum() <= 1e-12 * np.trace(covariance) or not np.trace(covariance):
        return Reliability(people, reason=NO_SPREAD, omega_reason=NO_SPREAD)
    alpha = float(items / (items - 1) * (1 - np.trace(covariance) / covariance.sum()))
    omega, reason = _omega(covariance)
    return Reliability(people, alpha, _feldt(alpha, people, items), omega, omega_reason=reason)


def _feldt(alpha: float, people: int, items: int) -> tuple[float, float]:
    """Return the 95 % interval: (1 − α̂) / (1 − α) follows an F distribution."""
    degrees = (people - 1, (people - 1) * (items - 1))
    low, high = (1 - (1 - alpha) * float(scipy.special.fdtri(*degrees, share)) for share in (0.975, 0.025))
    return low, high


def _omega(covariance: Array) -> tuple[float | None, str]:
    """Return omega of a covariance matrix, or why there is none."""
    items = len(covariance)
    if items < 3:
        return None, NO_OMEGA
    pairs = np.triu_indices(items, 1)
    variances = np.diag(covariance)
    # Loadings of the first principal component start on the side where most items agree.
    first = np.linalg.eigh(covariance)[1][:, -1]
    start = np.sqrt(variances) * np.where(first.sum() < 0, -1, 1) * np.sign(first) * 0.7
    fit = scipy.optimize.least_squares(lambda loads: (np.outer(loads, loads) - covariance)[pairs], start)
    common = float(fit.x.sum() ** 2)
    unique = variances - fit.x**2
    if not fit.success or (unique < -1e-9 * variances).any() or common + unique.sum() <= 0:
        return None, NO_FACTOR
    return common / (common + float(unique.sum())), ""
