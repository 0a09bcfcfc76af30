"""Preferences give hand-computed cases and planted strengths.

The analysis refuses answers that do not fit.
"""

import numpy as np
import pandas as pd
import pytest

from analysis.io.errors import InputError
from analysis.participants.bundle import load_bundle
from analysis.participants.study_version import TaskOptions
from analysis.participants.tasks import TASKS, find_measure
from analysis.participants.tasks.preference import count_preferences, split_sides
from analysis.planning.frozen_version import load_frozen
from analysis.planning.preregistration import preregistration
from analysis.report.build import build_report
from analysis.report.page import write_page
from analysis.report.sections.preferences import build_preference_cards, build_preferences_section
from analysis.study.analysis import Options, analyse
from analysis.study.inference import infer
from analysis.study.preferences import fit_preferences
from tests.analysis.bundles import write_bundle
from tests.analysis.tasks import CRITERIA, counterfactual_study, preference_study

# Participant, left, right, answer: p prefers a to b twice and calls them alike once, q prefers c to a.
ANSWERS = [
    ("p", "a", "b", "left"), ("p", "b", "a", "right"), ("p", "a", "b", "tie"), ("p", "b", "c", None),
    ("q", "a", "c", "right"),
]  # fmt: skip


def rows_of(answers):
    """Return trials with one criterion."""
    rows = pd.DataFrame(
        answers, columns=["participant_id", "left_condition", "right_condition", "preferred_x"]
    )
    return rows.assign(item_id=[f"q{index}" for index in range(len(rows))])


def bundle_of(folder, answers):
    """Write a bundle of these answers."""
    trials = [
        {
            "participant_id": participant,
            "mode": "live",
            "version": 1,
            "condition": None,
            "item_id": f"q{index}",
        }
        | {"submitted_at": "2026-01-02T10:00:00Z", "left_condition": left, "right_condition": right}
        | {"preferred_x": answer, "server_ms": 20_000, "system_correct": None}
        for index, (participant, left, right, answer) in enumerate(answers)
    ]
    people = [
        {
            "participant_id": participant,
            "mode": "live",
            "version": 1,
            "condition": None,
            "status": "completed",
        }
        for participant in sorted({participant for participant, *_ in answers})
    ]
    task = {"kind": "preference", "criteria": [{"key": "x", "text": "Which is better?"}]}
    systems = {"a": "sys-1", "b": "sys-2", "c": "sys-3"}
    return write_bundle(folder, systems, trials, people, [], task=task, item_questions=[], rules=[])


def test_win_rates_are_found_by_their_key():
    measure = find_measure("win_rate_clear")
    assert (measure.label, measure.unit, measure.wanted) == ("Win rate, clear", "share", "higher")
    assert find_measure("win_rate_overall").label == "Win rate"
    assert find_measure("win_rate_") is None


def test_win_rates_by_hand(tmp_path):
    """Ties are halves, and participants come first.

    An unanswered comparison counts for nobody.
    """
    estimates = analyse(
        load_bundle(bundle_of(tmp_path / "b", ANSWERS)), Options(resamples=0)
    ).retained.estimates
    get = {name: estimates.get("win_rate_x", name) for name in "abc"}
    assert get["a"].value == pytest.approx((2.5 / 3 + 0 / 1) / 2)
    assert get["b"].value == pytest.approx(0.5 / 3)
    assert get["c"].value == 1
    assert [get[name].trials for name in "abc"] == [4, 3, 1]
    assert [get[name].undefined for name in "abc"] == [0, 1, 1]


def test_counts_and_sides_by_hand():
    counted = count_preferences(rows_of(ANSWERS), "preferred_x", list("abc"))
    assert counted.wins.sum(axis=0).tolist() == [[0, 2, 0], [0, 0, 0], [1, 0, 0]]
    assert counted.ties.sum(axis=0).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert (counted.left.tolist(), counted.tied.tolist(), counted.count) == ([0.5, 0.0], [1 / 3, 0.0], 4)


def test_both_sides_share_one_win():
    sides = split_sides(rows_of(ANSWERS)).groupby("item_id")["preferred_x"].sum(min_count=1)
    assert sides.dropna().tolist() == [1.0] * 4


def test_a_planted_order_is_found_and_said(tmp_path):
    folder = preference_study(
        tmp_path / "b", people=30, logs={"plain": -0.7, "facts": 0.7}, ties=0.4,
        scores={"sys-1": {"f1": 0.6}, "sys-2": {"f1": 0.7}},
    )  # fmt: skip
    study = analyse(load_bundle(folder), Options(resamples=200))
    for preference in fit_preferences(study):
        assert preference.conditions == ("plain", "facts", "other")
        for log, bounds in zip((-0.7, 0.7, 0.0), preference.strengths.intervals, strict=True):
            assert bounds[0] < log < bounds[1]
        assert preference.left.interval[0] < 0.5 < preference.left.interval[1]
    family = infer(study).family
    assert {comparison.measure.key for comparison in family.comparisons} == {
        "win_rate_clear",
        "win_rate_useful",
    }
    assert all(comparison.paired for comparison in family.comparisons)
    assert study.retained.relations.get("win_rate_clear", "f1").rank
    folder = tmp_path / "report"
    page = write_page(build_report(study), folder)[0].read_text("utf-8")
    for words in ("Which is preferred?", "No side bias is clear", "Davidson (1970)", "900 trials"):
        assert words.replace("900", str(len(study.trials))) in page
    strengths = pd.read_csv(folder / "tables" / "strengths.csv")
    assert (
        strengths.groupby("criterion")["wins"].sum().tolist()
        == strengths.groupby("criterion")["losses"].sum().tolist()
    )


def test_a_planted_side_bias_is_found(tmp_path):
    study = analyse(load_bundle(preference_study(tmp_path / "b", people=20, lean=0.8)), Options(resamples=50))
    assert all(preference.left.interval[0] > 0.5 for preference in fit_preferences(study))
    assert [card.title for card in build_preference_cards(study)] == [
        "Which is preferred?",
        "Does the side matter?",
    ]
    assert "The left side is favoured: " in build_preference_cards(study)[1].points[0]


def test_few_answers_say_nothing_impossible(tmp_path):
    study = analyse(load_bundle(preference_study(tmp_path / "b", people=2, items=3)), Options(resamples=0))
    for preference in fit_preferences(study):
        for share in (preference.left, preference.tied):
            assert share.interval is not None
            assert share.value is not None
            low, high = share.interval
            assert 0 <= low <= high <= 1
            assert low <= share.value <= high
    assert any(preference.strengths.reason for preference in fit_preferences(study))
    assert not any("nan" in note for note in build_preferences_section(study).blocks[1].notes)


def test_excluded_trials_leave_the_comparisons(tmp_path):
    folder = preference_study(
        tmp_path / "b",
        rules=[{"name": "fast", "kind": "min_time", "clock": "server", "milliseconds": 30_000}],
    )
    study = analyse(load_bundle(folder), Options(resamples=0))
    left = study.exclusions.total - study.exclusions.excluded
    assert 0 < left < study.exclusions.total == len(study.trials)
    assert [preference.compared.count for preference in fit_preferences(study)] == [left, left]


def edit_trials(folder, **columns):
    """Replace or drop columns of a bundle's trials; return the folder."""
    table = pd.read_csv(folder / "trials.csv", dtype=str)
    gone = [name for name, value in columns.items() if value is None]
    table.drop(columns=gone).assign(
        **{name: value for name, value in columns.items() if value is not None}
    ).to_csv(folder / "trials.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"preferred_clear": None}, "preferred_clear.*the column is missing"),
        ({"left_condition": None}, "left_condition.*the column is missing"),
        ({"left_condition": "nobody"}, "no condition 'nobody'"),
        ({"left_condition": ""}, "left_condition.*is empty"),
        ({"left_condition": "plain", "right_condition": "plain"}, "on both sides"),
        ({"preferred_useful": "both"}, "both"),
    ],
)
def test_a_bundle_that_does_not_fit_is_refused(tmp_path, columns, problem):
    folder = edit_trials(preference_study(tmp_path / "b", people=2), **columns)
    with pytest.raises(InputError, match=problem):
        load_bundle(folder)


def test_a_trial_of_another_task_still_needs_its_condition(tmp_path):
    folder = edit_trials(counterfactual_study(tmp_path / "b", people=2), condition="")
    with pytest.raises(InputError, match=r"condition.*is empty"):
        load_bundle(folder)


def test_criteria_are_needed_and_differ():
    with pytest.raises(ValueError, match="needs criteria"):
        TaskOptions.model_validate({"kind": "preference"})
    with pytest.raises(ValueError, match="all different"):
        TaskOptions.model_validate({"kind": "preference", "criteria": [CRITERIA[0]] * 2})


def test_the_preregistration_names_the_criteria(tmp_path):
    text = preregistration(load_frozen(preference_study(tmp_path / "b", people=2)))
    assert "Which is clearer?" in text
    assert "two at a time" in text
    assert "Win rate, clear" in text
    assert "Completion time" not in text


def test_one_criterion_needs_no_name_in_its_label():
    alone = TaskOptions.model_validate({"kind": "preference", "criteria": CRITERIA[:1]})
    assert [measure.label for measure in TASKS["preference"].own_measures(alone)] == ["Win rate"]
    assert np.isnan(TASKS["preference"].values(split_sides(rows_of(ANSWERS)))["preferred_x"]).sum() == 2
