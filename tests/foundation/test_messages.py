"""Problems of a draft are German in a German studio, English in commands."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from annotation.states import ANNOTATION, PROJECT
from foundation.messages import Message, extract_message, say, translate_message
from foundation.state_machine import ForbiddenTransition, find_next_status
from foundation.translated_messages import translate_error, translate_text
from foundation.validation_messages import FORMS
from jobs.actions.sliced_runs import TRANSITIONS as RUN
from studyapp.rules.states import PARTICIPANT, STUDY
from studyapp.studio.drafts import find_problems, open_draft
from studyapp.studio.forms import build_form
from studyapp.studio.steps import STEPS
from studyapp.studio.widgets import read
from tests.studyapp.studio.test_forms import JUNK, KNOWN, example

APPS = ("accounts", "annotation", "foundation", "jobs", "predictions", "studyapp")
# The functions that take a template, and its position.
TEMPLATES = {"say": 0, "value_error": 0, "field_error": 1, "bad_edit": 1, "StudyRefused": 1, "conflict_at": 1}
_PLACE = re.compile(r"%\(\w+\)[rsg]")


def forms() -> set[str]:
    """Every form that the app makes a sentence of."""
    texts = set(FORMS.values())
    root = Path(settings.BASE_DIR)
    for path in sorted(path for app in APPS for path in (root / app).rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TEMPLATES:
                template = call.args[TEMPLATES[call.func.id]]
                texts |= {template.value} if isinstance(template, ast.Constant) else set()
    return texts


@pytest.mark.parametrize("table", [ANNOTATION, PROJECT, PARTICIPANT, STUDY, RUN])
def test_a_forbidden_act_is_refused_in_german(table):
    for transition in table:
        with pytest.raises(ForbiddenTransition) as refused:
            find_next_status(
                table, transition.act, "draft" if "draft" not in transition.sources else "running"
            )
        assert f"cannot {transition.act} while" in str(refused.value)
        with translation.override("de"):
            german = translate_error(refused.value)
        english = {transition.act, *transition.sources}
        assert not {f"„{word}“" for word in english} & set(re.findall("„.*?“", german))


def test_it_works():
    with translation.override("de"):
        assert translate_text(say("two %(kind)s are named %(name)r", kind=say("rules"), name="a")) == (
            "zwei Regeln heißen 'a'"
        )
        assert translate_error(ValueError(say("is missing"))) == "fehlt"
        assert translate_text("100% else's words") == "100% else's words"


def test_a_sentence_is_its_english_text():
    message = say("%(n)s items of %(whose)s", n=3, whose=say("the gold of this dataset"))
    assert message == "3 items of the gold of this dataset"
    assert extract_message(ValueError(message)) is message
    assert extract_message(ValueError("plain", 3)) == "('plain', 3)"
    assert translate_message(message, "<{}>".format) == "<3 items of <the gold of this dataset>>"


def test_every_form_is_there_in_german():
    english = forms()
    assert len(english) > 280
    with translation.override("de"):
        german = {text: translation.gettext(text) for text in english}
    # Places alone, such as a name and its problem, are the same in every language.
    same = {text for text, other in german.items() if text == other}
    assert {text for text in same if re.search(r"[a-z]{2}", re.sub(r"%\(\w+\)\w", "", text))} == set()
    places = {text: (set(_PLACE.findall(text)), set(_PLACE.findall(other))) for text, other in german.items()}
    assert {text for text, (here, there) in places.items() if here != there} == set()


def test_whatever_is_sent_to_the_studio_is_answered_in_german():
    problems = []
    for junk in JUNK:
        for step in STEPS:
            draft = open_draft(example().model_dump(mode="json"))
            shown = build_form(step, draft, KNOWN).widgets
            fields = {widget.path: [junk] for top in shown for widget in top.all()}
            problems += find_problems({**draft, **read(shown, fields)})
    assert len(problems) > 100
    assert {problem.message for problem in problems if not isinstance(problem.message, Message)} == set()
