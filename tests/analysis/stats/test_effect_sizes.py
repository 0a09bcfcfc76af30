"""Effect sizes agree with R and scipy; their intervals cover the truth.

Coverage is simulated. Another unit or order of participants changes nothing, and effects that are
undefined have a reason.
"""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import numpy as np
import pytest
from scipy import stats

from analysis.stats.effect_sizes import (
    cliffs_delta,
    hedges_g,
    probability_of_superiority,
    ratio_of_geometric_means,
    welch_difference,
)

A = [41.2, 55.1, 38.7, 62.3, 49.9, 71.0, 44.4, 58.6]
B = [61.5, 48.8, 80.2, 75.4, 66.1, 59.7, 90.3]
# R 4.2.2:
# a <- c(41.2,55.1,38.7,62.3,49.9,71.0,44.4,58.6); b <- c(61.5,48.8,80.2,75.4,66.1,59.7,90.3); f <- 13
# s <- sqrt((7 * var(a) + 6 * var(b)) / f); d <- (mean(b) - mean(a)) / s
# gamma(f/2) / (sqrt(f/2) * gamma((f-1)/2)) * d                                           # 1.213950349
# k <- sqrt(1/8 + 1/7)
# k * uniroot(function(x) pt(d/k, f, x) - .975, c(-10, 20), tol = 1e-12)$root             # 0.143265881
# k * uniroot(function(x) pt(d/k, f, x) - .025, c(-10, 20), tol = 1e-12)$root             # 2.397083944
# t.test(b, a)                  # t = 2.452912771, p = 0.0312529563, 1.73808937775 to 30.67619633654
# exp(t.test(log(b), log(a))$conf.int)                                 # 1.03637974222 to 1.65561920612
# m <- sign(outer(b, a, "-")); mean(m)                                                    # 0.6428571429
# x <- (64 * sum((rowMeans(m) - mean(m))^2) + 49 * sum((colMeans(m) - mean(m))^2) - sum((m - mean(m))^2))
# x / (8 * 7 * 7 * 6)                                                                     # 0.04591836735


def test_hedges_g():
    g = hedges_g(A, B)
    assert g.estimate == pytest.approx(1.213950349386)
    assert g.interval == pytest.approx((0.143265881025, 2.397083944182))
    assert g.n == (8, 7)
    assert "normal" in " ".join(g.assumptions)


def test_welch():
    difference = welch_difference(A, B)
    assert difference.estimate == pytest.approx(np.mean(B) - np.mean(A))
    assert difference.p == pytest.approx(0.0312529563)
    assert difference.interval == pytest.approx((1.73808937775, 30.67619633654))
    assert welch_difference(A, B, level=0.9).interval == pytest.approx((4.38622822627, 28.02805748801))


def test_ratio():
    ratio = ratio_of_geometric_means(A, B)
    assert ratio.estimate == pytest.approx(1.30990465533)
    assert ratio.interval == pytest.approx((1.03637974222, 1.65561920612))


def test_cliffs_delta():
    delta = cliffs_delta(A, B)
    assert delta.estimate == pytest.approx(0.6428571428571)
    assert delta.interval == pytest.approx((0.0389494999409, 0.9027873416047))


def test_superiority_is_what_the_rank_test_counts():
    rng = np.random.default_rng(1)
    first, second = rng.integers(1, 6, 30), rng.integers(2, 6, 20)  # with ties
    superiority = probability_of_superiority(first, second)
    u = stats.mannwhitneyu(second, first).statistic
    assert superiority.estimate == pytest.approx(u / 600)
    assert superiority.interval[0] < superiority.estimate < superiority.interval[1]


def test_delta_of_all_pairs():
    """Rank arithmetic against the matrix of all pairs, with ties."""
    rng = np.random.default_rng(2)
    first, second = rng.integers(1, 6, 17), rng.integers(1, 6, 13)
    signs = np.sign(second[:, None] - first[None])
    delta = signs.mean()
    rows, columns = signs.mean(axis=1), signs.mean(axis=0)
    variance = (
        17**2 * ((rows - delta) ** 2).sum()
        + 13**2 * ((columns - delta) ** 2).sum()
        - ((signs - delta) ** 2).sum()
    ) / (17 * 13 * 16 * 12)
    t = stats.t.ppf(0.975, 28)
    half = t * np.sqrt(variance) * np.sqrt((1 - delta**2) ** 2 + t**2 * variance)
    bounds = (delta - delta**3 + np.array([-half, half])) / (1 - delta**2 + t**2 * variance)
    finding = cliffs_delta(first, second)
    assert finding.estimate == pytest.approx(delta)
    assert finding.interval == pytest.approx(tuple(bounds))


@pytest.mark.parametrize(
    ("effect", "truth", "exact"),
    [
        (hedges_g, 0.8, True),
        (welch_difference, 0.8, True),
        (cliffs_delta, 2 * stats.norm.cdf(0.8 / np.sqrt(2)) - 1, False),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(effect, truth, exact):
    """Intervals of 15 against 15 normal values cover the true effect.

    It is d = 0.8. Feng and Cliff's interval is approximate: 93 to 97 % will do.
    """
    rng, studies = np.random.default_rng(3), 400
    covered = 0
    for _ in range(studies):
        low, high = effect(rng.normal(0, 1, 15), rng.normal(0.8, 1, 15)).interval
        covered += low <= truth <= high
    lowest, highest = (0.95, 0.95) if exact else (0.93, 0.97)
    assert stats.binom.ppf(0.005, studies, lowest) <= covered <= stats.binom.ppf(0.995, studies, highest)


def test_the_ratio_covers_under_unlike_spreads():
    rng, studies, covered = np.random.default_rng(4), 400, 0
    for _ in range(studies):
        first, second = rng.lognormal(4, 0.2, 10), rng.lognormal(4 + np.log(1.5), 0.7, 20)
        low, high = ratio_of_geometric_means(first, second).interval
        covered += low <= 1.5 <= high
    assert stats.binom.ppf(0.005, studies, 0.94) <= covered <= stats.binom.ppf(0.995, studies, 0.96)


@pytest.mark.parametrize("effect", [hedges_g, cliffs_delta, welch_difference])
def test_swapping_the_conditions_flips_the_sign(effect):
    there, back = effect(A, B), effect(B, A)
    assert back.estimate == pytest.approx(-there.estimate)
    assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]), rel=1e-6)


def test_swapping_inverts_the_ratio():
    there, back = ratio_of_geometric_means(A, B), ratio_of_geometric_means(B, A)
    assert back.estimate == pytest.approx(1 / there.estimate)
    assert back.interval == pytest.approx((1 / there.interval[1], 1 / there.interval[0]))


@pytest.mark.parametrize("effect", [hedges_g, cliffs_delta, ratio_of_geometric_means])
def test_another_unit_and_another_order_change_nothing(effect):
    base = effect(A, B)
    changed = effect(1000 * np.array(A[::-1]), 1000 * np.array(B[::-1]))
    assert changed.estimate == pytest.approx(base.estimate)
    assert changed.interval == pytest.approx(base.interval, rel=1e-6)


def test_undefined_values_are_left_out():
    g = hedges_g([*A, np.nan], [np.nan, *B])
    assert g == hedges_g(A, B)


@pytest.mark.parametrize("effect", [hedges_g, cliffs_delta, ratio_of_geometric_means, welch_difference])
def test_too_few_participants_are_refused(effect):
    finding = effect([1.0, np.nan], [2.0, 3.0, 4.0])
    assert (finding.estimate, finding.interval, finding.p) == (None, None, None)
    assert finding.reason == (
        "each condition needs at least 2 participants with a defined value; there are 1 and 3"
    )


@pytest.mark.parametrize("effect", [hedges_g, ratio_of_geometric_means, welch_difference])
def test_values_without_spread_are_refused(effect):
    finding = effect([0.7, 0.7, 0.7], [0.9, 0.9])
    assert (finding.estimate, finding.interval) == (None, None)
    assert "do not vary within either condition" in finding.reason


def test_delta_without_overlap_has_no_interval():
    delta = cliffs_delta([1, 2, 3], [4, 5, 6])
    assert (delta.estimate, delta.interval) == (1.0, None)
    assert "no value of one condition reaches the other's" in delta.reason
    assert cliffs_delta([2, 2], [2, 2]).reason == "every participant has the same value"


def test_an_effect_beyond_reach_is_refused_and_p_is_never_zero():
    first = np.linspace(0, 1e-7, 5)
    g = hedges_g(first, first + 1e6)
    assert g.interval is None
    assert "out of reach" in g.reason
    assert welch_difference(first, first + 1e6).p > 0


def test_malformed_input():
    with pytest.raises(ValueError, match="first must have one value per participant"):
        hedges_g([[1, 2]], [1, 2])
    with pytest.raises(ValueError, match="second holds an infinite value"):
        cliffs_delta([1, 2], [1, np.inf])
    with pytest.raises(ValueError, match="first holds a value that is not positive"):
        ratio_of_geometric_means([0, 1], [1, 2])
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        hedges_g(A, B, level=95)
