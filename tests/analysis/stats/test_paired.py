"""Comparisons within participants agree with R and by hand.

The same participants saw both conditions. Intervals cover the truth; too few pairs raise an error.
"""

# mypy: disable-error-code="operator, misc"
# A None where a test expects a value fails the test by itself.

from itertools import product

import numpy as np
import pytest
from scipy import stats

from analysis.stats.equivalence import equivalence
from analysis.stats.paired import (
    average_g,
    delta_within,
    paired_difference,
    ratio_within,
    sign_flip_test,
    superiority_within,
)

A = [12.1, 15.3, 9.8, 20.4, 17.7, 11.2, 14.9, 16.0, 13.3, 18.1]
B = [14.0, 15.1, 12.2, 24.9, 18.0, 15.5, 14.2, 19.3, 16.1, 20.0]


def rng():
    return np.random.default_rng(1)


def test_against_r():
    """R 4.2.2, with a and b as above, s2 <- (var(a) + var(b)) / 2, n <- 10.

    t.test(b, a, paired = TRUE)                                  # 0.764899153014 3.335100846986
    d <- b - a; g <- as.matrix(expand.grid(rep(list(c(-1, 1)), 10)))
    mean(abs(g %*% d) >= abs(sum(d)) - 1e-9)                     # 0.01171875
    est <- (mean(b) - mean(a)) / sqrt(s2); v1 <- var(a); v2 <- var(b); r <- cor(a, b)
    vd <- v1 + v2 - 2 * r * sqrt(v1 * v2)
    se <- sqrt(est^2 * (v1^2 + v2^2 + 2 * r^2 * v1 * v2) / (8 * (n - 1) * s2^2) + vd / ((n - 1) * s2))
    c(est * sqrt((n - 2) / (n - 1)), est - qt(.975, n - 1) * se, est + qt(.975, n - 1) * se)
    t.test(b, a, paired = TRUE, mu = 1, alternative = "greater")$p.value   # 0.048806527142
    t.test(b, a, paired = TRUE, mu = 4, alternative = "less")$p.value      # 0.00373886416565
    """
    difference = paired_difference(A, B)
    assert difference.estimate == pytest.approx(2.05)
    assert difference.interval == pytest.approx((0.764899153014, 3.335100846986))
    assert difference.p == pytest.approx(0.00567163206683)
    assert sign_flip_test(A, B, rng=rng()).p == pytest.approx(0.01171875)
    g = average_g(A, B)
    assert g.estimate == pytest.approx(0.5478892148337)
    assert g.interval == pytest.approx((0.0990531903243, 1.0631953471195))
    shifted = equivalence(A, [b - 2.5 for b in B], (-1.5, 1.5), paired=True)
    assert shifted.p_above_lower == pytest.approx(0.048806527142)
    assert shifted.p_below_upper == pytest.approx(0.00373886416565)
    assert shifted.equivalent is True
    assert shifted.method == "two one-sided paired t tests over participants"


def test_swaps_against_all_of_them_by_hand():
    change = np.array([0.3, -0.1, 0.4, 0.2, 0.0, 0.25])
    extreme = [abs(np.dot(signs, change)) >= abs(change.sum()) - 1e-9 for signs in product((-1, 1), repeat=6)]
    finding = sign_flip_test(np.zeros(6), change, rng=rng())
    assert finding.p == pytest.approx(np.mean(extreme))
    assert "all swaps" in finding.method


def test_random_swaps_estimate_the_share_of_all():
    values = np.random.default_rng(3).normal(0.5, 1, 17)
    finding = sign_flip_test(np.zeros(17), values, rng=rng(), permutations=9_999)
    signs = np.array(list(product((-1.0, 1.0), repeat=17))[: 2**16])  # the other half mirrors these
    exact = np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-9)
    assert finding.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9_999) + 1e-4)
    assert sign_flip_test(np.zeros(20), np.ones(20), rng=rng(), permutations=99).p == pytest.approx(0.01)
    smallest = sign_flip_test(np.zeros(6), np.arange(1.0, 7.0), rng=rng()).p
    assert smallest == pytest.approx(2 / 64)  # every pattern of signs has its mirror image


def test_what_must_not_change_the_result():
    forth, back = sign_flip_test(A, B, rng=rng()), sign_flip_test(B, A, rng=rng())
    assert forth.p == back.p
    assert forth.estimate == pytest.approx(-back.estimate)
    order = np.random.default_rng(2).permutation(10)
    assert sign_flip_test(np.array(A)[order], np.array(B)[order], rng=rng()).p == forth.p
    scaled = average_g(np.array(A) * 60, np.array(B) * 60)
    assert scaled.estimate == pytest.approx(average_g(A, B).estimate)
    more = sign_flip_test([*A, 5.0, np.nan], [*B, np.nan, 7.0], rng=rng())
    assert (more.p, more.n) == (forth.p, (10, 10))


def test_order_within_participants():
    superiority, delta = superiority_within(A, B), delta_within(A, B)
    assert superiority.estimate == 0.8
    assert delta.estimate == pytest.approx(0.6)
    low, high = superiority.interval
    assert (low, high) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)  # prop.test(8, 10, correct = FALSE)
    assert delta.interval == pytest.approx((2 * low - 1, 2 * high - 1))
    assert superiority_within(A, A).estimate == 0.5


def test_ratios_are_of_the_same_person():
    ratio = ratio_within(A, B)
    logs = np.log(np.array(B) / np.array(A))
    assert ratio.estimate == pytest.approx(np.exp(logs.mean()))
    assert np.log(ratio.interval) == pytest.approx(stats.t.interval(0.95, 9, logs.mean(), stats.sem(logs)))
    with pytest.raises(ValueError, match="not positive"):
        ratio_within([1, 0], [1, 2])


@pytest.mark.parametrize("people", [6, 20])
def test_the_interval_of_g_holds_the_truth(people):
    """The interval of g holds the true standardised change of 0.8.

    The values of the 500 studies are normal with a correlation of 0.6.
    """
    draw, held = np.random.default_rng(people), 0
    for _ in range(500):
        before, after = draw.multivariate_normal([0, 0.8], [[1, 0.6], [0.6, 1]], people).T
        low, high = average_g(before, after).interval
        held += low <= 0.8 <= high
    assert stats.binom.ppf(0.001, 500, 0.94) <= held


def test_swaps_keep_their_level_with_skewed_values():
    draw, rejected = np.random.default_rng(5), 0
    for _ in range(300):
        baselines = draw.exponential(1, 8)
        before, after = baselines + draw.exponential(1, 8), baselines + draw.exponential(1, 8)
        rejected += sign_flip_test(before, after, rng=draw).p <= 0.05
    assert rejected <= stats.binom.ppf(0.999, 300, 0.05)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([1.0, np.nan], [np.nan, 2.0], "at least 2 participants need a defined value in both"),
        ([], [], "at least 2 participants need a defined value in both"),
    ],
)
def test_too_few(first, second, reason):
    for method in (superiority_within, ratio_within, paired_difference):
        assert reason in method(first, second).reason
    assert reason in sign_flip_test(first, second, rng=rng()).reason
    assert "at least 3 participants" in average_g(first, second).reason


def test_degenerate_and_malformed():
    assert sign_flip_test(A, A, rng=rng()).reason == "no participant's value changes"
    same = [a + 1 for a in A]
    assert "by the same amount" in paired_difference(A, same).reason
    assert equivalence(A, same, (-3, 3), paired=True).equivalent is None
    assert "do not vary within either condition" in average_g([1.0] * 5, [1.0] * 5).reason
    with pytest.raises(ValueError, match="one value per participant"):
        sign_flip_test([1, 2], [1, 2, 3], rng=rng())
    with pytest.raises(ValueError, match="infinite"):
        paired_difference([1, np.inf], [1, 2])
    with pytest.raises(ValueError, match="at least 1"):
        sign_flip_test(A, B, rng=rng(), permutations=0)
