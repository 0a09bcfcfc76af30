"""Paired permutation test: exact cases, level, symmetry, other statistics."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from analysis.faithfulness.boxes import score_boxes
from analysis.faithfulness.compare import permutation_test
from analysis.stats.bootstrap_sums import Tally, mean_tally
from tests.analysis.faithfulness.brute import random_case


def compare(first, second, trials=2000, seed=1):
    return permutation_test(
        mean_tally(first), mean_tally(second), trials=trials, rng=np.random.default_rng(seed)
    )


def exact_p(first, second, statistic=np.mean):
    """Return the share of swaps whose difference is at least as large."""
    pair = np.stack([first, second])
    observed = abs(statistic(pair[0]) - statistic(pair[1]))
    count = 0
    for swap in product((0, 1), repeat=len(first)):
        left, right = np.where(np.array(swap), pair[::-1], pair)
        count += abs(statistic(left) - statistic(right)) >= observed - 1e-12
    return count / 2 ** len(first)


def test_it_works():
    first, second = [0.9, 0.8, 0.7, 0.9, 0.6, 0.8], [0.5, 0.6, 0.1, 0.2, 0.5, 0.7]
    comparison = compare(first, second, trials=50_000)
    assert comparison.difference == pytest.approx(np.mean(first) - np.mean(second))
    assert comparison.p == pytest.approx(exact_p(first, second), abs=0.003)
    assert exact_p(first, second) == 2 / 64
    assert (comparison.n, comparison.trials, comparison.p) == (
        6,
        50_000,
        (comparison.as_extreme + 1) / 50_001,
    )


def test_agrees_with_scipy():
    rng = np.random.default_rng(4)
    first, second = rng.random((2, 10))
    expected = stats.permutation_test(
        (first, second), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples", n_resamples=np.inf
    )
    assert compare(first, second, trials=100_000).p == pytest.approx(expected.pvalue, abs=0.006)


def test_two_sided_and_symmetric():
    first, second = np.random.default_rng(2).random((2, 40))
    forward, backward = compare(first, second + 0.1), compare(second + 0.1, first)
    assert forward.difference == -backward.difference
    assert forward.p == backward.p < 1  # the released script gives 1 to whichever is worse


def test_p_is_never_0_and_1_for_the_same_scores():
    scores = np.arange(30.0)
    assert compare(scores, scores).p == 1
    assert compare(scores + 5, scores, trials=500).p == 1 / 501


def test_a_tie_counts_in_spite_of_rounding():
    first = np.array([0.1, 0.2, 0.3, 0.7])
    second = first[::-1] + 0.1
    assert compare(first, second, trials=40_000).p == pytest.approx(exact_p(first, second), abs=0.01)


def test_p_is_uniform_under_the_null():
    rng = np.random.default_rng(5)
    ps = [compare(*rng.random((2, 25)), trials=199, seed=rng.integers(2**32)).p for _ in range(400)]
    assert stats.kstest(ps, "uniform").pvalue > 0.01
    assert np.mean(np.array(ps) <= 0.05) == pytest.approx(0.05, abs=0.03)


def test_any_function_of_sums_may_be_compared():
    rng = np.random.default_rng(6)
    first, second = rng.integers(0, 5, (2, 8, 3)).astype(float)

    def formula(sums):
        return sums[..., 0] / (1 + sums[..., 1] + sums[..., 2])

    comparison = permutation_test(
        Tally(first, formula, 8, ""), Tally(second, formula, 8, ""), trials=40_000, rng=rng
    )
    assert comparison.p == pytest.approx(exact_p_of(first, second, formula), abs=0.01)


def exact_p_of(first, second, formula):
    observed = abs(formula(first.sum(0)) - formula(second.sum(0)))
    count = 0
    for swap in product((False, True), repeat=len(first)):
        chosen = np.array(swap)[:, None]
        left, right = np.where(chosen, second, first), np.where(chosen, first, second)
        count += abs(formula(left.sum(0)) - formula(right.sum(0))) >= observed - 1e-12
    return count / 2 ** len(first)


@pytest.mark.parametrize("averaging", ["per_example", "cumulative", "per_occurrence", "negative_iou"])
def test_systems_of_boxes(averaging):
    gold, outputs = random_case(7, 60)
    better = [
        type(output)(
            output.id,
            output.proposals,
            tuple(type(node)(node.index, node.module, node.probabilities**0.2) for node in output.modules),
        )
        for output in outputs
    ]
    first, same, second = (
        score_boxes(gold, system).tallies(averaging)["find"] for system in (outputs, outputs, better)
    )
    rng = np.random.default_rng(1)
    assert permutation_test(first, same, trials=200, rng=rng).p == 1
    comparison = permutation_test(first, second, trials=500, rng=rng)
    assert comparison.difference == pytest.approx(first.value - second.value)
    assert 0 < comparison.p <= 1


def test_what_cannot_be_compared():
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="same examples"):
        permutation_test(mean_tally([1.0]), mean_tally([1.0, 2.0]), rng=rng)
    with pytest.raises(ValueError, match="trials must be at least 1"):
        permutation_test(mean_tally([1.0]), mean_tally([1.0]), rng=rng, trials=0)
    with pytest.raises(ValueError, match="second has no score: no unit has a value"):
        permutation_test(mean_tally([1.0]), mean_tally([np.nan]), rng=rng)
