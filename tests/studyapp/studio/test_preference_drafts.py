"""Tests of preference studies in the studio: start, task and criteria.

They cover the switch of the task, and the fields of criteria.
"""

from studyapp.definition.schema import StudyDefinition
from studyapp.studio import sample
from studyapp.studio.drafts import fit_draft, open_draft
from studyapp.studio.edits import add_part, remove_part
from studyapp.studio.forms import KnownNames, build_form
from studyapp.studio.starts import STARTS, build_draft
from studyapp.studio.steps import BY_NAME


def started(**changes):
    draft = build_draft(STARTS["preference"], slug="s", title="T", dataset="d", systems=["a", "b"])
    return {**draft, **changes}


def widgets(step, content):
    built = build_form(BY_NAME[step], content, KnownNames(systems=["a", "b"]))
    return {widget.path: widget for top in built.widgets for widget in top.all()}


def test_a_start_is_a_valid_study_of_all_systems():
    definition = StudyDefinition.model_validate(started())
    assert [condition.name for condition in definition.conditions] == ["a", "b", "ground truth"]
    assert (definition.design, definition.condition_order) == ("within", "shuffled")
    assert "Say which of the two is better" in definition.instructions


def test_a_draft_that_becomes_a_preference_study_takes_its_design():
    before = open_draft(started(task="verification", design="between", condition_order="blocked"))
    switched = fit_draft({**before, "task": {"kind": "preference"}}, before)
    assert StudyDefinition.model_validate(switched).design == "within"
    back = fit_draft({**switched, "task": {"kind": "verification"}}, switched)
    assert StudyDefinition.model_validate(back).design == "between"


def test_criteria_are_added_and_removed():
    content, location = add_part(open_draft(started()), ("task", "criteria"))
    assert location == ("task", "criteria", 1)
    shown = widgets("task", content)
    assert shown["task.criteria.0.text"].value == "Which explanation is better?"
    assert shown["task.criteria.1.key"].value == "criterion_1"
    less = remove_part(remove_part(content, location), ("task", "criteria", 0))
    assert StudyDefinition.model_validate(less).task.criteria[0].key == "overall"


def test_attention_items_and_translations_know_the_criteria():
    check = {"id": "read", "kind": "instructed", "position": 2, "text": "Choose B.", "expected": {}}
    content = open_draft(started(attention=[check], translations={"de": {}}))
    assert "attention.0.expected.preferred_overall" in widgets("checks", content)
    words = {widget.label: widget.quoted for widget in widgets("translations", content).values()}
    assert words["Which explanation is better?"] == "Welche Erklärung ist besser?"


def test_an_incomplete_draft_is_previewed_in_two_placeholders():
    content = sample.build_content(sample.build_valid_part({"task": "preference"}))
    first, second = (condition.shown["made-up"] for condition in content.conditions)
    assert first != second
