"""Equivalence of two conditions within a declared margin: two one-sided tests.

Source: Schuirmann 1987 (two one-sided tests; equivalent when the 1 − 2α interval lies within the margin).
"No significant difference" is no evidence of no difference; this is the test for such a claim.
"""

from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from .arrays import Array
from .effect_sizes import never_zero, welch_test
from .paired import SAME_CHANGE, complete_pairs, too_few_pairs
from .results import (
    INDEPENDENT,
    NORMAL_MEANS,
    SAMPLED_ITEMS,
    Finding,
    check_level,
    constant,
    defined_values,
    same,
    too_few,
)


@dataclass(frozen=True)
class Equivalence(Finding):
    """Whether two conditions differ by less than the margin.

    margin: lower and upper bound, as a difference or as a ratio. p: the larger of the two one-sided p;
    `p_above_lower` and `p_below_upper` are the two. interval: two-way bootstrap at level 1 − 2α, None where
    none was given. welch_interval: Welch's (if paired, Student's) at the same level. equivalent: whether p is
    at most α and the bootstrap interval, where there is one, lies within the margin; None where refused.
    """

    margin: tuple[float, float] = (float("nan"), float("nan"))
    alpha: float = 0.05
    welch_interval: tuple[float, float] | None = None
    p_above_lower: float | None = None
    p_below_upper: float | None = None
    equivalent: bool | None = None

    @property
    def sentence(self) -> str:
        """What may be said."""
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
    interval: tuple[float, float] | None = None,
    alpha: float = 0.05,
    ratio: bool = False,
    paired: bool = False,
) -> Equivalence:
    """Two one-sided Welch tests over participants, beside a 1 − 2α bootstrap interval.

    The two p are those of t = (difference − lower)/s above, and (difference − upper)/s below, s and degrees
    of freedom Welch's. Items count as fixed in these; the bootstrap interval counts them as sampled, so both
    have to agree.

    first, second: one value per participant, NaN where undefined. margin: declared before the data were
    seen; lower < 0 < upper for a difference, 0 < lower < 1 < upper for a ratio. interval: of the two-way
    bootstrap at level 1 − 2 alpha, on the scale of the margin. ratio: compare geometric means of positive
    values by their ratio. paired: the same participants in the same order; the t is then that of the changes
    of those who have both values.

    Refused below two participants in a condition and where neither condition's values vary. Raises
    ValueError.

    >>> equivalence([1, 2, 3, 4], [1, 2, 3, 4.2], (-3, 3)).equivalent
    True
    """
    check_level(2 * alpha, "alpha, doubled,")
    check_margin(margin, ratio=ratio)
    groups = complete_pairs(first, second) if paired else defined_values(first, second)
    found = Equivalence(
        quantity="ratio of geometric means" if ratio else "difference of means",
        n=(len(groups[0]), len(groups[1])),
        method=f"two one-sided {'paired t' if paired else 'Welch'} tests over participants",
        level=1 - 2 * alpha,
        margin=margin,
        alpha=alpha,
    )
    bounds = margin
    if ratio:
        groups, bounds = _logarithms(groups), (log(margin[0]), log(margin[1]))
    if refused := _refused(groups, paired=paired):
        return replace(found, reason=refused)
    p_lower = never_zero(float(_t_test(groups, bounds[0], "greater", paired=paired).pvalue))
    p_upper = never_zero(float(_t_test(groups, bounds[1], "less", paired=paired).pvalue))
    ends = map(float, _t_test(groups, 0.0, "two-sided", paired=paired).confidence_interval(1 - 2 * alpha))
    low, high = map(exp, ends) if ratio else ends
    estimate = float(groups[1].mean() - groups[0].mean())
    p = max(p_lower, p_upper)
    inside = interval is None or (margin[0] < interval[0] and interval[1] < margin[1])
    return replace(
        found,
        estimate=exp(estimate) if ratio else estimate,
        interval=interval,
        p=p,
        assumptions=(INDEPENDENT, NORMAL_MEANS, *([SAMPLED_ITEMS] if interval else [])),
        welch_interval=(low, high),
        p_above_lower=p_lower,
        p_below_upper=p_upper,
        equivalent=p <= alpha and inside,
    )


def check_margin(margin: tuple[float, float], *, ratio: bool) -> None:
    """Raises ValueError for bounds that do not lie on both sides of no difference."""
    lower, upper = margin
    if ratio and not 0 < lower < 1 < upper:
        raise ValueError(f"margin of a ratio must be 0 < lower < 1 < upper, not {lower:g} to {upper:g}")
    if not ratio and not lower < 0 < upper:
        raise ValueError(f"margin must be lower < 0 < upper, not {lower:g} to {upper:g}")


def _logarithms(groups: tuple[Array, Array]) -> tuple[Array, Array]:
    if min(group.min(initial=1.0) for group in groups) <= 0:
        raise ValueError("a ratio needs positive values")
    return np.log(groups[0]), np.log(groups[1])


def _refused(groups: tuple[Array, Array], *, paired: bool) -> str:
    if not paired:
        return too_few(groups) or constant(groups, each=True)
    change = groups[1] - groups[0]
    return too_few_pairs(len(change)) or (SAME_CHANGE if same(change) else "")


def _t_test(groups: tuple[Array, Array], difference: float, alternative: str, *, paired: bool) -> Any:
    """Test whether second minus first is this difference, by Student's or Welch's t."""
    if paired:
        return stats.ttest_1samp(groups[1] - groups[0], difference, alternative=alternative)
    return welch_test(groups[0] + difference, groups[1], alternative)
