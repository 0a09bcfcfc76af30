"""Bootstrap weights and percentile intervals."""

import numpy as np
import pytest

from analysis import resampling
from analysis.resampling import percentile_interval, resample


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
    monkeypatch.setattr(resampling, "CELLS_PER_CHUNK", 1000)
    sizes = [c.replicates for c in resample(np.random.default_rng(1), [100], items=5, replicates=25)]
    assert sizes == [10, 10, 5]


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
