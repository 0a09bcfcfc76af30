"""Correlations of few systems, against scipy and theory."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from analysis.stats.correlations import COEFFICIENTS, compute_smallest_p, correlate, pearson

REFERENCES = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize("ties", [False, True])
def test_it_agrees_with_scipy(coefficient, n, ties):
    rng = np.random.default_rng(n)
    for _ in range(20 if n < 8 else 4):
        x, y = (rng.integers(0, 3, (2, n)) if ties else rng.normal(size=(2, n))).astype(float)
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        correlation = correlate(x, y, coefficient)
        assert correlation.value == pytest.approx(REFERENCES[coefficient](x, y).statistic, abs=1e-12)
        assert correlation.n == n


def test_no_p_below_six_systems_but_the_smallest_possible_one():
    correlation = correlate([1, 2, 3], [1, 2, 3], "spearman")
    assert (correlation.value, correlation.p, correlation.p_method) == (1, None, "")
    assert correlation.smallest_p == pytest.approx(1 / 3)
    assert compute_smallest_p(3, "pearson") == pytest.approx(1 / 6)
    assert correlate(range(5), range(5), "pearson").p is None


@pytest.mark.parametrize("coefficient", ["spearman", "kendall"])
def test_a_perfect_ranking_of_six_reaches_the_smallest_p(coefficient):
    correlation = correlate(range(6), range(6), coefficient)
    assert correlation.p == pytest.approx(2 / math.factorial(6))
    assert correlation.p_method == "exact"
    assert correlation.p == pytest.approx(correlation.smallest_p)


def test_exact_p_against_scipy_and_by_hand():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 7))
    assert correlate(x, y, "kendall").p == pytest.approx(stats.kendalltau(x, y, method="exact").pvalue)
    observed = abs(np.corrcoef(x, y)[0, 1])
    orders = [
        abs(np.corrcoef(x, y[list(order)])[0, 1]) >= observed - 1e-12 for order in permutations(range(7))
    ]
    assert correlate(x, y, "pearson").p == pytest.approx(np.mean(orders))


def test_sampled_p_is_near_the_exact_one_and_never_zero():
    rng = np.random.default_rng(4)
    x = rng.normal(size=10)
    perfect = correlate(x, x, "pearson", rng=rng)
    assert (perfect.p_method, perfect.p) == ("sampled", 1 / 20_000)
    y = x + rng.normal(size=10) * 2
    correlation = correlate(x, y, "kendall", rng=np.random.default_rng(1))
    exact = stats.kendalltau(x, y, method="exact").pvalue
    assert correlation.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    with pytest.raises(ValueError, match="rng is needed"):
        correlate(x, y, "pearson")


def test_p_is_uniform_enough_under_no_relation():
    """The type-I error at .05 stays within binomial error.

    It is that of 400 draws of 6 unrelated systems.
    """
    rng = np.random.default_rng(5)
    draws = (rng.normal(size=(2, 6)) for _ in range(400))
    below = sum((correlate(x, y, "pearson").p or 1) <= 0.05 for x, y in draws)
    assert below <= stats.binom.ppf(0.999, 400, 0.05)
    assert below >= stats.binom.ppf(0.001, 400, 0.05)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_metamorphic(coefficient):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 6))
    base = correlate(x, y, coefficient)
    assert base.value is not None
    order = rng.permutation(6)
    assert correlate(x[order], y[order], coefficient).value == pytest.approx(base.value)
    assert correlate(3 * x + 7, y, coefficient).value == pytest.approx(base.value)
    assert correlate(-x, y, coefficient).value == pytest.approx(-base.value)
    assert correlate(-x, y, coefficient).p == pytest.approx(base.p)
    assert correlate(y, x, coefficient).p == pytest.approx(base.p)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_two_systems_give_a_sign_and_its_interval_but_no_p(coefficient):
    replicates = np.array([[1.0, 2.0], [3.0, 2.0]] * 50)
    two = correlate([1, 2], [5, 4], coefficient, replicates=replicates)
    assert two.value == pytest.approx(-1)
    assert two.interval == pytest.approx((-1, 1))
    assert two.p is None
    assert two.smallest_p == 1


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_undefined_ones_say_why(coefficient):
    constant = correlate([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], coefficient)
    assert constant.value is None
    assert constant.reason == "the human measure is the same for all systems"
    assert correlate([1, 2, 3], [4, 4, 4], coefficient).reason.startswith("the model score is the same")


def test_the_interval_is_the_range_over_an_ellipsoid_of_the_replicates():
    rng = np.random.default_rng(7)
    human, model = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 2.5, 4.0, 3.0])
    replicates = human + rng.multivariate_normal(np.zeros(4), np.diag([0.2, 0.5, 1.0, 0.3]), 800)
    correlation = correlate(human, model, "pearson", replicates=replicates)
    contrasts = replicates[:, 1:] - replicates[:, :1]  # any three differences span the same plane
    away = contrasts - (human[1:] - human[0])
    inverse = np.linalg.inv(np.cov(contrasts, rowvar=False))
    distances = np.array([row @ inverse @ row for row in away])
    inside = replicates[distances <= np.quantile(distances, 0.95)]
    values = [np.corrcoef(row, model)[0, 1] for row in inside]
    low, high = correlation.interval
    assert low <= min(values)
    assert max(values) <= high
    # No point of the ellipsoid is beyond, and some are as near as many random ones come.
    directions = rng.normal(size=(200_000, 3))
    surface = directions / np.sqrt(np.einsum("ri,ij,rj->r", directions, inverse, directions))[:, None]
    surface = surface * np.sqrt(np.quantile(distances, 0.95)) + (human[1:] - human[0])
    outer = pearson(np.column_stack([np.zeros(len(surface)), surface]), model[None])
    assert low == pytest.approx(outer.min(), abs=0.03)
    assert high == pytest.approx(outer.max(), abs=0.01)
    shifted = correlate(human, model, "pearson", replicates=replicates + rng.normal(size=(800, 1)))
    assert shifted.interval == pytest.approx(correlation.interval)


@pytest.mark.parametrize("truth", [(0.0, 0.55, 0.45, 0.9), (0.5, 0.1, 0.6, 0.4)])
def test_the_interval_keeps_its_level_near_one_and_away_from_it(truth):
    """The interval keeps its level, while percentiles would miss r near 1.

    The spread of the means in the 150 studies is that of few participants.
    """
    rng, studies, model = np.random.default_rng(8), 150, np.array([0.0, 0.6, 0.5, 1.0])
    r = np.corrcoef(truth, model)[0, 1]
    held = percentiles = 0
    for _ in range(studies):
        human = np.array(truth) + rng.normal(0, 0.12, 4)
        replicates = human + rng.normal(0, 0.12, (400, 4))
        low, high = correlate(human, model, "pearson", replicates=replicates).interval
        held += low <= r <= high
        coefficients = pearson(replicates, model[None])
        percentiles += np.quantile(coefficients, 0.025) <= r <= np.quantile(coefficients, 0.975)
    assert held >= stats.binom.ppf(0.005, studies, 0.94)
    if r > 0.99:
        assert percentiles < stats.binom.ppf(0.001, studies, 0.9)


def test_no_interval_where_too_many_replicates_are_undefined():
    replicates = np.array([[1.0, 2.0, 3.0]] * 90 + [[1.0, 1.0, 1.0]] * 10)
    correlation = correlate([1, 2, 3], [1, 2, 3], "pearson", replicates=replicates)
    assert (correlation.value, correlation.interval) == (1, None)


def test_the_direction_probability_is_the_share_of_replicates_above_zero():
    replicates = np.array([[1.0, 2, 3]] * 3 + [[3.0, 2, 1]] * 5 + [[1.0, 2, 1]] * 2)
    assert correlate([1, 2, 3], [1, 2, 3], "pearson", replicates=replicates).positive == pytest.approx(0.3)
    turned = np.repeat([[1.0, 2, 3], [3.0, 2, 1]], 5, axis=0)
    correlation = correlate([1, 2, 3], [1, 2, 3], "kendall", replicates=replicates, model_replicates=turned)
    # The first three, and three of the turned five.
    assert correlation.positive == pytest.approx((3 + 3) / 10)
    assert correlate([1, 2, 3], [1, 2, 3], "pearson").positive is None
