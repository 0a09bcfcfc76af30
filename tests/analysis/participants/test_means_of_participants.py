"""Any statistic is averaged over participants.

Means and slopes weight the items. Undefined ones are counted; malformed input raises an error.
"""

import numpy as np
import pytest

from analysis.participants.means_of_participants import (
    EVERYBODY,
    NO_VALUE,
    Part,
    build_mean_statistic,
    build_slope_statistic,
    participant_means,
)

NO = np.nan
ALL = slice(None)


def part(condition, values):
    people, items = values.shape
    return Part(
        condition, people, items, lambda weights, rows: {"mean": build_mean_statistic(values)(weights, rows)}
    )


def test_it_works():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, (8, 6)), rng.normal(3, 1, (24, 6))
    means = participant_means([part("one", first), part("two", second)], rng=rng, resamples=300)
    assert means.get("mean", "one").value == pytest.approx(first.mean())
    assert means.get("mean").value == pytest.approx(np.concatenate([first, second]).mean())
    assert means.get("mean", EVERYBODY).participants == 32
    low, high = means.get("mean", "two").interval
    assert low < 3 < high
    assert means.replicates["mean", "two"].shape == (300,)


def test_whole_weights_are_repeated_items():
    rng = np.random.default_rng(2)
    x, y = rng.integers(1, 6, (5, 7)).astype(float), rng.normal(0, 1, (5, 7))
    y[0, 3] = x[1, 2] = NO
    weights = np.array([3, 0, 1, 2, 0, 1, 4])
    slopes, means = (
        build_slope_statistic(x, y)(weights[:, None], ALL)[:, 0],
        build_mean_statistic(y)(weights[:, None], ALL)[:, 0],
    )
    for row in range(5):
        u, v = np.repeat(x[row], weights), np.repeat(y[row], weights)
        both = ~np.isnan(u) & ~np.isnan(v)
        assert slopes[row] == pytest.approx(np.polyfit(u[both], v[both], 1)[0])
        assert means[row] == pytest.approx(np.nanmean(v))


def test_a_slope_without_spread_is_undefined():
    x = np.array([[1e6 + 0.1] * 4, [1, NO, NO, NO], [NO] * 4, [1, 2, 1, 2]])
    assert np.isnan(build_slope_statistic(x, np.ones((4, 4)))(np.ones((4, 1)), ALL)[:, 0]).tolist() == [
        True
    ] * 3 + [False]


def test_blocks_of_participants_change_nothing(monkeypatch):
    values = np.random.default_rng(3).normal(0, 1, (23, 6))
    values[4], values[7, :3] = NO, NO
    parts = [part("one", values[:9]), part("two", values[9:])]
    whole = participant_means(parts, rng=np.random.default_rng(4), resamples=40)
    monkeypatch.setattr("analysis.stats.bootstrap.CELLS_PER_CHUNK", 160)  # four participants at once
    blocks = participant_means(parts, rng=np.random.default_rng(4), resamples=40)
    for key, replicates in whole.replicates.items():
        assert blocks.replicates[key] == pytest.approx(replicates, nan_ok=True)


def test_undefined_participants_are_counted():
    values = np.array([[1.0, 2.0], [NO, NO], [NO, 5.0]])
    mean = participant_means([part("a", values)], rng=np.random.default_rng(1), resamples=0).get("mean", "a")
    assert (mean.value, mean.participants, mean.undefined, mean.interval) == (3.25, 2, 1, None)
    nobody = participant_means(
        [part("a", np.full((3, 2), NO))], rng=np.random.default_rng(1), resamples=20
    ).get("mean")
    assert (nobody.value, nobody.participants, nobody.undefined, nobody.reason) == (None, 0, 3, NO_VALUE)


def test_one_participant_has_no_interval():
    means = participant_means([part("a", np.ones((1, 3)))], rng=np.random.default_rng(1), resamples=20)
    assert means.get("mean").interval is None


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "at least one"),
        ([part("a", np.ones((2, 2))), part("a", np.ones((2, 2)))], "all different"),
        ([part("", np.ones((2, 2)))], "all different"),
        ([part("a", np.ones((2, 2))), part("b", np.ones((2, 3)))], "same items"),
    ],
)
def test_malformed_input_is_named(parts, words):
    with pytest.raises(ValueError, match=words):
        participant_means(parts, rng=np.random.default_rng(1), resamples=2)
    with pytest.raises(ValueError, match="resamples must be at least 0"):
        participant_means([part("a", np.ones((2, 2)))], rng=np.random.default_rng(1), resamples=-1)
