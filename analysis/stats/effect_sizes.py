"""Effect sizes of two conditions, from one value per participant."""

import warnings
from dataclasses import replace
from math import exp, lgamma, sqrt
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .arguments import check_level
from .arrays import Array
from .results import (
    EQUAL_SPREAD,
    INDEPENDENT,
    NORMAL,
    NORMAL_MEANS,
    ORDER_ONLY,
    SAME_ITEMS,
    Finding,
    explain_constant,
    explain_too_few,
    select_defined_values,
)


def hedges_g(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate Hedges' g, the bias-corrected standardised difference of means.

    g = J (mean of second − mean of first) / s, s the pooled standard deviation,
    J = Γ(f/2) / (√(f/2) Γ((f − 1)/2)) with f = n1 + n2 − 2 [1, equation 6e]. The
    confidence interval holds the population values δ under which the observed t is
    in neither tail of the noncentral t distribution [2, chapter 5]; some programs
    multiply its ends by J, which shifts it away from the values that it tests.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition.
        level: Of the confidence interval.

    Returns:
        A finding; refused, with a reason, for fewer than two participants in a
        condition and if the values vary in neither condition.

    Raises:
        ValueError: An argument has another shape or is infinite, or `level` does not lie between 0 and 1.

    References:
        1. Hedges (1981). Distribution theory for Glass's estimator of effect size.
        2. Hedges and Olkin (1985). Statistical Methods for Meta-Analysis.

    Examples:
        >>> round(hedges_g([1, 2, 3], [2, 3, 4]).estimate, 4)
        0.7979
    """
    check_level(level)
    groups = select_defined_values(first, second)
    n1, n2 = map(len, groups)
    method = "bias-corrected standardised difference, noncentral t interval"
    result = Finding("Hedges' g", (n1, n2), method, level=level)
    if refused := explain_too_few(groups) or explain_constant(groups, within_groups=True):
        return replace(result, reason=refused)
    freedom = n1 + n2 - 2
    pooled = sqrt(sum(((group - group.mean()) ** 2).sum() for group in groups) / freedom)
    d = float(groups[1].mean() - groups[0].mean()) / pooled
    bias = exp(lgamma(freedom / 2) - lgamma((freedom - 1) / 2)) / sqrt(freedom / 2)
    scale = sqrt(1 / n1 + 1 / n2)
    interval, reason = _noncentral_interval(d / scale, freedom, level)
    return replace(
        result,
        estimate=bias * d,
        interval=(interval[0] * scale, interval[1] * scale) if interval else None,
        assumptions=(INDEPENDENT, NORMAL, EQUAL_SPREAD, SAME_ITEMS),
        reason=reason,
    )


def cliffs_delta(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate Cliff's delta, P(second > first) − P(second < first).

    Both are values of participants drawn at random. The confidence interval is
    asymmetric [1], with the unbiased variance of [2]: (δ − δ³ ± t s √((1 − δ²)² +
    t² s²)) / (1 − δ² + t² s²), t with n1 + n2 − 2 degrees of freedom.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition.
        level: Of the confidence interval.

    Returns:
        A finding; refused for fewer than two participants in a condition, and
        without an interval if all values of one condition exceed all of the other,
        because the variance estimate is then 0.

    Raises:
        ValueError: An argument has another shape or is infinite, or `level` does not lie between 0 and 1.

    References:
        1. Feng and Cliff (2004). Monte Carlo evaluation of ordinal d.
        2. Cliff (1993). Dominance statistics.

    Examples:
        >>> cliffs_delta([1, 2, 3, 4], [3, 4, 5, 6]).estimate
        0.75
    """
    check_level(level)
    groups = select_defined_values(first, second)
    n1, n2 = map(len, groups)
    method = "share of pairs of participants, Feng-Cliff interval"
    result = Finding("Cliff's delta", (n1, n2), method, level=level)
    if refused := explain_too_few(groups):
        return replace(result, reason=refused)
    delta, variance = _dominance(*groups)
    interval, reason = None, ""
    if abs(delta) >= 1 - 1e-12:
        reason = "no value of one condition reaches the other's, so the spread of delta cannot be estimated"
    elif explain_constant(groups):
        reason = explain_constant(groups)
    else:
        t = float(scipy.stats.t.ppf((1 + level) / 2, n1 + n2 - 2))
        half = t * sqrt(variance) * sqrt((1 - delta**2) ** 2 + t**2 * variance)
        middle, scale = delta - delta**3, 1 - delta**2 + t**2 * variance
        interval = (max(-1.0, (middle - half) / scale), min(1.0, (middle + half) / scale))
    assumptions = (INDEPENDENT, SAME_ITEMS, ORDER_ONLY)
    return replace(result, estimate=delta, interval=interval, assumptions=assumptions, reason=reason)


def probability_of_superiority(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate P(second > first) + P(tie)/2 for two random participants.

    It is (1 + Cliff's delta) / 2; see `cliffs_delta`. Vargha and Delaney (2000)
    call it A.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition.
        level: Of the confidence interval.

    Returns:
        A finding from 0 to 1; refused, and without an interval, as `cliffs_delta`.

    Raises:
        ValueError: An argument has another shape or is infinite, or `level` does not lie between 0 and 1.

    Examples:
        >>> probability_of_superiority([1, 2, 3, 4], [3, 4, 5, 6]).estimate
        0.875
    """
    delta = cliffs_delta(first, second, level=level)
    return delta.convert_to("probability of superiority", lambda value: (1 + value) / 2)


def ratio_of_geometric_means(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the ratio of geometric means, second condition over first.

    The confidence interval is Welch's on the log scale.

    Args:
        first: One positive value per participant, such as a geometric mean time;
            NaN where undefined.
        second: The same for the second condition.
        level: Of the confidence interval.

    Returns:
        A finding without p; refused for fewer than two participants in a condition and if the values vary in
        neither condition.

    Raises:
        ValueError: A value is infinite or not positive, an argument has another shape, or `level` does not
            lie between 0 and 1.

    Examples:
        >>> round(ratio_of_geometric_means([10, 20, 40], [20, 40, 80]).estimate, 6)
        2.0
    """
    groups = select_defined_values(first, second)
    for name, values in zip(("first", "second"), groups, strict=True):
        if (values <= 0).any():
            raise ValueError(f"{name} holds a value that is not positive")
    logs = welch_difference(np.log(groups[0]), np.log(groups[1]), level=level)
    return logs.to_ratio("Welch's interval of the difference of mean logs", "values")


def welch_test(first: Array, second: Array, alternative: str = "two-sided") -> Any:
    """Test whether the mean of the second group differs (Welch 1947).

    Args:
        first: At least two values.
        second: At least two values; not both groups are constant.
        alternative: As in `scipy.stats.ttest_ind`, about second minus first.

    Returns:
        scipy's TtestResult.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy's, of one constant group: its spread is 0
        return scipy.stats.ttest_ind(second, first, equal_var=False, alternative=alternative)


def welch_difference(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the difference of means with Welch's interval and p.

    Items count as fixed.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition.
        level: Of the confidence interval.

    Returns:
        A finding in the unit of the values; refused for fewer than two participants in a condition and if the
        values vary in neither condition.

    Raises:
        ValueError: An argument has another shape or is infinite, or `level` does not lie between 0 and 1.

    Examples:
        >>> round(welch_difference([1, 2, 3], [2, 3, 4]).p, 4)
        0.2879
    """
    check_level(level)
    groups = select_defined_values(first, second)
    sizes = (len(groups[0]), len(groups[1]))
    result = Finding("difference of means", sizes, "Welch's t over participants", level=level)
    if refused := explain_too_few(groups) or explain_constant(groups, within_groups=True):
        return replace(result, reason=refused)
    test = welch_test(*groups)
    low, high = map(float, test.confidence_interval(level))
    return replace(
        result,
        estimate=float(groups[1].mean() - groups[0].mean()),
        interval=(low, high),
        p=keep_positive(float(test.pvalue)),
        assumptions=(INDEPENDENT, NORMAL_MEANS, SAME_ITEMS),
    )


def keep_positive(p: float) -> float:
    """Return p, or the smallest positive number if it underflowed to 0."""
    return max(p, float(np.finfo(float).tiny))


def _noncentral_interval(t: float, freedom: int, level: float) -> tuple[tuple[float, float] | None, str]:
    """Bound the noncentralities under which t is in neither tail."""
    if t < 0:  # scipy's noncentral t is accurate on the other side
        mirrored, reason = _noncentral_interval(-t, freedom, level)
        return (-mirrored[1], -mirrored[0]) if mirrored else None, reason

    def compute_excess(noncentrality: float, share: float) -> float:
        return float(scipy.stats.nct.cdf(t, freedom, noncentrality)) - share

    reach = 10.0 + 5 * t  # the ends move away from t with t when there are few participants
    try:
        low, high = (
            float(scipy.optimize.brentq(compute_excess, t - reach, t + reach, args=(share,), xtol=1e-10))
            for share in ((1 + level) / 2, (1 - level) / 2)
        )
    except ValueError:
        return None, "the noncentral t distribution is out of reach for an effect this large"
    return (low, high), ""


def _dominance(first: Array, second: Array) -> tuple[float, float]:
    """Compute Cliff's delta and its variance, in n log n steps."""
    n1, n2 = len(first), len(second)
    of_second = _compute_balance(second, np.sort(first))
    of_first = -_compute_balance(first, np.sort(second))
    delta = float(of_second.mean())
    ordered = np.sort(first)
    ties = np.searchsorted(ordered, second, "right") - np.searchsorted(ordered, second, "left")
    pairs = n1 * n2
    # The sum over all pairs of (sign of their difference less delta) squared.
    cells = pairs - int(ties.sum()) - pairs * delta**2
    rows, columns = ((of_first - delta) ** 2).sum(), ((of_second - delta) ** 2).sum()
    variance = (n2**2 * rows + n1**2 * columns - cells) / (pairs * (n1 - 1) * (n2 - 1))
    return delta, max(float(variance), (1 - delta**2) / (pairs - 1))


def _compute_balance(values: Array, others: Array) -> Array:
    """Compute for each value the share of `others` (sorted) below minus above."""
    below = np.searchsorted(others, values, "left")
    above = len(others) - np.searchsorted(others, values, "right")
    return np.asarray((below - above) / len(others))
