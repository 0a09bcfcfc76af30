"""Tests of the columns of advice studies, which bots walk.

The bundle of the study says what the bots did.
"""

import csv
import json
import random
from itertools import pairwise
from typing import Any

import pytest

from studyapp.actions.correctness import judge, queue_answers, settle
from studyapp.actions.pages import show_trial, submit_trial
from studyapp.exports.bundle import write_bundle
from studyapp.exports.estimates import compute_running_estimates
from studyapp.exports.task_columns import Judged, is_in_agreement
from studyapp.models import Condition, JudgedAnswer
from studyapp.queries.bots import build_study_plan, count_stored_rows
from studyapp.queries.design.correctness import count_queue, queue, queue_counts
from studyapp.queries.participants.own_answers import find_missed_answers_of_people
from studyapp.queries.running.results import read_data_state
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.simulation.bots import Bot
from tests.studyapp import factories
from tests.studyapp.simulation.test_walk import drive

pytestmark = pytest.mark.django_db


def walked(study, *, kinds=("honest",) * 6, planted=None):
    link, token = factories.make_link_and_token(study=study, mode="bot")
    bots = [Bot(number, kind, random.Random(number)) for number, kind in enumerate(kinds)]
    for bot in bots:
        drive(bot, f"http://testserver/join/{token}/", build_study_plan(study), planted)
    return link, bots


def bundle(study, folder, **options):
    write_bundle(study, folder, **options)
    with (folder / "trials.csv").open() as file:
        return list(csv.DictReader(file))


def test_it_works(tmp_path):
    study = factories.make_advice(
        items={"ids": ["q1", "q2", "q3"]},
        practice={"ids": ["q4"]},
        attention=[{"id": "read", "kind": "instructed", "position": 2, "text": "Choose 5.",
                    "expected": {"final_confidence": 5}}],
    )  # fmt: skip
    link, bots = walked(study, kinds=[*BEHAVIOURS] * 2)
    assert [bot.error for bot in bots] == [""] * 12
    assert count_stored_rows(link)["completed"] == 10
    rows = bundle(study, tmp_path / "b")
    done = [row for row in rows if row["submitted_at"]]
    assert {row["condition"] for row in done} == {"no advice", "helper (no explanation)", "helper"}
    for row in done:
        is_control = row["condition"] == "no advice"
        for name in ("advice", "initial_agrees", "final_agrees", "system_correct"):
            assert bool(row[name]) is not is_control, name
        assert row["initial_answer"]
        assert row["final_answer"]
        assert row["initial_correct"] in ("true", "false")
        assert int(row["initial_server_ms"]) + int(row["final_server_ms"]) <= int(row["server_ms"]) + 1
        clocks = [int(row[f"{page}_client_total_ms"]) for page in ("initial", "final")]
        assert sum(clocks) == int(row["client_total_ms"])
        if row["initial_agrees"] == row["final_agrees"] == "true":
            assert row["initial_correct"] == row["final_correct"]
    book = json.loads((tmp_path / "b" / "codebook.json").read_text())
    names = [column["name"] for column in book["tables"]["trials"]["columns"]]
    assert names == list(rows[0])
    version = json.loads((tmp_path / "b" / "study_version.json").read_text())["versions"][0]
    assert version["task"]["kind"] == "advice"
    assert [condition.get("advice", True) for condition in version["conditions"]] == [False, True, True]


def test_estimates_of_a_running_study_are_those_of_its_task():
    study = factories.make_advice()
    walked(study)
    estimates = compute_running_estimates(study, mode="bot")
    shown = {
        measure.key: {cell.condition: cell.value for cell in cells} for measure, cells in estimates.table
    }
    assert "fraction_correct" not in shown
    assert set(shown["final_accuracy"]) == {"no advice", "helper (no explanation)", "helper"}
    assert None not in shown["final_accuracy"].values()


def test_the_public_variant_holds_no_typed_answer(tmp_path):
    study = factories.make_advice()
    walked(study, kinds=["honest"] * 3)
    rows = bundle(study, tmp_path / "b", public=True)
    assert {row["initial_answer"] for row in rows} == {row["final_answer"] for row in rows} == {""}
    assert "" not in {row["initial_correct"] for row in rows}


@pytest.mark.parametrize(("effect", "takes"), [(0.15, 1.0), (-0.45, 0.4)])
def test_an_effect_on_reliance_is_what_was_planted(tmp_path, effect, takes):
    study = factories.make_advice(conditions=[{"system": "helper"}], items={"ids": ["q1", "q3"]})
    planted = {"helper": {"reliance_if_right": effect, "initial_correct": -0.7}}
    walked(study, kinds=["honest"] * 20, planted=planted)
    rows = bundle(study, tmp_path / "b")
    assert {row["initial_correct"] for row in rows} == {"false"}
    share = sum(row["final_agrees"] == "true" for row in rows) / len(rows)
    assert share == pytest.approx(takes, abs=0.2)


def test_what_judges_decided_about_peoples_answers_counts(tmp_path):
    study = factories.make_advice(conditions=[{"system": "helper"}], items={"ids": ["q1"]})
    link = factories.make_link(study=study)
    person = factories.make_participant(link=link)
    for answers in ({"initial_answer": "The town of Kolwen"}, {"final_answer": "Kolwen 1"}):
        trial = find_current_page(person).trial
        show_trial(trial=trial)
        assert submit_trial(trial=trial, answers=answers, changes={}, timing=PageTiming())
    assert bundle(study, tmp_path / "a")[0]["initial_correct"] == "false"
    missed = find_missed_answers_of_people(study)
    assert queue_answers(answers=missed, by=None, study=study, from_people=True) == 1
    run = Condition.objects.get(version__study=study).run
    assert count_queue(run).answers == queue_counts()[run.pk].answers == 1
    answer = queue(run).get()
    assert answer.answer == "The town of Kolwen"
    for _judge in range(2):
        judge(judged=answer, is_correct=True, note="", by=factories.make_user())
    row = bundle(study, tmp_path / "b")[0]
    assert (row["initial_correct"], row["initial_agrees"]) == ("true", "true")


def test_each_decision_of_judges_changes_estimates_and_the_state_of_the_data():
    study = factories.make_advice(conditions=[{"system": "helper"}], items={"ids": ["q1"]})
    person = factories.make_participant(study=study)
    for answers in ({"initial_answer": "Elsewhere"}, {"final_answer": "Elsewhere"}):
        trial = find_current_page(person).trial
        show_trial(trial=trial)
        assert submit_trial(trial=trial, answers=answers, changes={}, timing=PageTiming(20_000))

    def now() -> tuple[Any, Any]:
        shown = {measure.key: cells[0].value for measure, cells in compute_running_estimates(study).table}
        return read_data_state(study, "live"), shown["final_accuracy"]

    states = [now()]
    queue_answers(answers=find_missed_answers_of_people(study), by=None, study=study, from_people=True)
    assert now() == states[0]
    answer = JudgedAnswer.objects.get()
    for is_correct in (True, False):
        judge(judged=answer, is_correct=is_correct, by=factories.make_user())
        states.append(now())
    settle(judged=answer, is_correct=True, how="third judge", note="Read again.", by=factories.make_user())
    states.append(now())
    assert [accuracy for _state, accuracy in states] == [0, 1, 0, 1]
    assert all(before[0] != after[0] for before, after in pairwise(states))


def test_decisions_that_are_not_applied_leave_the_data_of_other_tasks():
    study = factories.make_study(items=1)
    before = read_data_state(study, "live")
    run = Condition.objects.filter(version__study=study, run__isnull=False).first().run
    queue_answers(answers=[(run.predictions.first().question_id, "Elsewhere")], by=None)
    judge(judged=JudgedAnswer.objects.get(), is_correct=True, by=factories.make_user())
    assert read_data_state(study, "live") == before


def test_answers_that_are_both_correct_agree():
    assert is_in_agreement("the Sea", "sea", are_correct=False) is True
    assert is_in_agreement("by the water", "sea", are_correct=True) is True
    assert is_in_agreement("by the water", "sea", are_correct=False) is False
    assert is_in_agreement(None, "sea", are_correct=False) is None
    assert Judged(None, None, {}).is_correct("sea") is None


def test_predictions_are_told_with_what_the_system_did(tmp_path):
    study = factories.make_counterfactual(
        items={"ids": ["q1", "q2", "q3"]},
        practice={"ids": ["q4"]},
        attention=[{"id": "read", "kind": "instructed", "position": 2, "text": "Choose 5.",
                    "expected": {"certainty": 5}}],
    )  # fmt: skip
    link, bots = walked(study, kinds=[*BEHAVIOURS] * 2)
    assert [bot.error for bot in bots] == [""] * 12
    assert count_stored_rows(link)["completed"] == 10
    rows = bundle(study, tmp_path / "b")
    done = [row for row in rows if row["submitted_at"]]
    assert {row["cannot_tell"] for row in done} == {"true", "false"}
    for row in done:
        assert (row["source_item_id"], row["change"]) == (row["item_id"], "comparison")
        assert row["system_answer"] == ("Elsewhere" if row["item_id"] == "q2" else "the sea")
        assert int(row["options"]) >= 2
        is_told = row["cannot_tell"] == "false"
        assert bool(row["predicted_answer"]) is bool(row["prediction_right"]) is is_told
        if row["predicted_answer"]:
            is_right = row["predicted_answer"] == row["system_answer"]
            assert row["prediction_right"] == str(is_right).lower()
        assert row["predicted_correct"] == ""
    book = json.loads((tmp_path / "b" / "codebook.json").read_text())
    assert [column["name"] for column in book["tables"]["trials"]["columns"]] == list(rows[0])
    version = json.loads((tmp_path / "b" / "study_version.json").read_text())["versions"][0]
    assert version["task"]["kind"] == "counterfactual"
    public = bundle(study, tmp_path / "public", public=True)
    assert {row["predicted_answer"] for row in public} == {row["predicted_answer"] for row in rows}


def test_predictions_of_correctness_are_right_if_the_system_is_as_predicted(tmp_path):
    study = factories.make_counterfactual(conditions=[{"system": "helper"}], task={"ask": "correct"})
    walked(study, kinds=["honest"] * 6)
    for row in bundle(study, tmp_path / "b"):
        is_correct = "false" if row["item_id"] == "q2" else "true"
        assert row["options"] == "2"
        if row["cannot_tell"] == "false":
            assert row["prediction_right"] == str(row["predicted_correct"] == is_correct).lower()
        else:
            assert row["prediction_right"] == row["predicted_correct"] == ""


@pytest.mark.parametrize(
    ("effect", "right", "unsure"),
    [({"prediction_right": 0.3, "cannot_tell": -0.15}, 1.0, 0.0), ({"cannot_tell": 0.85}, None, 1.0)],
)
def test_an_effect_on_predictions_is_what_was_planted(tmp_path, effect, right, unsure):
    study = factories.make_counterfactual(conditions=[{"system": "helper"}])
    walked(study, kinds=["honest"] * 8, planted={"helper": effect})
    rows = bundle(study, tmp_path / "b")
    assert sum(row["cannot_tell"] == "true" for row in rows) / len(rows) == unsure
    hits = [row["prediction_right"] == "true" for row in rows if row["predicted_answer"]]
    assert (sum(hits) / len(hits) if hits else None) == right
