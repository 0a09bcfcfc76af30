"""The forms of the studio: every field has a place, and sending what is shown changes nothing."""

from pathlib import Path

import pytest

from studyapp.definition import StudyDefinition, load_definition
from studyapp.studio.drafts import as_yaml, opened, problems, valid
from studyapp.studio.forms import Known, form
from studyapp.studio.steps import STEPS, UNEDITED
from studyapp.studio.widgets import read
from tests.studyapp.studio.sending import sent

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
KNOWN = Known(["world-test"], ["qi2019", "select-and-forget"], [("en", "English"), ("de", "German")])


def example(name="everything"):
    return load_definition(EXAMPLES / f"{name}.yaml")


def stripped(part):
    """Blanks around a text are not kept by a form."""
    if isinstance(part, dict):
        return {name: stripped(value) for name, value in part.items()}
    if isinstance(part, list):
        return [stripped(value) for value in part]
    return part.strip() if isinstance(part, str) else part


def again(draft, step):
    return {**draft, **read((shown := form(step, draft, KNOWN)).widgets, sent(shown.widgets))}


def test_every_field_of_a_definition_has_a_step():
    edited = [name for step in STEPS for name in step.fields]
    assert sorted([*edited, *UNEDITED]) == sorted(StudyDefinition.model_fields)


@pytest.mark.parametrize("name", ["everything", "study", "world-study"])
def test_sending_what_is_shown_changes_nothing(name):
    definition = example(name)
    draft = opened(definition.model_dump(mode="json"))
    for step in STEPS:
        draft = again(draft, step)
        assert problems(draft) == [], step.name
        assert stripped(valid(draft).model_dump()) == stripped(definition.model_dump()), step.name


@pytest.mark.parametrize("name", ["everything", "study"])
def test_what_is_exported_is_the_same_study(name, tmp_path):
    definition = example(name)
    (tmp_path / "out.yaml").write_text(as_yaml(opened(definition.model_dump(mode="json"))), encoding="utf-8")
    assert load_definition(tmp_path / "out.yaml") == definition
