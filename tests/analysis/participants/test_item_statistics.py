"""Measures per item agree with reference values.

Undefined values have a reason. The table of trials gives the measures of the study again.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.participants.bundle import load_bundle
from analysis.participants.exclusion_rules import CLOCK_COLUMNS
from analysis.participants.item_statistics import ITEM_MEASURES, item_measures, trial_table
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study
from tests.analysis.grids import make_grid

NO = np.nan


def by_key(values) -> dict[tuple[str, str], Any]:
    return {(value.measure, value.item): value for value in values}


def test_it_works():
    rated = np.array([[1, 0], [1, 0], [1, 1], [0, NO]])
    correct = np.array([[1, 0], [1, 0], [1, 0], [1, 0]])
    seconds = np.array([[10, 10], [20, 40], [30, NO], [60, 0]])
    measures = by_key(item_measures([make_grid(correctness_rating=rated, correct=correct, seconds=seconds)]))
    assert len(measures) == 2 * len(ITEM_MEASURES)
    assert measures["agreement", "q0000"].value == 0.75
    assert measures["difficulty", "q0000"].value == 0.25
    assert measures["fn", "q0000"].value == 0.25
    assert measures["fp", "q0001"].value == pytest.approx(1 / 3)
    assert (measures["fp", "q0001"].n, measures["fp", "q0001"].missing) == (3, 1)
    assert measures["pair_agreement", "q0000"].value == pytest.approx(0.5)
    assert measures["pair_agreement", "q0000"].interval is None
    assert measures["time_mean", "q0000"].value == 30
    assert measures["time_geometric", "q0001"].value == pytest.approx(20)
    assert (measures["time_geometric", "q0001"].n, measures["time_geometric", "q0001"].missing) == (2, 2)
    assert measures["certainty", "q0000"].reason == "no trial has what the measure needs"


def test_intervals_against_scipy():
    rng = np.random.default_rng(1)
    rated, seconds = (rng.random((9, 1)) < 0.6).astype(float), rng.lognormal(4, 0.5, (9, 1))
    measures = by_key(item_measures([make_grid(correctness_rating=rated, seconds=seconds)]))
    wilson = stats.binomtest(int(rated.sum()), 9).proportion_ci(method="wilson")
    assert measures["agreement", "q0000"].interval == pytest.approx(tuple(wilson))
    times = seconds[:, 0]
    expected = stats.t.interval(0.95, 8, times.mean(), stats.sem(times))
    assert measures["time_mean", "q0000"].interval == pytest.approx(expected)
    logs = np.log(times)
    expected = np.exp(stats.t.interval(0.95, 8, logs.mean(), stats.sem(logs)))
    assert measures["time_geometric", "q0000"].interval == pytest.approx(tuple(expected))


def test_wilson_covers_as_often_as_it_says():
    """The mean coverage of Wilson's interval is near 95 %.

    It is exact: over all outcomes of 20 participants.
    """
    hits = np.arange(21.0)
    rated = (np.arange(20)[:, None] < hits).astype(float)
    values = [value for value in item_measures([make_grid(correctness_rating=rated)]) if value.interval]
    low, high = np.array([value.interval for value in values if value.measure == "agreement"]).T
    coverage = [
        stats.binom.pmf(hits, 20, p)[(low <= p) & (p <= high)].sum() for p in np.linspace(0.02, 0.98, 97)
    ]
    assert np.mean(coverage) == pytest.approx(0.95, abs=0.01)
    assert min(coverage) > 0.83


@pytest.mark.parametrize(
    ("rated", "n", "value", "interval"),
    [([[NO], [NO]], 0, None, False), ([[1], [NO]], 1, 1.0, False), ([[1], [1]], 2, 1.0, True)],
)
def test_few_ratings(rated, n, value, interval):
    grid = make_grid(correctness_rating=np.array(rated))
    agreement = by_key(item_measures([grid]))["agreement", "q0000"]
    assert (agreement.n, agreement.value, agreement.interval is not None) == (n, value, interval)
    assert bool(agreement.reason) == (value is None)


def test_times_that_do_not_vary_have_no_interval():
    measures = by_key(item_measures([make_grid(seconds=np.full((5, 1), 30.1))]))
    assert measures["time_mean", "q0000"].value == pytest.approx(30.1)
    assert measures["time_mean", "q0000"].interval is None
    assert measures["time_geometric", "q0000"].interval is None


def test_every_trial_tells_what_it_contributes():
    trials = pd.DataFrame(
        {
            "participant_id": list("abcde"),
            "item_id": "q",
            "condition": "one",
            "position": 1.0,
            "server_ms": [1500.0, NO, 1.0, 1.0, 1.0],
            "rated": [1.0, 1.0, 0.0, 0.0, NO],
            "system_correct": [1.0, 0.0, 1.0, 0.0, 1.0],
        }
    )
    names = [(), ("slow", "known"), (), (), ()]
    table = trial_table(trials, names, clock="server_ms", rating="rated")
    for column, expected in {
        "tp": [True, False, False, False, None],
        "fp": [False, True, False, False, None],
        "fn": [False, False, True, False, None],
        "tn": [False, False, False, True, None],
        "right": [True, False, False, True, None],
        "over_estimation": [0, 1, -1, 0, None],
        "excluded_by": ["", "slow;known", "", "", ""],
        "retained": [True, False, True, True, True],
    }.items():
        assert [None if pd.isna(v) else v for v in table[column]] == expected, column
    assert table["seconds"].iloc[0] == 1.5
    assert trial_table(trials, names, clock=None, rating=None)["tp"].isna().all()
    with pytest.raises(ValueError, match="4 entries for 5"):
        trial_table(trials, names[:4], clock=None, rating=None)


def test_the_table_of_trials_gives_the_measures_again(tmp_path):
    study = analyse(load_bundle(planted_study(tmp_path / "study")), Options(resamples=2))
    table = trial_table(
        study.trials, study.exclusions.names, clock=CLOCK_COLUMNS[study.clock], rating="rated_correct"
    )
    retained = table[table["retained"]]
    assert len(retained) == len(study.retained.trials)
    for measure, column in (
        ("over_estimation", "over_estimation"),
        ("fp", "fp"),
        ("fraction_correct", "right"),
    ):
        means = retained.groupby(["condition", "participant_id"])[column].mean().groupby("condition").mean()
        for condition, value in means.items():
            assert study.retained.estimates.get(measure, condition).value == pytest.approx(float(value))
