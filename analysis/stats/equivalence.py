"""Equivalence of two conditions within a declared margin.

"No significant difference" is no evidence of no difference; two one-sided
tests are the way to claim it.
"""

from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .arguments import check_level
from .arrays import Array
from .effect_sizes import keep_positive, welch_test
from .paired import complete_pairs, explain_unchanged
from .results import (
    INDEPENDENT,
    NORMAL_MEANS,
    SAME_ITEMS,
    Finding,
    explain_constant,
    explain_too_few,
    select_defined_values,
)


@dataclass(frozen=True)
class Equivalence(Finding):
    """Result of two one-sided tests against a margin.

    Attributes:
        margin: Lower and upper bound, as a difference or as a ratio.
        alpha: Of each one-sided test.
        p: The larger of the two one-sided p.
        p_above_lower: Of the test against the lower bound.
        p_below_upper: Of the test against the upper bound.
        interval: At level 1 − 2α; it lies within the margin exactly if p is at most α.
        equivalent: True if p is at most α; None if refused.
    """

    margin: tuple[float, float] = (float("nan"), float("nan"))
    alpha: float = 0.05
    p_above_lower: float | None = None
    p_below_upper: float | None = None
    equivalent: bool | None = None

    @property
    def sentence(self) -> str:
        """The conclusion as a sentence."""
        bounds = f"{self.margin[0]:g} to {self.margin[1]:g}"
        if self.equivalent is None:
            return f"Equivalence within {bounds} was not tested: {self.reason}."
        if self.equivalent:
            return f"The conditions are equivalent within {bounds} (two one-sided tests, p = {self.p:.3g})."
        return f"Equivalence within {bounds} is not shown, which does not show a difference either."


def equivalence(
    first: ArrayLike,
    second: ArrayLike,
    margin: tuple[float, float],
    *,
    alpha: float = 0.05,
    ratio: bool = False,
    paired: bool = False,
) -> Equivalence:
    """Test equivalence within a margin by two one-sided tests [1].

    The two p are those of t = (difference − lower)/s above, and (difference −
    upper)/s below, with Welch's s and degrees of freedom, which the interval has too.
    Items count as fixed.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition.
        margin: Declared before the data were seen; lower < 0 < upper for a
            difference, 0 < lower < 1 < upper for a ratio.
        alpha: Of each one-sided test.
        ratio: Compare geometric means of positive values by their ratio.
        paired: The same participants in the same order; t is then that of the
            changes of those who have both values.

    Returns:
        A finding; refused for fewer than two participants in a condition and if
        the values vary in neither condition.

    Raises:
        ValueError: The margin lies on one side of no difference, or an argument
            is malformed.

    References:
        1. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach. J.
           Pharmacokinetics and Biopharmaceutics 15.

    Examples:
        >>> equivalence([1, 2, 3, 4], [1, 2, 3, 4.2], (-3, 3)).equivalent
        True
    """
    check_level(2 * alpha, "alpha, doubled,")
    check_margin(margin, ratio=ratio)
    groups = complete_pairs(first, second) if paired else select_defined_values(first, second)
    result = Equivalence(
        quantity="ratio of geometric means" if ratio else "difference of means",
        n=(len(groups[0]), len(groups[1])),
        method=f"two one-sided {'paired t' if paired else 'Welch'} tests over participants",
        level=1 - 2 * alpha,
        margin=margin,
        alpha=alpha,
    )
    bounds = margin
    if ratio:
        groups, bounds = _convert_to_logarithms(groups), (log(margin[0]), log(margin[1]))
    if refused := _explain_refusal(groups, paired=paired):
        return replace(result, reason=refused)
    p_lower = keep_positive(float(_t_test(groups, bounds[0], "greater", paired=paired).pvalue))
    p_upper = keep_positive(float(_t_test(groups, bounds[1], "less", paired=paired).pvalue))
    ends = map(float, _t_test(groups, 0.0, "two-sided", paired=paired).confidence_interval(1 - 2 * alpha))
    low, high = map(exp, ends) if ratio else ends
    estimate = float(groups[1].mean() - groups[0].mean())
    p = max(p_lower, p_upper)
    return replace(
        result,
        estimate=exp(estimate) if ratio else estimate,
        interval=(low, high),
        p=p,
        assumptions=(INDEPENDENT, NORMAL_MEANS, SAME_ITEMS),
        p_above_lower=p_lower,
        p_below_upper=p_upper,
        equivalent=p <= alpha,
    )


def check_margin(margin: tuple[float, float], *, ratio: bool) -> None:
    """Raise ValueError for bounds on one side of no difference."""
    if len(margin) != 2 or not np.isfinite(margin).all():
        raise ValueError(f"margin must be two finite numbers, lower and upper bound, not {margin}")
    lower, upper = margin
    if ratio and not 0 < lower < 1 < upper:
        raise ValueError(f"margin of a ratio must be 0 < lower < 1 < upper, not {lower:g} to {upper:g}")
    if not ratio and not lower < 0 < upper:
        raise ValueError(f"margin must be lower < 0 < upper, not {lower:g} to {upper:g}")


def _convert_to_logarithms(groups: tuple[Array, Array]) -> tuple[Array, Array]:
    if min(group.min(initial=1.0) for group in groups) <= 0:
        raise ValueError("a ratio needs positive values")
    return np.log(groups[0]), np.log(groups[1])


def _explain_refusal(groups: tuple[Array, Array], *, paired: bool) -> str:
    return (
        explain_unchanged(groups[1] - groups[0])
        if paired
        else explain_too_few(groups) or explain_constant(groups, within_groups=True)
    )


def _t_test(groups: tuple[Array, Array], difference: float, alternative: str, *, paired: bool) -> Any:
    """Test if second minus first is `difference`, by Student's or Welch's t."""
    if paired:
        return scipy.stats.ttest_1samp(groups[1] - groups[0], difference, alternative=alternative)
    return welch_test(groups[0] + difference, groups[1], alternative)
