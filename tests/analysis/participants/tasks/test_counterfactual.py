"""Predictions of the answer to a changed item give hand-computed cases.

A planted difference is found.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.commands.power import from_pilot
from analysis.io.errors import InputError
from analysis.participants.bundle import load_bundle
from analysis.participants.condition_grids import build_condition_grids
from analysis.participants.estimates import UNDEFINED, estimate
from analysis.participants.study_version import Version
from analysis.participants.tasks import TASKS
from analysis.report.build import build_report
from analysis.report.page import write_page
from analysis.study.analysis import Options, analyse
from analysis.study.inference import infer
from tests.analysis.tasks import counterfactual_study

KEYS = {measure.key: measure for measure in TASKS["counterfactual"].measures}
NAMES = ["cannot_tell", "prediction_right", "options"]
NONE = np.nan
# One participant: five predictions, three of them right, two times "cannot tell", one page left unanswered.
TRIALS = [
    (0, 1, 4), (0, 1, 4), (0, 1, 2), (0, 0, 2), (0, 0, 4), (1, NONE, 4), (1, NONE, 4), (NONE, NONE, 4),
]  # fmt: skip


def estimates_of(people):
    """Estimate the measures of one condition.

    people: the trials of each participant.
    """
    version = Version.model_validate(
        {
            "version": 1, "hash": "0", "item_questionnaire": [], "task": {"kind": "counterfactual"},
            "conditions": [{"name": "a", "system": "s"}],
        }
    )  # fmt: skip
    trials = pd.concat(
        pd.DataFrame(rows, columns=NAMES, dtype=float).assign(
            participant_id=f"p{number}", condition="a", system_correct=np.nan,
            item_id=[f"q{index}" for index in range(len(rows))],
        )
        for number, rows in enumerate(people)
    )  # fmt: skip
    trials = trials.reset_index(drop=True)
    members = pd.DataFrame(
        {"participant_id": [f"p{number}" for number in range(len(people))], "condition": "a"}
    )
    grids = build_condition_grids(version, trials, members, clock=None, items=[])
    return estimate(grids, list(KEYS.values()), rng=np.random.default_rng(1), resamples=0)


def test_a_case_by_hand():
    """Precision is over the items that people can predict.

    Coverage is the share of these items (Chen et al. 2024).
    """
    get = estimates_of([TRIALS]).get
    assert get("coverage", "a").value == pytest.approx(5 / 7)
    assert get("precision", "a").value == pytest.approx(3 / 5)
    assert get("prediction_accuracy", "a").value == pytest.approx(3 / 7)
    assert get("chance_level", "a").value == pytest.approx((5 / 4 + 2 / 2) / 7)
    above = 0.75 + 0.75 + 0.5 - 0.5 - 0.25
    assert get("above_chance", "a").value == pytest.approx(above / 7)
    assert [get(key, "a").trials for key in ("coverage", "precision")] == [7, 5]


def test_participants_come_before_the_condition():
    """Pooled over trials, precision would be 4 of 6."""
    precision = estimates_of([TRIALS, [(0, 1, 4), (1, NONE, 4)]]).get("precision", "a")
    assert precision.value == pytest.approx((3 / 5 + 1) / 2)
    assert precision.pooled == pytest.approx(4 / 6)


def test_without_a_prediction_precision_is_undefined_and_counted():
    get = estimates_of([[(1, NONE, 4)] * 2, [(0, 1, 4)] * 2]).get
    assert (get("precision", "a").value, get("precision", "a").undefined) == (1, 1)
    assert get("coverage", "a").value == pytest.approx(0.5)
    alone = estimates_of([[(1, NONE, 4)] * 2]).get
    assert (alone("precision", "a").value, alone("precision", "a").reason) == (None, UNDEFINED)
    assert alone("above_chance", "a").value == 0


def test_an_answer_that_nobody_knows_leaves_the_prediction_out():
    """Without the system's answer a prediction is neither right nor wrong.

    The system gave no answer to the changed item.
    """
    get = estimates_of([[*TRIALS, (0, NONE, 4)]]).get
    assert get("coverage", "a").value == pytest.approx(6 / 8)
    for key in ("precision", "prediction_accuracy", "above_chance"):
        assert get(key, "a").value == estimates_of([TRIALS]).get(key, "a").value


ANSWERS = st.one_of(
    st.just((1.0, NONE, 4.0)), st.tuples(st.just(0.0), st.sampled_from([0.0, 1.0]), st.just(4.0))
)


@given(st.lists(ANSWERS, min_size=1, max_size=20))
def test_identities(rows):
    get = estimates_of([rows]).get
    coverage, precision = get("coverage", "a").value, get("precision", "a").value
    assert (precision is None) == (coverage == 0)
    assert get("prediction_accuracy", "a").value == pytest.approx(coverage * (precision or 0))
    assert get("above_chance", "a").value == pytest.approx(
        coverage * (0 if precision is None else precision - 0.25)
    )


def test_a_missing_column_is_refused(tmp_path):
    folder = counterfactual_study(tmp_path / "b", people=2)
    table = pd.read_csv(folder / "trials.csv", dtype=str)
    table.drop(columns="cannot_tell").to_csv(folder / "trials.csv", index=False)
    with pytest.raises(InputError, match=r"trials\.csv.*cannot_tell.*the column is missing"):
        load_bundle(folder)


def test_a_planted_difference_is_found_and_said(tmp_path, monkeypatch):
    folder = counterfactual_study(
        tmp_path / "b", people=30, tells={"plain": 0.5, "facts": 0.9}, right={"plain": 0.3, "facts": 0.8}
    )
    study = analyse(load_bundle(folder), Options(resamples=100))
    with monkeypatch.context() as patch:
        patch.setattr("analysis.study.inference.MOST_BAYES_TRIALS", 0)  # the report samples them
        family = infer(study).family
    comparisons = {
        (comparison.first, comparison.second, comparison.measure.key): comparison
        for comparison in family.comparisons
    }
    assert {key for *_, key in comparisons} == {"coverage", "precision", "above_chance", "time_geometric"}
    for key, planted in (("coverage", 0.4), ("precision", 0.5)):
        about = comparisons["plain", "facts", key].about("these_items")
        assert about.interval[0] < planted < about.interval[1]
    assert not study.retained.estimates.has_value("agreement")
    page = write_page(build_report(study), tmp_path / "report")[0].read_text("utf-8")
    for words in (
        "Yes, with facts: precision of predictions is",
        "Yes, with facts: coverage is",
        "Better than guesses: ",
        "Chen et al. 2024",
    ):
        assert words in page


def test_a_pilot_gives_the_sample_size(tmp_path):
    bundle = load_bundle(counterfactual_study(tmp_path / "b", people=10, items=20, tells={"plain": 0.5}))
    _, items, source = from_pilot(bundle, "precision", Options(resamples=0), normal=False)
    assert 9 <= items <= 14, "trials with a prediction, not all of them"
    assert "20 participants" in source
