"""The forms of the studio have a place for every field.

Sending what is shown changes nothing.
"""

import json

import pytest

from analysis.participants.exclusion_rules import parse_rules
from studyapp.definition.definition_file import load_definition
from studyapp.definition.schema import StudyDefinition
from studyapp.studio import sample
from studyapp.studio.drafts import as_yaml, find_problems, open_draft, parse_draft
from studyapp.studio.edits import add_part
from studyapp.studio.forms import KnownNames, build_form
from studyapp.studio.steps import BY_NAME, STEPS
from studyapp.studio.widgets import read
from tests.paths import EXAMPLES
from tests.studyapp.studio.sending import sent

KNOWN = KnownNames(["world-test"], ["qi2019", "select-and-forget"], [("en", "English"), ("de", "German")])


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
    return {**draft, **read((shown := build_form(step, draft, KNOWN)).widgets, sent(shown.widgets))}


def test_every_field_of_a_definition_has_a_step():
    edited = [name for step in STEPS for name in step.fields]
    assert sorted([*edited, "study"]) == sorted(StudyDefinition.model_fields)


@pytest.mark.parametrize("name", ["everything", "study", "world-study"])
def test_sending_what_is_shown_changes_nothing(name):
    definition = example(name)
    draft = open_draft(definition.model_dump(mode="json"))
    for step in STEPS:
        draft = again(draft, step)
        assert find_problems(draft) == [], step.name
        assert stripped(parse_draft(draft).model_dump()) == stripped(definition.model_dump()), step.name


@pytest.mark.parametrize("name", ["everything", "study"])
def test_what_is_exported_is_the_same_study(name, tmp_path):
    definition = example(name)
    (tmp_path / "out.yaml").write_text(
        as_yaml(open_draft(definition.model_dump(mode="json"))), encoding="utf-8"
    )
    assert load_definition(tmp_path / "out.yaml") == definition


def rating(before, **changes):
    """Return the scale of the last question after a form was sent.

    Some fields of the form are changed.
    """
    draft = open_draft(example("study").model_dump(mode="json"))
    draft["questionnaire"]["item"][-1]["scale"] = before
    shown = build_form(BY_NAME["questionnaire"], draft, KNOWN)
    fields = sent(shown.widgets) | {f"questionnaire.item.3.scale.{k}": [v] for k, v in changes.items()}
    return read(shown.widgets, fields)["questionnaire"]["item"][-1]["scale"]


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ({"points": 5}, {"low": "No", "high": "Yes"}, {"points": 5, "ends": ["No", "Yes"]}),
        ({"points": 3, "ends": ["No", "Yes"]}, {}, {"points": 3, "ends": ["No", "Yes"]}),
        (
            {"points": 3, "ends": ["No", "Yes"]},
            {"labels": "a\nb\nc"},
            {"points": 3, "labels": ["a", "b", "c"]},
        ),
        ({"points": 3, "ends": ["No", "Yes"]}, {"points": "7"}, {"points": 7, "ends": ["No", "Yes"]}),
        ({"points": 2, "labels": ["a", "b"]}, {"labels": "c\nd"}, {"points": 2, "labels": ["c", "d"]}),
        ({"points": 3, "ends": ["No", "Yes"]}, {"low": "", "high": ""}, {"points": 3}),
    ],
)
def test_a_rating_scale_has_labels_or_ends(before, changes, after):
    assert rating(before, **changes) == after


@pytest.mark.parametrize(
    ("text", "value"),
    [("25", 25), ("0.5", 0.5), ("many", "many"), ("1e400", "1e400"), ("nan", "nan"), ("9" * 400, "9" * 400)],
)
def test_what_is_no_number_stays_for_the_definition_to_refuse(text, value):
    draft = open_draft(example("study").model_dump(mode="json"))
    shown = build_form(BY_NAME["items"], draft, KNOWN)
    items = read(shown.widgets, sent(shown.widgets) | {"items.count": [text]})["items"]
    assert items["count"] == value
    assert bool(find_problems({**draft, "items": items})) == (text != "25")


def test_every_problem_stands_beside_a_field():
    draft = open_draft(example().model_dump(mode="json"))
    draft["questionnaire"]["item"][0]["scale"] = {"kind": "single", "choices": [{"value": "A", "label": ""}]}
    draft["questionnaire"]["item"][1]["key"] = "rated_correct"
    draft["conditions"][0] = {"explanation": "tokens"}
    draft["recruitment"] = {"platform": "prolific", "outcomes": {"full": {"url": "http://x"}}}
    draft["translations"]["fr"] = {"item": {"gone": "?"}}
    problems = find_problems(draft)
    placed = [
        message for step in STEPS for _widget, message in build_form(step, draft, KNOWN, problems).problems
    ]
    assert sorted(placed) == sorted(problem.message for problem in problems)
    assert len(problems) >= 4


def test_a_value_of_a_rule_that_only_a_file_can_say_is_kept():
    draft = open_draft(example("study").model_dump(mode="json"))
    rule = {"name": "old", "kind": "answered", "question": "age", "value": 7}
    draft["exclusions"].append(rule)
    assert again(draft, BY_NAME["rules"])["exclusions"][-1] == rule


NUMBER = {"key": "years", "text": "Years?", "scale": {"kind": "number", "min": 0, "max": 80}}
RULE = {"name": "much", "kind": "answered_number", "question": "years", "at_least": 10.0}


def test_a_rule_on_a_number_is_made_by_the_form():
    draft = open_draft(example("study").model_dump(mode="json"))
    draft["questionnaire"]["item"].append(NUMBER)
    draft, at = add_part(draft, ("exclusions",), "answered_number")
    problems = [problem for problem in find_problems(draft) if problem.location[: len(at)] == at]
    assert [problem.message for problem in problems] == ["is missing"]
    shown = build_form(BY_NAME["rules"], draft, KNOWN).widgets[0].children[-1]
    question = next(widget for widget in shown.children if widget.name == "question")
    assert dict(question.options) == {"": "–", "years": "years: Years?"}
    fields = {widget.path: [str(widget.value)] for widget in shown.all()}
    fields |= {question.path: ["years"], f"{shown.path}.at_least": ["10"], f"{shown.path}.name": ["much"]}
    edited = {**draft, "exclusions": [*draft["exclusions"][:-1], read([shown], fields)[shown.name]]}
    assert edited["exclusions"][-1] == RULE
    definition = parse_draft(edited)
    assert definition is not None
    rule = definition.exclusions[-1].freeze().model_dump(mode="json")
    assert parse_rules([rule])[0].describe() == "question years answered at least 10"
    assert again(open_draft(edited), BY_NAME["rules"])["exclusions"][-1] == RULE


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"at_least": None}, "give at_least, at_most or both"),
        ({"at_most": 5}, "make two rules"),
        ({"question": "certainty"}, "certainty is not answered by a number"),
        ({"question": "gone"}, "no item question has the key 'gone'"),
    ],
)
def test_a_rule_on_a_number_that_cannot_be(change, complaint):
    draft = open_draft(example("study").model_dump(mode="json"))
    draft["questionnaire"]["item"].append(NUMBER)
    draft["exclusions"].append(RULE | change)
    assert any(complaint in problem.message for problem in find_problems(draft))
    assert again(draft, BY_NAME["rules"])["exclusions"][-1].get("name") == "much"


JUNK = ["", " ", "0", "-1", "nan", "1e999", "true", "[1]", "{", "é" * 200, "<b>", "=x", ":"]
JUNK += ["a = b\r\n= c\r\nd ="]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_whatever_is_sent_makes_a_draft_that_can_be_shown_and_kept(step, junk):
    draft = open_draft(example().model_dump(mode="json"))
    shown = build_form(step, draft, KNOWN)
    fields = {widget.path: [junk] for top in shown.widgets for widget in top.all()}
    edited = {**draft, **read(shown.widgets, fields)}
    json.dumps(edited, allow_nan=False)
    problems = find_problems(edited)
    for other in STEPS:
        built = build_form(other, edited, KNOWN, problems)
        assert len(built.problems) == sum(problem.location[0] in other.fields for problem in problems)
    assert parse_draft(edited) is None or not problems
    content = sample.build_content(sample.build_valid_part(edited))
    assert content.items
    as_yaml(edited)
