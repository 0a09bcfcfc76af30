"""Tests of the items of a simulation: balance, refusals, candidates.

The candidates are the answers to choose from.
"""

import pytest

from predictions.models import Prediction, Question
from studyapp.actions.correctness import judge, queue_answers
from studyapp.errors import StudyRefused
from studyapp.models import JudgedAnswer
from studyapp.queries.design.designs import build_design
from studyapp.queries.design.drafts import read_definition
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
BOTH = [{"system": "helper"}, {"system": "other"}]


def planned(study):
    return build_design(read_definition(study), study.workspace).content


def draft(**changes):
    return factories.make_simulation(launched=False, **changes)


def test_it_works():
    study = draft(practice={"count": 1, "seed": 2})
    content = planned(study)
    for condition in content.conditions:
        shown = [condition.shown[item.id] for item in content.items]
        assert sorted(stimulus.correct for stimulus in shown) == [False] * 3 + [True] * 3
        assert all(
            stimulus.answer in stimulus.options and 2 <= len(stimulus.options) <= 5 for stimulus in shown
        )
    first, second = content.conditions
    assert all(first.shown[item.id].options == second.shown[item.id].options for item in content.items)
    assert content.practice[0].id not in {item.id for item in content.items}
    assert planned(study) == content


def test_the_order_of_options_does_not_show_the_answer():
    content = planned(draft())
    places = {
        shown.options.index(shown.answer) for shown in content.conditions[0].shown.values() if shown.answer
    }
    assert len(places) > 1


def test_a_system_that_is_seldom_wrong_is_refused_with_what_is_missing():
    study = draft()
    Prediction.objects.filter(question__external_id__in=["q2", "q4", "q6", "q8"]).update(answer="Kolwen 2")
    Question.objects.filter(external_id__in=["q2", "q4", "q6", "q8"]).update(answer="Kolwen 2")
    with pytest.raises(
        StudyRefused,
        match=r"need 3 questions that helper answers correctly and 3 that it answers wrongly; every "
        r"condition can show 10 and 2",
    ) as refusal:
        planned(study)
    assert refusal.value.field == "task.blocks"


def test_judges_decide_whether_an_answer_is_correct():
    study = draft()
    before = {item: shown for item, shown in planned(study).conditions[0].shown.items() if not shown.correct}
    for item, shown in before.items():
        question = Question.objects.get(external_id=item)
        queue_answers(answers=[(question.pk, shown.answer)], by=None)
        judge(judged=JudgedAnswer.objects.get(question=question), is_correct=True, by=factories.make_user())
    after = planned(study).conditions[0].shown
    assert sorted(shown.correct for shown in after.values()) == [False] * 3 + [True] * 3
    again = before.keys() & after.keys()
    assert again
    assert all(after[item].correct for item in again)
    for item in again:  # the gold answer means the same, and choosing it would count as wrong
        assert Question.objects.get(external_id=item).answer not in after[item].options


def test_several_systems_are_balanced_together():
    content = planned(draft(conditions=BOTH))
    for condition in content.conditions:
        assert sum(bool(condition.shown[item.id].correct) for item in content.items) == 3
    answers = [
        [condition.shown[item.id].answer for item in content.items] for condition in content.conditions
    ]
    assert answers[0] != answers[1]


def test_listed_items_have_to_be_balanced():
    ids = ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert [item.id for item in planned(draft(items={"ids": ids})).items] == ids
    with pytest.raises(StudyRefused, match="answers 4 of these items correctly and 2 wrongly") as refusal:
        draft(items={"ids": ["q1", "q2", "q3", "q5", "q6", "q7"]})
    assert refusal.value.field == "items.ids"


def test_a_listed_item_without_gold_answer_is_refused():
    study = draft(items={"ids": ["q1", "q2", "q3", "q4", "q5", "q6"]})
    Question.objects.filter(external_id="q4").update(answer="")
    with pytest.raises(StudyRefused, match="the gold answer of 'q4' is unknown") as refusal:
        planned(study)
    assert refusal.value.field == "items.ids.3"


def test_questions_without_gold_answer_are_never_drawn():
    study = draft()
    Question.objects.filter(external_id__in=["q1", "q2", "q3", "q4"]).update(answer="")
    drawn = {item.id for item in planned(study).items}
    assert not drawn & {"q1", "q2", "q3", "q4"}


def test_a_question_with_one_candidate_is_refused():
    study = draft()
    Question.objects.update(context=[["", ["Nothing."]]])
    with pytest.raises(StudyRefused, match="has no second answer to choose from"):
        planned(study)


def test_correctness_needs_no_candidates():
    study = draft(task={"ask": "correct"})
    Question.objects.update(context=[["", ["Nothing."]]])
    assert all(not shown.options for shown in planned(study).conditions[0].shown.values())
