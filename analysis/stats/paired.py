"""Tests and effect sizes of two conditions that the same participants saw.

All take each participant's two values, NaN where undefined. A participant
without both values says nothing about a change and does not count.
"""

from dataclasses import replace
from itertools import product
from math import sqrt

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .arguments import check_count, check_level, read_values
from .arrays import Array, split_into_chunks
from .effect_sizes import keep_positive
from .permutation import CELLS_PER_CHUNK, MOST_FOR_ENUMERATION, NO_BOUND, find_accepted_interval
from .results import (
    INDEPENDENT,
    LEAST,
    ORDER_ONLY,
    SAME_ITEMS,
    Finding,
    explain_constant,
    is_constant,
)

SWAPPED = (
    "Under the null hypothesis a participant's two values could as well have been the other way round: "
    "orders of conditions and sets of items are balanced over participants, and nothing carries over from "
    "one condition to the next."
)
NORMAL_CHANGES = "There are enough participants for the mean of their changes to be nearly normal."
NORMAL_VALUES = "The participants' values in both conditions follow normal distributions."
SIGNS = np.array([-1.0, 1.0])
SAME_CHANGE = "every participant changes by the same amount, so nothing says how changes differ"


def complete_pairs(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    """Return the values of the participants who have both.

    Raises ValueError for other shapes than one value per participant in both, and for infinite values.
    """
    before, after = read_values(first, "first", "participant"), read_values(second, "second", "participant")
    if len(before) != len(after):
        raise ValueError(
            "first and second must have one value per participant each, "
            f"not {len(before)} and {len(after)} values"
        )
    both = ~np.isnan(before) & ~np.isnan(after)
    return before[both], after[both]


def explain_too_few_pairs(pairs: int, least: int = LEAST) -> str:
    """Explain why there are too few complete pairs, "" if there are enough."""
    if pairs >= least:
        return ""
    return f"at least {least} participants need a defined value in both conditions; there are {pairs}"


def explain_unchanged(change: Array) -> str:
    """Explain why changes of complete pairs say nothing, "" if they do."""
    return explain_too_few_pairs(len(change)) or (SAME_CHANGE if is_constant(change) else "")


def sign_flip_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    permutations: int = 9_999,
    level: float = 0.95,
) -> Finding:
    """Test whether the condition changes the values, by swapping conditions.

    A swap turns the sign of a participant's change. The statistic is the mean
    change; over swaps, t of the changes orders them alike. All swaps are taken if
    there are at most 50,000 (15 participants), otherwise
    `permutations` random ones. p, two-sided, is the share of swaps with a mean at
    least as far from 0 [1]; of random ones (b + 1)/(m + 1) [2]. The confidence
    interval holds the mean changes that the same swaps do not reject [1].

    Args:
        first: One value per participant, NaN where undefined.
        second: The same participants' values in the second condition.
        rng: Source of random swaps.
        permutations: Number of random swaps, at least 1.
        level: Of the confidence interval.

    Returns:
        A finding; refused for fewer than two participants with both values and if
        no participant's value changes. Without an interval, with the reason, if no
        mean change can be rejected.

    Raises:
        ValueError: An argument is malformed.

    References:
        1. Fisher (1935). The Design of Experiments, sections 21 and 62.
        2. Phipson and Smyth (2010). Permutation p-values should never be zero.

    Examples:
        >>> sign_flip_test([1, 2, 3, 4], [2, 3, 5, 7], rng=np.random.default_rng(1)).p
        0.125
    """
    check_level(level)
    check_count(permutations, 1, "permutations")
    before, after = complete_pairs(first, second)
    change = after - before
    n = len(change)
    exact = 2**n <= MOST_FOR_ENUMERATION
    method = f"swap of conditions within participants, {'all' if exact else f'{permutations} random'} swaps"
    result = Finding("mean change", (n, n), method, level=level)
    if refused := explain_too_few_pairs(n) or ("" if change.any() else "no participant's value changes"):
        return replace(result, reason=refused)
    size = float(np.abs(change).max())
    swaps = _swap_signs(np.asarray(change / size, dtype=float), rng, 0 if exact else permutations)
    estimate = float(change.mean())

    def p_at(value: float) -> float:
        """Return p of the hypothesis that the mean change is so large."""
        means = np.abs(swaps[0] - value * swaps[1])
        return float(np.count_nonzero(means >= means[0] * (1 - 1e-9) - 1e-12) / len(means))

    ends = find_accepted_interval(p_at, estimate / size, 1 - level)
    return replace(
        result,
        estimate=estimate,
        interval=(ends[0] * size, ends[1] * size) if ends else None,
        p=p_at(0.0),
        assumptions=(INDEPENDENT, SWAPPED, SAME_ITEMS),
        reason="" if ends else NO_BOUND,
    )


def average_g(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the mean change in average standard deviations.

    It compares with Hedges' g. d = (m2 − m1)/s, s² = (s1² + s2²)/2;
    g = d √((n − 2)/(n − 1)), to lessen the bias. The confidence interval is d ± t
    √(d² (s1⁴ + s2⁴ + 2 s12²)/(8 s⁴ (n − 1)) + s_d²/(s² (n − 1))), s12 the
    covariance, s_d the standard deviation of the changes [1, for two paired
    means], t with n − 1 degrees of freedom where the source has the normal
    distribution.

    Args:
        first: Shape (participants,), NaN where undefined.
        second: The same participants' values in the second condition.
        level: Of the confidence interval.

    Returns:
        A finding in standard deviations; refused for fewer than three participants
        with both values and if the values vary in neither condition.

    Raises:
        ValueError: The shapes differ, a value is infinite, or `level` does not lie between 0 and 1.

    References:
        1. Bonett (2008). Confidence intervals for standardized linear contrasts of
           means. Psychological Methods 13.
    """
    check_level(level)
    before, after = complete_pairs(first, second)
    n = len(before)
    method = "mean change in average standard deviations of the conditions, Bonett's interval"
    result = Finding("Hedges' g", (n, n), method, level=level)
    if refused := explain_too_few_pairs(n, 3) or explain_constant((before, after), within_groups=True):
        return replace(result, reason=refused)
    covariance = np.cov(before, after)
    spread = float(np.trace(covariance)) / 2
    d = float(after.mean() - before.mean()) / sqrt(spread)
    of_changes = 2 * spread - 2 * float(covariance[0, 1])
    squares = float((covariance**2).sum())  # s1⁴ + s2⁴ + 2 s12²
    variance = d**2 * squares / (8 * spread**2 * (n - 1)) + of_changes / (spread * (n - 1))
    half = float(scipy.stats.t.ppf((1 + level) / 2, n - 1)) * sqrt(variance)
    return replace(
        result,
        estimate=d * sqrt((n - 2) / (n - 1)),
        interval=(d - half, d + half) if variance > 0 else None,
        assumptions=(INDEPENDENT, NORMAL_VALUES, SAME_ITEMS),
        reason="" if variance > 0 else SAME_CHANGE,
    )


def superiority_within(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the share of participants with a higher second value.

    Ties count half. Wilson's interval of the share; with ties it errs to the wide side, as half a success
    varies less.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same participants' values in the second condition.
        level: Of the confidence interval.

    Returns:
        A finding from 0 to 1; refused for fewer than two participants with both values.

    Raises:
        ValueError: The shapes differ, a value is infinite, or `level` does not lie between 0 and 1.

    Examples:
        >>> superiority_within([1, 2, 3, 4], [2, 3, 4, 4]).estimate
        0.875
    """
    check_level(level)
    before, after = complete_pairs(first, second)
    n = len(before)
    method = "share of participants, Wilson's interval"
    result = Finding("probability of superiority", (n, n), method, level=level)
    if refused := explain_too_few_pairs(n):
        return replace(result, reason=refused)
    hits = float((after > before).sum()) + float((after == before).sum()) / 2
    share, weight = hits / n, float(scipy.stats.norm.ppf((1 + level) / 2)) ** 2 / n
    half = sqrt(weight * (share * (1 - share) + weight / 4))  # scipy's Wilson interval takes no half hits
    low, high = ((share + weight / 2 + side * half) / (1 + weight) for side in (-1, 1))
    assumptions = (INDEPENDENT, SAME_ITEMS, ORDER_ONLY)
    return replace(result, estimate=share, interval=(max(low, 0.0), min(high, 1.0)), assumptions=assumptions)


def delta_within(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the share of participants who go up minus that who go down.

    This is Cliff's (1993) d_w: 2 × superiority − 1.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same participants' values in the second condition.
        level: Of the confidence interval.

    Returns:
        A finding from -1 to 1; refused for fewer than two participants with both values.

    Raises:
        ValueError: The shapes differ, a value is infinite, or `level` does not lie between 0 and 1.
    """
    share = superiority_within(first, second, level=level)
    return share.convert_to("Cliff's delta within participants", lambda value: 2 * value - 1)


def ratio_within(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the geometric mean of ratios, second to first.

    The confidence interval is Student's on the log scale.

    Args:
        first: One positive value per participant, such as a geometric mean time; NaN where undefined.
        second: The same participants' values in the second condition.
        level: Of the confidence interval.

    Returns:
        A finding without p; refused for fewer than two participants with both values and if every one changes
        by the same ratio.

    Raises:
        ValueError: A value is infinite or not positive, the shapes differ, or `level` does not lie between 0
            and 1.

    Examples:
        >>> round(ratio_within([10, 20, 40], [20, 38, 84]).estimate, 3)
        1.998
    """
    before, after = complete_pairs(first, second)
    if (before <= 0).any() or (after <= 0).any():
        raise ValueError("first or second holds a value that is not positive")
    logs = paired_difference(np.log(before), np.log(after), level=level)
    return logs.to_ratio("t interval of the mean change of logs", "ratios")


def paired_difference(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Finding:
    """Estimate the mean change with Student's interval and p.

    Items count as fixed.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same participants' values in the second condition.
        level: Of the confidence interval.

    Returns:
        A finding in the unit of the values; refused for fewer than two participants with both values and if
        every one changes by the same amount.

    Raises:
        ValueError: The shapes differ, a value is infinite, or `level` does not lie between 0 and 1.

    Examples:
        >>> round(paired_difference([1, 2, 3], [2, 3, 5]).p, 4)
        0.0572
    """
    check_level(level)
    before, after = complete_pairs(first, second)
    change = after - before
    n = len(change)
    result = Finding("mean change", (n, n), "paired t over participants", level=level)
    if refused := explain_unchanged(change):
        return replace(result, reason=refused)
    test = scipy.stats.ttest_1samp(change, 0.0)
    low, high = map(float, test.confidence_interval(level))
    p = keep_positive(float(test.pvalue))
    assumptions = (INDEPENDENT, NORMAL_CHANGES, SAME_ITEMS)
    return replace(result, estimate=float(change.mean()), interval=(low, high), p=p, assumptions=assumptions)


def _swap_signs(change: Array, rng: np.random.Generator, random: int) -> Array:
    """Return the mean change and the mean sign of every swap, none first.

    random: number of random swaps, 0 for all there are.
    """
    n = len(change)
    if not random:
        signs = -np.array(list(product(SIGNS, repeat=n)))
        return np.array([signs @ change, signs.sum(axis=1)]) / n
    parts = [np.array([[change.sum()], [float(n)]])]
    for rows in split_into_chunks(random, CELLS_PER_CHUNK // n):
        signs = rng.choice(SIGNS, (rows.stop - rows.start, n))
        parts.append(np.array([signs @ change, signs.sum(axis=1)]))
    return np.concatenate(parts, axis=1) / n
