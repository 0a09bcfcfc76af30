"""Bootstrap weights and percentile intervals."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats import bootstrap
from analysis.stats.bootstrap import (
    bootstrap_interval,
    leave_one_out_means,
    percentile_interval,
    resample,
    split_into_blocks,
    widen_level,
)


def test_it_works():
    chunks = list(resample(np.random.default_rng(1), [4, 0, 7], items=5, replicates=300))
    assert sum(chunk.replicates for chunk in chunks) == 300
    items = np.hstack([chunk.items for chunk in chunks])
    assert items.shape == (5, 300)
    assert (items.sum(axis=0) == 5).all()
    for size, people in zip((4, 0, 7), zip(*(c.participants for c in chunks), strict=True), strict=True):
        weights = np.hstack(people)
        assert weights.shape == (size, 300)
        assert (weights.sum(axis=0) == size).all()
    assert items.std() == pytest.approx(np.sqrt(0.8), rel=0.1)  # binomial(5, 1/5)


def test_memory_is_bounded_by_chunks(monkeypatch):
    monkeypatch.setattr(bootstrap, "CELLS_PER_CHUNK", 1000)
    monkeypatch.setattr(bootstrap, "LEAST_AT_ONCE", 4)
    sizes = [c.replicates for c in resample(np.random.default_rng(1), [100], items=5, replicates=25)]
    assert sizes == [10, 10, 5]
    sizes = [c.replicates for c in resample(np.random.default_rng(1), [900], items=5, replicates=10)]
    assert sizes == [4, 4, 2]
    assert [(rows.start, rows.stop) for rows in split_into_blocks(900, 4)] == [
        (0, 250), (250, 500), (500, 750), (750, 900),
    ]  # fmt: skip
    assert list(split_into_blocks(0, 4)) == [slice(0, 0)]


def test_percentiles_make_up_for_few_units():
    """Widened percentiles of a mean of five hold the truth; plain ones do not.

    The samples are normal.
    """
    rng, studies = np.random.default_rng(3), 600
    wide, held, plain = widen_level(0.95, 5), 0, 0
    for _ in range(studies):
        values = rng.normal(size=5)
        means = values[rng.integers(0, 5, (1000, 5))].mean(axis=1)
        for level in (wide, 0.95):
            low, high = percentile_interval(means, level)
            if level == wide:
                held += low <= 0 <= high
            else:
                plain += low <= 0 <= high
    assert held >= stats.binom.ppf(0.005, studies, 0.93)
    assert plain <= stats.binom.ppf(0.995, studies, 0.86)
    assert widen_level(0.95, 2) < 1


def test_percentiles_make_up_for_few_units_in_two_samples():
    """The difference of the means of two normal samples of four."""
    rng, studies = np.random.default_rng(4), 600
    held = {widen_level(0.95, 4, 4): 0, 0.95: 0}
    for _ in range(studies):
        first, second = rng.normal(size=(2, 4))
        differences = second[rng.integers(0, 4, (1000, 4))].mean(axis=1)
        differences -= first[rng.integers(0, 4, (1000, 4))].mean(axis=1)
        for level in held:
            low, high = percentile_interval(differences, level)
            held[level] += low <= 0 <= high
    wide, plain = held.values()
    assert wide >= stats.binom.ppf(0.005, studies, 0.95)
    assert plain <= stats.binom.ppf(0.995, studies, 0.88)


def test_no_items_is_an_error():
    with pytest.raises(ValueError, match="items must be at least 1"):
        next(resample(np.random.default_rng(1), [3], items=0, replicates=1))


def test_percentile_interval():
    values = np.arange(1001.0)
    assert percentile_interval(values) == pytest.approx((25, 975))
    values[:50] = np.nan
    assert percentile_interval(values) is not None
    values[:60] = np.nan
    assert percentile_interval(values) is None
    assert percentile_interval(np.array([])) is None


def draw_skewed_values(seed=1, size=25):
    return np.random.default_rng(seed).lognormal(0, 1, size)


def test_bca_as_scipy():
    """One sample: the same replicates give scipy's BCa interval."""
    values = draw_skewed_values()
    reference = stats.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=2000, rng=np.random.default_rng(2), axis=-1
    )
    interval = bootstrap_interval(
        reference.bootstrap_distribution, values.mean(), [leave_one_out_means(values)], method="bca"
    )
    expected = reference.confidence_interval
    assert (interval.method, interval.reason) == ("bca", "")
    assert interval.bounds == pytest.approx((expected.low, expected.high))


def test_bca_of_two_samples_as_scipy():
    first, second = draw_skewed_values(1, 12), draw_skewed_values(2, 30)

    def statistic(x, y, axis=-1):
        return np.mean(y, axis=axis) - np.mean(x, axis=axis)

    reference = stats.bootstrap(
        (first, second), statistic, method="BCa", n_resamples=2000, rng=np.random.default_rng(3)
    )
    left_out = [second.mean() - leave_one_out_means(first), leave_one_out_means(second) - first.mean()]
    interval = bootstrap_interval(reference.bootstrap_distribution, second.mean() - first.mean(), left_out)
    assert interval.bounds == pytest.approx(tuple(reference.confidence_interval))


def test_bca_covers_a_skewed_mean_better():
    """BCa shifts the percentile interval to where the long tail is.

    The mean is that of 20 lognormal values.
    """
    rng, studies = np.random.default_rng(4), 300
    covered = {"percentile": 0, "bca": 0}
    for _ in range(studies):
        values = rng.lognormal(0, 1, 20)
        draws = values[rng.integers(0, 20, (500, 20))].mean(axis=1)
        for method in covered:
            interval = bootstrap_interval(draws, values.mean(), [leave_one_out_means(values)], method=method)
            covered[method] += interval.low <= np.exp(0.5) <= interval.high
    assert covered["bca"] > covered["percentile"]
    assert covered["bca"] >= stats.binom.ppf(0.01, studies, 0.85)  # still short with 20 values


def test_where_bca_is_undefined_the_percentile_interval_and_a_reason():
    draws, left_out = np.arange(1000.0), [np.arange(5.0)]
    interval = bootstrap_interval(draws, -1.0, left_out)
    assert interval.method == "percentile"
    assert interval.reason == "BCa is undefined: all bootstrap replicates lie above the estimate"
    assert interval.bounds == percentile_interval(draws)
    assert "lie below" in bootstrap_interval(draws, 1000.0, left_out).reason
    assert "no single participant" in bootstrap_interval(draws, 500.0, [np.ones(5)]).reason
    assert "without some participant" in bootstrap_interval(draws, 500.0, [np.array([1, np.nan])]).reason
    extreme = bootstrap_interval(np.arange(100_000.0), 99_999.0, [np.eye(1, 1000)[0] * -9.0])
    assert "too large" in extreme.reason
    assert bootstrap_interval(draws, 500.0, left_out, method="percentile").reason == ""
    assert bootstrap_interval(np.full(9, np.nan), 1.0, left_out) is None
    with pytest.raises(ValueError, match="level"):
        bootstrap_interval(draws, 1.0, left_out, level=95)


def test_leave_one_out_means():
    assert leave_one_out_means(np.array([1.0, 2, 6])) == pytest.approx([4, 3.5, 1.5])
    assert leave_one_out_means(np.array([1.0, np.nan, 3])) == pytest.approx([3, 2, 1])
    assert np.isnan(leave_one_out_means(np.array([1.0]))).all()
