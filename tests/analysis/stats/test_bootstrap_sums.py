"""Statistics of sums over units: values, one bootstrap for all, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.arrays import ratio
from analysis.stats.bootstrap_sums import Tally, mean_tally, quantities


def share(sums):
    return ratio(sums[..., 0], sums[..., 1])


def test_it_works():
    values = np.array([1.0, 2.0, np.nan, 6.0])
    found = quantities({"mean": mean_tally(values)}, rng=np.random.default_rng(1), resamples=300)["mean"]
    assert (found.value, found.n, found.replicates.shape) == (3, 3, (300,))
    assert found.interval.low < 3 < found.interval.high


def test_the_interval_is_the_one_of_scipy():
    values = np.random.default_rng(1).lognormal(size=60)
    found = quantities({0: mean_tally(values)}, rng=np.random.default_rng(2), resamples=20_000)[0].interval
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(3)
    ).confidence_interval
    assert found.bounds == pytest.approx((expected.low, expected.high), rel=0.02)
    assert found.method == "bca"


def test_statistics_share_their_resamples():
    rng = np.random.default_rng(1)
    sums = rng.random((20, 2))
    tallies = {"a": Tally(sums, share, 20, ""), "b": Tally(sums * [2, 1], share, 20, "")}
    found = quantities(tallies, rng=rng, resamples=50)
    assert found["b"].replicates == pytest.approx(2 * found["a"].replicates)


def test_a_large_bootstrap_is_drawn_in_parts():
    wide = {place: mean_tally(np.arange(700.0)) for place in range(3)}
    found = quantities(wide, rng=np.random.default_rng(1), resamples=1000)
    assert not np.isnan(found[0].replicates).any()
    assert found[0].replicates.std() == pytest.approx(700 / np.sqrt(12 * 700), rel=0.1)


def test_undefined_with_a_reason():
    tallies = {
        "none": Tally(np.zeros((3, 2)), share, 0, "nobody drew a box"),
        "some": mean_tally([1.0, 2, 3]),
    }
    found = quantities(tallies, rng=np.random.default_rng(1), resamples=20)
    assert (found["none"].value, found["none"].interval, found["none"].reason) == (
        None,
        None,
        "nobody drew a box",
    )
    assert found["some"].reason == ""
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
    """Means of scores of 60 examples, half of them 0 or 1; the simulation's standard error is 1.1 points."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        scores = np.where(rng.random(60) < 0.5, rng.random(60) < 0.4, rng.beta(2, 4, 60))
        low, high = quantities({0: mean_tally(scores)}, rng=rng, resamples=400)[0].interval.bounds
        held += low <= 0.5 * 0.4 + 0.5 * 2 / 6 <= high
    assert 0.91 <= held / 400 <= 0.98
