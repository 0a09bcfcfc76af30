"""Drafts from files come in although they are not complete.

Some files hold no draft at all.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from studyapp.definition.definition_file import load_definition
from studyapp.definition.yaml_document import DefinitionError
from studyapp.studio import starts
from studyapp.studio.drafts import TEMPLATES_OF, as_yaml, find_problems, fit_draft, open_draft
from studyapp.studio.edits import set_value
from studyapp.studio.files import read_draft
from studyapp.studio.forms import KnownNames, build_form
from studyapp.studio.steps import STEPS
from studyapp.studio.texts import INSTRUCTIONS, TASK_SENTENCES, TITLE_FOR_PARTICIPANTS
from tests.paths import EXAMPLES

EVERYTHING = EXAMPLES / "everything.yaml"


# Seven lines that stand for ten million values.
BOMB = "study: a\na: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]" for before, name in itertools.pairwise("abcdefg")
)


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    return open_draft(load_definition(EVERYTHING).model_dump(mode="json"))


def places(value: Any, location: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in rows:
        yield (*location, name), child
        yield from places(child, (*location, name))


def test_it_works(everything):
    assert read_draft(as_yaml(everything), "x.yaml") == read_draft(EVERYTHING.read_text("utf-8"), "y.yaml")


def test_drafts_with_something_missing_or_wrong_come_back_as_they_were(everything):
    """Each field in turn is left out, or holds what somebody might type in it."""
    parts = list(places(everything))
    for number, (location, value) in enumerate(parts[:: max(1, len(parts) // 50)]):
        if location[-1] in ("study", "kind"):  # what a draft has to have
            continue
        new = None if number % 2 or isinstance(value, dict | list) else "?"
        draft = set_value(everything, location, new)
        again = read_draft(as_yaml(draft), "x.yaml")
        assert open_draft(again) == open_draft(draft), location
        assert find_problems(again) == find_problems(draft), location


SCREENING = "study: a\nscreening:\n  - {key: g, text: T"


@pytest.mark.parametrize("start", starts.STARTS)
def test_a_start_without_a_dataset_is_a_draft(start):
    draft = starts.build_draft(starts.STARTS[start], slug="a", title="A", dataset="", systems=["one"])
    assert find_problems(draft)
    assert read_draft(as_yaml(draft), "x.yaml") == draft


def test_a_date_stays_what_it_says():
    assert read_draft("study: a\nprivacy: {retain_until: 2031-02-03}", "x")["privacy"] == {
        "retain_until": "2031-02-03"
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "x.yaml:1: must be a mapping of fields"),
        ("- a", "x.yaml:1: must be a mapping of fields"),
        ("title: [", "x.yaml:1: is not valid YAML"),
        ("title: A", "x.yaml:1: study: is missing"),
        ("study: Not so", "x.yaml:1: study: must match"),
        ("study: a\ntitle: A\ntitle: B", "x.yaml:3: the key 'title' is given twice"),
        ("study: a\nconditions: one", "x.yaml:2: conditions: "),
        ("study: a\nconditions:\n  - one", "x.yaml:3: conditions[1]: must be a mapping of fields"),
        ("study: a\nconditions:\n  - {system: [a]}", "x.yaml:3: conditions[1].system: "),
        ("study: a\nitems: {count: {a: 1}}", "x.yaml:2: items.count: "),
        ("study: a\nexclusions:\n  - {kind: mood}", "x.yaml:3: exclusions[1]: unknown kind 'mood'"),
        ("study: a\nscreening:\n  - {accept: 5}", "x.yaml:3: screening[1].accept: "),
        ("study: a\nitems: {count: .inf}", "x.yaml:2: items.count: must be a finite number"),
        ('study: a\ntitle: "a\\0b"', "x.yaml:2: title: contains a character that cannot be stored"),
        ("study: a\ntitle: !!binary aGk=", "x.yaml:2: title: must be text, a number"),
        ("study: a\nitems: {1: 2}", "x.yaml:2: items: field names must be text"),
        ("study: a\nitems: &x\n  - *x", "x.yaml:2: is part of itself"),
        ("study: a\ntitle: " + "[" * 1500, "x.yaml:1: is nested too deeply"),
        (f"{SCREENING}, quotas: {{a: .nan}}}}", "x.yaml:3: screening[1].quotas.a: must be a finite number"),
        (f"{SCREENING}, quotas: {{a: {{b: 1}}}}}}", "x.yaml:3: screening[1].quotas.a: must be"),
        (f"{SCREENING}, quotas: {{yes: 1}}}}", "x.yaml:3: screening[1].quotas: field names must be text"),
        (f"{SCREENING}, scale: {{kind: slider, min: 1:59:59}}}}", "x.yaml:3: "),
        (f"{SCREENING}, scale: {{kind: matrix, rows: {{1: A}}}}}}", "x.yaml:3: screening[1].scale.rows: "),
        (f"{SCREENING}, image: [1]}}", "x.yaml:3: screening[1].image: must be a mapping of fields"),
        (
            BOMB,
            "x.yaml:1: has too many parts",
        ),
    ],
)  # fmt: skip
def test_what_is_no_draft_is_told_by_line_and_field(text, complaint):
    with pytest.raises(DefinitionError) as error:
        read_draft(text, "x.yaml")
    assert complaint in str(error.value)


def test_whatever_comes_in_is_shown(everything):
    """The studio refuses a wrong value anywhere, or every step can show it."""
    parts = list(places(everything))
    taken = 0
    for number, (location, _value) in enumerate(parts[:: max(1, len(parts) // 25)]):
        wrong = [5, "x", [1], {"a": 1}, True][number % 5]
        try:
            draft = read_draft(yaml.safe_dump(set_value(everything, location, wrong)), "x.yaml")
        except DefinitionError:
            continue
        taken += 1
        for step in STEPS:
            build_form(step, open_draft(draft), KnownNames(), find_problems(draft))
    assert taken > 3


def test_questions_and_rules_that_nobody_changed_follow_the_task():
    verification = open_draft({"study": "s", "title": "S"})
    advice = fit_draft(verification | {"task": {"kind": "advice"}}, verification)
    assert [question["key"] for question in advice["questionnaire"]["item"]] == ["helpfulness"]
    assert [rule["name"] for rule in advice["exclusions"]] == ["too-fast", "too-slow"]
    assert fit_draft({**advice, "task": {"kind": "verification"}}, advice) == verification | {
        "task": {"kind": "verification"}
    }


def test_the_texts_of_a_new_study_follow_the_task():
    verification, advice = (
        open_draft(starts.build_draft(starts.STARTS[name], slug="s", title="S", dataset="d", systems=["a"]))
        for name in ("xqa-2020", "advice")
    )
    verification["consent"] = verification["consent"].replace("[Say", "Ask Ada. [Say")
    changed = fit_draft(verification | {"task": {"kind": "advice"}}, verification)
    assert changed["instructions"] == advice["instructions"]
    assert changed["consent"] == advice["consent"].replace("[Say", "Ask Ada. [Say")
    back = fit_draft(changed | {"task": {"kind": "verification"}}, changed)
    assert (back["instructions"], back["consent"]) == (verification["instructions"], verification["consent"])
    assert TASK_SENTENCES.keys() == INSTRUCTIONS.keys() == TEMPLATES_OF.keys()


@pytest.mark.parametrize("name", starts.STARTS)
def test_the_texts_of_a_new_study_follow_its_language(name):
    english = open_draft(starts.build_draft(
        starts.STARTS[name], slug="s", title="S", dataset="d", systems=["a"],
        title_for_participants=TITLE_FOR_PARTICIPANTS,
    ))  # fmt: skip
    english["consent"] = english["consent"].replace("[Say", "Ask Ada. [Say")
    german = fit_draft(english | {"language": "de"}, english)
    texts = [german["title_for_participants"], german["consent"], *texts_within(german["instructions"])]
    assert "Ask Ada. [" in german["consent"]
    assert [text for text in texts if re.search(r"\b(the|you|answers?)\b", text, re.IGNORECASE)] == []
    assert fit_draft(german | {"language": "en"}, german) == english | {"language": "en"}
    edited = fit_draft(english | {"language": "de", "instructions": "Read."}, english)
    assert edited["instructions"] == "Read."


def texts_within(instructions):
    if isinstance(instructions, str):
        return [instructions]
    return [part if isinstance(part, str) else part["text"] for part in instructions]


def test_questions_of_ones_own_stay_when_the_task_changes():
    before = open_draft({"study": "s", "title": "S"})
    before["questionnaire"]["item"] = before["questionnaire"]["item"][:1]
    after = fit_draft(before | {"task": {"kind": "advice"}}, before)
    assert after["questionnaire"] == before["questionnaire"]
