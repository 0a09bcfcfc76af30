"""Tests of tasks in a definition: their forms and what they refuse.

They cover studies that do not use them, too.
"""

import pytest
from pydantic import ValidationError

from studyapp.definition.schema import StudyDefinition
from studyapp.definition.tasks import Advice, Verification

STUDY = {
    "study": "s",
    "title": "A study",
    "dataset": "world",
    "conditions": [{"advice": False}, {"system": "a", "explanation": "none"}, {"system": "a"}],
    "consent": "Yes.",
    "task": "advice",
    "questionnaire": {"item": [], "post_survey": []},
}
ASKED = {"key": "helpful", "text": "Did it help?", "scale": "yes_no"}


def definition(**changes: object) -> StudyDefinition:
    return StudyDefinition.model_validate({**STUDY, **changes})


def test_it_works():
    written = definition(task={"kind": "advice", "time_limits": {"initial": 60}})
    assert isinstance(written.task, Advice)
    assert written.task.confidence
    assert (written.task.time_limits.initial, written.task.time_limits.final) == (60, None)
    control, unexplained, explained = written.conditions
    assert (control.name, control.explanation, control.system) == ("no advice", "none", None)
    assert [unexplained.advice, explained.advice] == [True, True]


def test_a_word_is_a_task_with_its_defaults():
    assert definition().task == Advice(kind="advice")
    plain = {name: value for name, value in STUDY.items() if name not in ("task", "questionnaire")}
    assert StudyDefinition.model_validate({**plain, "conditions": [{"system": "a"}]}).task == Verification()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "advise"}, "advise"),
        ({"task": {"kind": "advice", "time_limits": {"initial": 1}}}, "greater than or equal to 5"),
        ({"task": {"kind": "advice", "bonus": {"per_correct": 0, "currency": "GBP"}}}, "greater than 0"),
        ({"task": {"kind": "advice", "bonus": {"per_correct": 1, "currency": "pounds"}}}, "pattern"),
        ({"task": {"kind": "verification", "confidence": True}}, "extra"),
        ({"task": "verification", "conditions": [{"advice": False}]}, "for the task advice only"),
        ({"task": "verification", "conditions": [{"system": "a"}]}, "at least 1 item"),
        ({"conditions": [{"advice": False, "system": "a"}]}, "has no system"),
        ({"conditions": [{"advice": False, "ground_truth": True}]}, "has no system"),
        ({"conditions": [{"advice": False, "explanation": "facts"}]}, "has none"),
        ({"conditions": [{"advice": False}, {"advice": False}]}, "no advice"),
        (
            {"questionnaire": {"item": [{**ASKED, "key": "final_thoughts"}], "post_survey": []}},
            "another column",
        ),
        ({"questionnaire": {"item": [{**ASKED, "key": "advice"}], "post_survey": []}}, "another column"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        definition(**changes)


def test_the_names_stay_free_where_the_task_does_not_use_them():
    questionnaire = {
        "item": [{**ASKED, "key": "final_thoughts"}],
        "post_survey": [{**ASKED, "key": "advice"}],
    }
    written = definition(task="verification", conditions=[{"system": "a"}], questionnaire=questionnaire)
    assert [question.key for question in written.questionnaire.item] == ["final_thoughts"]
