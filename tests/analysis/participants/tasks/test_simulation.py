"""Predictions before and after learning give hand-computed cases.

A study of the planned size has the planned power.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, ttest_ind

from analysis.commands.power import from_pilot
from analysis.io.errors import InputError
from analysis.participants.bundle import load_bundle
from analysis.participants.condition_grids import build_condition_grids
from analysis.participants.estimates import UNDEFINED, estimate
from analysis.participants.study_version import Version
from analysis.participants.tasks import TASKS
from analysis.planning.sample_size import plan_size
from analysis.report.build import build_report
from analysis.report.page import write_page
from analysis.study.analysis import Options, analyse
from analysis.study.inference import infer
from tests.analysis.tasks import simulation_study

KEYS = {measure.key: measure for measure in TASKS["simulation"].measures}
NAMES = ["block", "prediction_right", "options", "predicted_answer"]
# One participant: right 1 of 4 before, 1 of 2 while learning, 3 of 4 after.
TRIALS = [
    ("before", 1, 2, "yes"), ("before", 0, 2, "yes"), ("before", 0, 2, "no"), ("before", 0, 2, "no"),
    ("learning", 1, 2, "no"), ("learning", 0, 2, "no"),
    ("after", 1, 2, "yes"), ("after", 1, 2, "no"), ("after", 1, 2, "no"), ("after", 0, 2, "yes"),
]  # fmt: skip


def estimates_of(*people, **columns):
    """Estimate the measures of one condition.

    people: the trials of each participant.
    """
    version = Version.model_validate(
        {
            "version": 1, "hash": "0", "item_questionnaire": [], "task": {"kind": "simulation"},
            "conditions": [{"name": "a", "system": "s"}],
        }
    )  # fmt: skip
    trials = pd.concat(
        pd.DataFrame(rows, columns=NAMES).assign(
            participant_id=f"p{number}", condition="a", system_correct=np.nan,
            item_id=[f"q{index}" for index in range(len(rows))], **columns,
        )
        for number, rows in enumerate(people)
    ).reset_index(drop=True)  # fmt: skip
    names = [f"p{number}" for number in range(len(people))]
    members = pd.DataFrame({"participant_id": names, "condition": "a"})
    grids = build_condition_grids(version, trials, members, clock=None, items=[])
    return estimate(grids, list(KEYS.values()), rng=np.random.default_rng(1), resamples=0)


def test_a_case_by_hand():
    """The effect is post-test minus pre-test accuracy of the same people.

    Source: Hase and Bansal (2020).
    """
    get = estimates_of(TRIALS).get
    expected = {
        "before_accuracy": 1 / 4, "learning_accuracy": 1 / 2, "after_accuracy": 3 / 4,
        "simulation_effect": 3 / 4 - 1 / 4, "after_above_chance": 3 / 4 - 1 / 2, "chance_level": 1 / 2,
    }  # fmt: skip
    for key, value in expected.items():
        assert get(key, "a").value == pytest.approx(value), key
    assert get("simulation_effect", "a").trials == 8


def test_sensitivity_by_hand():
    """The sensitivity after learning has the log-linear correction.

    "yes" is predicted for 1 of 1 items with yes, and for 1 of 3 with no.
    """
    value = estimates_of(TRIALS).get("after_d_prime", "a").value
    assert value == pytest.approx(norm.ppf(1.5 / 2) - norm.ppf(1.5 / 4))


def test_sensitivity_to_correctness_by_hand():
    """With `ask: correct` the signal is that the system was right.

    There are 2 of 2 hits and 1 of 2 false alarms.
    """
    rows = [("after", right, 2, None) for right in (1, 1, 0, 1)]
    estimates = estimates_of(rows, predicted_correct=[1.0, 1.0, 1.0, 0.0])
    assert estimates.get("after_d_prime", "a").value == pytest.approx(norm.ppf(2.5 / 3) - norm.ppf(1.5 / 3))


def test_sensitivity_needs_two_options():
    many = [(block, right, 5, answer) for block, right, _, answer in TRIALS]
    get = estimates_of(many).get
    assert get("after_d_prime", "a").value is None
    assert get("after_above_chance", "a").value == pytest.approx(3 / 4 - 1 / 5)


def test_a_participant_without_a_block_has_no_effect_and_is_counted():
    """Pooled over trials the effect would be another one: it is within people."""
    left = [("before", 1, 2, "yes")] * 4
    effect = estimates_of(TRIALS, left).get("simulation_effect", "a")
    assert (effect.value, effect.participants, effect.undefined) == (0.5, 1, 1)
    assert effect.pooled == pytest.approx(3 / 4 - 5 / 8)
    alone = estimates_of([("after", 1, 2, "yes")] * 2, [("before", 1, 2, "yes")] * 2)
    assert alone.get("simulation_effect", "a").reason == UNDEFINED


@pytest.mark.parametrize("column", ["block", "prediction_right", "options"])
def test_a_missing_column_is_refused(tmp_path, column):
    folder = simulation_study(tmp_path / "b", people=2)
    table = pd.read_csv(folder / "trials.csv", dtype=str)
    table.drop(columns=column).to_csv(folder / "trials.csv", index=False)
    with pytest.raises(InputError, match=rf"trials\.csv.*{column}.*the column is missing"):
        load_bundle(folder)


def test_an_unknown_block_is_refused(tmp_path):
    folder = simulation_study(tmp_path / "b", people=2)
    table = pd.read_csv(folder / "trials.csv", dtype=str)
    table.assign(block="later").to_csv(folder / "trials.csv", index=False)
    with pytest.raises(InputError, match="later"):
        load_bundle(folder)


def test_a_planted_effect_is_found_and_said(tmp_path, monkeypatch):
    folder = simulation_study(tmp_path / "b", people=30, learns={"plain": 0.05, "facts": 0.4})
    study = analyse(load_bundle(folder), Options(resamples=100))
    with monkeypatch.context() as patch:
        patch.setattr("analysis.study.inference.MOST_BAYES_TRIALS", 0)  # the report samples them
        comparisons = {comparison.measure.key: comparison for comparison in infer(study).family.comparisons}
    assert set(comparisons) == {"simulation_effect", "after_accuracy", "time_geometric"}
    low, high = comparisons["simulation_effect"].about("these_items").interval
    assert 0 < low < 0.35 < high
    page = write_page(build_report(study), tmp_path / "report")[0].read_text("utf-8")
    for words in (
        "Yes, with facts: effect on predictions is",
        "Better than guesses: ",
        "Hase and Bansal 2020",
    ):
        assert words in page


def test_the_planned_size_finds_the_effect_in_four_studies_of_five(tmp_path):
    """Studies of the planned size find the effect as often as planned.

    The size comes from a pilot; then many studies of that size have the effect planted.
    """
    learns, per_block, studies = {"plain": 0.1, "facts": 0.3}, 6, 120
    pilot = load_bundle(simulation_study(tmp_path / "pilot", people=400, per_block=per_block, learns=learns))
    population, items, source = from_pilot(pilot, "simulation_effect", Options(resamples=0), normal=False)
    design = plan_size(
        population, effects=[0.0, 0.2], items=items, target=0.8, alpha=0.05, simulations=2000, seed=1,
        source=source, unit="share",
    )  # fmt: skip
    size = design.smallest.participants
    assert size is not None
    folder = simulation_study(
        tmp_path / "b", people=size * studies, per_block=per_block, learns=learns, seed=2
    )
    estimates = analyse(load_bundle(folder), Options(resamples=0)).retained.estimates
    plain, facts = (
        effects.reshape(studies, size) for effects in estimates.per_participant["simulation_effect"]
    )
    p = ttest_ind(facts, plain, axis=1, equal_var=False).pvalue
    # The standard error is 0.037 for 120 studies; that of the pilot's spread moves the power by 0.03 more.
    assert 0.68 < (p < 0.05).mean() < 0.92
