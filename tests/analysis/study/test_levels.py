"""Coverage and type-I error over crossed participants and items.

The tests cover what no other test simulates. They are a quick version of what
``python -m benchmarks.statistics.coverage`` measures at length: few studies of one size.
Bounds are those of chance around what the benchmark found.
"""

import numpy as np
import pytest
from scipy import stats

from benchmarks.statistics._crossed_studies import Size, format_rows, is_bar_missed
from benchmarks.statistics._levels import DISAGREE, MOST_MIXED, estimate_levels
from benchmarks.statistics._levels import STUDIES as KINDS
from benchmarks.statistics.coverage import (
    estimate_calibrations,
    estimate_correlations,
    estimate_coverage,
    estimate_differences,
    estimate_learning_curves,
    estimate_measures,
    estimate_truths,
    reject,
)

SIZE = Size(10, 12)
STUDIES = 60


@pytest.mark.parametrize(
    "study",
    [
        estimate_measures,
        estimate_differences,
        estimate_calibrations,
        estimate_learning_curves,
        estimate_correlations,
    ],
)
def test_intervals_hold_the_truth(study):
    truth = estimate_truths(study, SIZE, 60)
    for rate in estimate_coverage(study, SIZE, STUDIES, truth=truth, resamples=300):
        assert rate.undefined <= STUDIES / 4, rate
        assert rate.hits >= stats.binom.ppf(0.001, rate.studies, 0.91), rate


def test_tests_reject_no_more_often_than_they_say():
    for rate in reject(SIZE, 40):
        assert rate.undefined <= 8, rate
        assert rate.hits <= stats.binom.ppf(0.999, rate.studies, 0.07), rate


@pytest.mark.parametrize("kind", list(KINDS))
def test_tests_of_conditions_keep_their_level_for_both_targets(kind, tmp_path):
    """Tests keep their level at the size of Schuff et al. (2020).

    Intervals and p agree in every row. The store keeps finished batches.
    """
    store, studies = tmp_path / "batches.jsonl", 6 if kind == "mixed" else 20
    rates = estimate_levels(kind, [Size(8, 10)], studies, store=store)
    for rate in rates:
        highest = 0.0 if rate.label == DISAGREE else MOST_MIXED
        assert rate.undefined <= studies / 4, rate
        assert rate.hits <= stats.binom.ppf(0.9995, studies, highest), rate
    stored = store.read_text()
    assert estimate_levels(kind, [Size(8, 10)], studies, store=store) == rates
    assert store.read_text() == stored


def test_the_simulation_can_fail():
    """Intervals around another truth do not pass.

    Figures in bold in the table are below their bar.
    """
    wrong = {"measure: agreement": 0.95}
    [rate] = estimate_coverage(estimate_measures, SIZE, STUDIES, truth=wrong, resamples=100)
    assert rate.hits < stats.binom.ppf(0.001, rate.studies, 0.93)
    assert any("**" in line for line in format_rows([rate], interval=True))
    assert is_bar_missed(rate, interval=True)
    low, high = rate.bounds
    assert 0 <= low <= rate.share <= high <= 1
    assert np.isfinite(rate.share)
