"""Permutation of participants: exact values, type-I error, and p never 0."""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from analysis.stats.permutation import compute_smallest_p, permutation_test


def test_it_works():
    finding = permutation_test([1, 2, 3], [4, 5, 6], rng=np.random.default_rng(1))
    assert finding.p == pytest.approx(2 / 20)
    assert finding.p == compute_smallest_p(3, 3)
    assert finding.estimate == 3
    assert finding.method == "permutation of participants, all splits, Welch's t"
    assert compute_smallest_p(3, 4) == pytest.approx(1 / 35)


def test_all_splits_as_scipy_and_as_by_hand():
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 1, 6), rng.normal(0.7, 2, 5)

    def t(x, y, axis=-1):
        return stats.ttest_ind(y, x, equal_var=False, axis=axis).statistic

    values, observed, extreme = np.concatenate([first, second]), abs(t(first, second)), 0
    for chosen in combinations(range(11), 5):
        rest = [i for i in range(11) if i not in chosen]
        extreme += abs(t(values[rest], values[list(chosen)])) >= observed - 1e-9
    finding = permutation_test(first, second, rng=rng)
    assert finding.p == pytest.approx(extreme / 462)
    reference = stats.permutation_test((first, second), t, n_resamples=np.inf, vectorized=True)
    # scipy doubles the smaller tail; that is another two-sided p, of the same size here.
    assert finding.p == pytest.approx(reference.pvalue, rel=0.35)


def test_random_splits_approach_all_of_them(monkeypatch):
    rng = np.random.default_rng(3)
    first, second = rng.normal(0, 1, 8), rng.normal(0.8, 1, 8)
    exact = permutation_test(first, second, rng=rng).p
    monkeypatch.setattr("analysis.stats.permutation.MOST_FOR_ENUMERATION", 10)
    monkeypatch.setattr("analysis.stats.permutation.CELLS_PER_CHUNK", 5000)
    sampled = permutation_test(first, second, rng=rng, permutations=9_999)
    assert "9999 random splits" in sampled.method
    assert sampled.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9_999))


def test_p_is_never_zero():
    rng = np.random.default_rng(4)
    finding = permutation_test(rng.normal(0, 1, 30), rng.normal(50, 1, 30), rng=rng, permutations=99)
    assert finding.p == 1 / 100


@pytest.mark.parametrize(("sizes", "spreads"), [((7, 7), (1, 1)), ((12, 12), (1, 1)), ((20, 10), (1, 3))])
def test_type_one_error(sizes, spreads):
    """At most 5 % of 400 studies without a difference are rejected.

    This holds but for chance; the last case has unlike spreads.
    """
    rng, studies, rejected = np.random.default_rng(5), 400, 0
    for _ in range(studies):
        first, second = (rng.normal(0, s, n) for s, n in zip(spreads, sizes, strict=True))
        rejected += permutation_test(first, second, rng=rng, permutations=199).p <= 0.05
    highest = 0.05 if spreads[0] == spreads[1] else 0.06
    assert stats.binom.ppf(0.005, studies, 0.04) <= rejected <= stats.binom.ppf(0.995, studies, highest)


def test_clustered_trials_keep_the_level():
    """Clustering of trials does no harm, because the test is one of means.

    The ratings are those of crossed people and items.
    """
    rng, studies, rejected = np.random.default_rng(6), 400, 0
    for _ in range(studies):
        logits = 1 + rng.normal(0, 1, (14, 1)) + rng.normal(0, 1, (1, 25))
        means = (rng.random((14, 25)) < 1 / (1 + np.exp(-logits))).mean(axis=1)
        rejected += permutation_test(means[:7], means[7:], rng=rng).p <= 0.05
    assert stats.binom.ppf(0.005, studies, 0.04) <= rejected <= stats.binom.ppf(0.995, studies, 0.05)


def test_metamorphic():
    rng = np.random.default_rng(7)
    first, second = rng.integers(0, 9, 7).astype(float), rng.integers(2, 9, 8).astype(float)
    base = permutation_test(first, second, rng=rng)
    assert permutation_test(second, first, rng=rng).p == base.p
    assert permutation_test(second, first, rng=rng).estimate == -base.estimate
    assert permutation_test(first[::-1], second[::-1], rng=rng).p == base.p
    assert permutation_test(5 + 100 * first, 5 + 100 * second, rng=rng).p == base.p
    assert permutation_test([*first, np.nan], second, rng=rng).n == base.n


def test_degenerate():
    rng = np.random.default_rng(8)
    assert permutation_test([1, 1], [2, 2], rng=rng).p == pytest.approx(2 / 6)
    assert permutation_test([1, 1, 1], [1, 1], rng=rng).reason == "every participant has the same value"
    refused = permutation_test([1], [2, 3], rng=rng)
    assert (refused.p, refused.estimate) == (None, None)
    assert "at least 2 participants" in refused.reason
    with pytest.raises(ValueError, match="permutations must be at least 1"):
        permutation_test([1, 2], [3, 4], rng=rng, permutations=0)
