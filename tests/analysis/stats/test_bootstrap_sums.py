"""Statistics of sums over units share one bootstrap.

Intervals are those of scipy and hold the truth; units that do not match raise an error.
"""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.arrays import ratio
from analysis.stats.bootstrap_sums import Tally, mean_tally, quantities


def share(sums):
    return ratio(sums[..., 0], sums[..., 1])


def test_it_works():
    values = np.array([1.0, 2.0, np.nan, 6.0])
    mean = quantities({"mean": mean_tally(values)}, rng=np.random.default_rng(1), resamples=300)["mean"]
    assert (mean.value, mean.n, mean.replicates.shape) == (3, 3, (300,))
    assert mean.interval.low < 3 < mean.interval.high


def test_the_interval_is_the_one_of_scipy():
    values = np.random.default_rng(1).lognormal(size=60)
    interval = quantities({0: mean_tally(values)}, rng=np.random.default_rng(2), resamples=20_000)[0].interval
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(3)
    ).confidence_interval
    assert interval.bounds == pytest.approx((expected.low, expected.high), rel=0.02)
    assert interval.method == "bca"


def test_statistics_share_their_resamples():
    rng = np.random.default_rng(1)
    sums = rng.random((20, 2))
    tallies = {"a": Tally(sums, share, 20, ""), "b": Tally(sums * [2, 1], share, 20, "")}
    statistics = quantities(tallies, rng=rng, resamples=50)
    assert statistics["b"].replicates == pytest.approx(2 * statistics["a"].replicates)


def test_a_large_bootstrap_is_drawn_in_parts():
    wide = {index: mean_tally(np.arange(700.0)) for index in range(3)}
    means = quantities(wide, rng=np.random.default_rng(1), resamples=1000)
    assert not np.isnan(means[0].replicates).any()
    assert means[0].replicates.std() == pytest.approx(700 / np.sqrt(12 * 700), rel=0.1)


def test_undefined_with_a_reason():
    tallies = {
        "none": Tally(np.zeros((3, 2)), share, 0, "nobody drew a box"),
        "some": mean_tally([1.0, 2, 3]),
    }
    statistics = quantities(tallies, rng=np.random.default_rng(1), resamples=20)
    assert (statistics["none"].value, statistics["none"].interval, statistics["none"].reason) == (
        None,
        None,
        "nobody drew a box",
    )
    assert statistics["some"].reason == ""
    assert (
        quantities({"one": mean_tally([1.0])}, rng=np.random.default_rng(1), resamples=9)["one"].interval
        is None
    )
    assert quantities({}) == {}
    assert quantities({"some": mean_tally([1.0, 2.0])})["some"].interval is None


def test_what_is_refused():
    with pytest.raises(ValueError, match="over the same units"):
        quantities({1: mean_tally([1.0]), 2: mean_tally([1.0, 2.0])})
    with pytest.raises(ValueError, match="with an rng"):
        quantities({1: mean_tally([1.0])}, resamples=5)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Intervals of the mean score of 60 examples hold the truth.

    Half of the scores are 0 or 1; the simulation's standard error is 1.1 points.
    """
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        scores = np.where(rng.random(60) < 0.5, rng.random(60) < 0.4, rng.beta(2, 4, 60))
        low, high = quantities({0: mean_tally(scores)}, rng=rng, resamples=400)[0].interval.bounds
        held += low <= 0.5 * 0.4 + 0.5 * 2 / 6 <= high
    assert 0.91 <= held / 400 <= 0.98
