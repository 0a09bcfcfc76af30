"""Tests of the changed items of a design: choice and refusals.

A refusal names the lack.
"""

import pytest

from predictions.models import Prediction, PredictionRun, Question
from studyapp.actions.correctness import judge, queue_answers
from studyapp.errors import StudyRefused
from studyapp.models import JudgedAnswer
from studyapp.queries.design.designs import build_design
from studyapp.queries.design.drafts import read_definition
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


def planned(study):
    return build_design(read_definition(study), study.workspace).content


def draft(**changes):
    return factories.make_counterfactual(launched=False, **changes)


def changed_of(study):
    return Question.objects.filter(dataset__name=study.definition["task"]["source"])


def test_it_works():
    content = planned(draft())
    assert [item.changed.id for item in content.items] == ["q1:1", "q2:1"]
    unexplained, explained = content.conditions
    for item in content.items:
        shown = explained.shown[item.id]
        assert shown.changed_answer in shown.options
        assert shown.options == unexplained.shown[item.id].options
    assert [explained.shown[item].changed_answer for item in ("q1", "q2")] == ["the sea", "Elsewhere"]
    assert [explained.shown[item].changed_correct for item in ("q1", "q2")] == [True, False]


def judged_correct(study):
    """Have one judge accept the system's answer to the changed q2.

    The judge finds it as good as the gold answer.
    """
    question = changed_of(study).get(external_id="q2:1")
    queue_answers(answers=[(question.pk, "Elsewhere")], by=None)
    row = JudgedAnswer.objects.get(question=question)
    judge(judged=row, is_correct=True, by=factories.make_user())


def test_judges_decide_whether_the_answer_to_a_changed_item_is_correct():
    study = draft()
    before = planned(study).conditions[1].shown["q2"].options
    assert {"Elsewhere", "the sea"} <= set(before)
    judged_correct(study)
    shown = planned(study).conditions[1].shown["q2"]
    assert shown.changed_correct is True
    assert "the sea" not in shown.options  # it means the same, and choosing it would count as wrong
    assert "Elsewhere" in shown.options
    assert len(shown.options) > 1


def test_a_missing_prediction_is_refused_with_system_and_item():
    study = draft()
    Prediction.objects.filter(question__in=changed_of(study), question__external_id="q2:1").delete()
    with pytest.raises(StudyRefused, match=r"helper has no answer to the changed item 'q2:1'") as refusal:
        planned(study)
    assert refusal.value.field == "task.source"


def test_a_system_without_predictions_on_the_changed_items_is_refused():
    study = draft()
    PredictionRun.objects.filter(dataset__name=study.definition["task"]["source"]).delete()
    with pytest.raises(StudyRefused, match="helper has no finished predictions on the changed items"):
        planned(study)


def test_another_revision_of_the_system_is_another_system():
    study = draft()
    PredictionRun.objects.filter(dataset__name=study.definition["task"]["source"]).update(revision="r2")
    with pytest.raises(StudyRefused, match="in another revision"):
        planned(study)


def test_an_unknown_dataset_and_one_without_changed_items_are_refused():
    study = draft()
    changed_of(study).update(source_item_id="")
    with pytest.raises(StudyRefused, match="has no changed items"):
        planned(study)
    study.definition["task"]["source"] = "nowhere"
    with pytest.raises(StudyRefused, match="nowhere"):
        planned(study)


def test_only_originals_with_a_changed_item_are_drawn():
    study = draft(items={"count": 2, "seed": 1})
    changed_of(study).filter(external_id__in=["q1:1", "q2:1"]).update(source_item_id="")
    assert {item.id for item in planned(study).items} == {"q3", "q4"}
    study = draft(items={"count": 4, "seed": 1})
    changed_of(study).filter(external_id="q1:1").update(source_item_id="")
    with pytest.raises(StudyRefused, match="4 questions requested, but every condition can show only 3"):
        planned(study)
    study = draft(items={"ids": ["q1"]})
    changed_of(study).filter(external_id="q1:1").update(source_item_id="")
    with pytest.raises(StudyRefused, match="has no changed item of 'q1'"):
        planned(study)


def test_an_empty_answer_is_not_asked_about():
    study = draft(items={"count": 3, "seed": 1})
    rows = Prediction.objects.filter(question__in=changed_of(study))
    rows.filter(question__external_id="q1:1").update(answer="")
    assert {item.id for item in planned(study).items} == {"q2", "q3", "q4"}


def test_other_systems_answers_are_among_the_options():
    study = draft(items={"ids": ["q1"]})
    source = changed_of(study).first().dataset
    factories.make_run(dataset=source, system="other").predictions.update(answer="a lighthouse")
    shown = planned(study).conditions[0].shown["q1"]
    assert "a lighthouse" in shown.options
    assert shown.changed_answer == "the sea"


def test_without_a_right_answer_correctness_cannot_be_asked_for():
    study = draft(task={"ask": "correct"}, items={"count": 3, "seed": 1})
    changed_of(study).filter(external_id="q4:1").update(answer="")
    assert {item.id for item in planned(study).items} == {"q1", "q2", "q3"}
    study = draft(items={"ids": ["q4"]})
    changed_of(study).filter(external_id="q4:1").update(answer="")
    assert planned(study).conditions[0].shown["q4"].changed_correct is None


def test_of_several_changes_the_seed_draws_one():
    drawn = set()
    for seed in range(6):
        study = draft(items={"count": 1, "seed": seed})
        source = changed_of(study).first().dataset
        for row in list(changed_of(study)):
            run = source.runs.get()
            row.pk, row.external_id = None, row.external_id.replace(":1", ":2")
            row.save()
            Prediction.objects.create(run=run, question=row, answer="a hill", facts=[])
        first, second = (planned(study).items[0].changed.id for _time in range(2))
        assert first == second
        drawn.add(first.partition(":")[2])
    assert drawn == {"1", "2"}
