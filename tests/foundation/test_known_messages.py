"""Stored English texts of servers and runs appear in German."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from foundation.known_messages import HEADS, TEMPLATES, recognise_message
from foundation.messages import Message
from foundation.translated_messages import translate_text
from modelserver.wire.schema import QAItem, find_text_problem

# Errors that reach the reasons of failed items and runs. Loading of weights and files is left out: their
# texts are for administrators, and the page Systems shows them as they are.
ERRORS = {"InvalidRequest", "PredictionFailed", "ItemFailed", "InvalidReply", "InvalidAnswer", "Unavailable"}
ERRORS |= {"Overloaded", "TooLarge", "DeadlineExceeded", "BadResponse", "MixedRevisions", "WorkerDied"}
UNSEEN = ("training", "evaluation", "fake_")
# About requests of other programs, and ends of texts that stand elsewhere.
OTHERS = {"the process ended X", "X: predictions.X: X X"}


def raised() -> Iterator[str]:
    """Yield every text with which the model server refuses an item or a run.

    X stands for each value.
    """
    root = Path(settings.BASE_DIR) / "modelserver"
    for path in sorted(root.rglob("*.py")):
        if any(part.startswith(UNSEEN) for part in path.relative_to(root).parts):
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ERRORS:
                yield from map(filled, call.args[:1])


def filled(text: ast.expr) -> str:
    if isinstance(text, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "X" for part in text.values]
        return (
            "".join(parts).replace("forX:", "for:").replace("Xlabels", "labels")
        )  # values that may be empty
    return str(text.value) if isinstance(text, ast.Constant) else ""


def test_every_reason_of_the_model_server_has_a_template():
    texts = {text for text in raised() if text.strip("X: ") and not text.startswith("the body ")} - OTHERS
    assert len(texts) > 50
    assert {text for text in texts if not isinstance(recognise_message(text), Message)} == set()


@pytest.mark.parametrize("template", [*HEADS, *TEMPLATES])
def test_every_template_has_a_german_text_and_finds_itself(template):
    example = template.replace("%(problem)s", "it is empty")
    with translation.override("de"):
        assert translate_text(example) != example


@pytest.mark.parametrize(
    ("text", "german"),
    [
        (
            "context: 1234 tokens; at most 512 are read",
            "Kontext: 1234 Tokens; höchstens 512 werden gelesen",
        ),
        (
            "qa failed: PredictionFailed: the system's scores are not numbers: its weights are damaged",
            "qa ist gescheitert: PredictionFailed: die Werte des Systems sind keine Zahlen: seine Gewichte "
            "sind beschädigt",
        ),
        (
            "it is empty, twice in a row",
            "ist leer, zweimal nacheinander",
        ),
        (
            "http://127.0.0.1:1 cannot be reached: Connection refused",
            "http://127.0.0.1:1 ist nicht erreichbar: Connection refused",
        ),
        (
            "a: the process ended by SIGKILL, 3 times in a row",
            "a: der Prozess endete durch SIGKILL, 3-mal nacheinander",  # codespell:ignore
        ),
        ("x: step 3: there are 2 values for 5 tokens", "x: Schritt 3: es gibt 2 Werte zu 5 Tokens"),
        (
            "question: 30,000 characters; at most 2 are read",
            "Frage: 30,000 Zeichen; höchstens 2 werden gelesen",
        ),
        ("step 3: KeyError", "step 3: KeyError"),
        ("given up after 3 tries: answered 500", "nach 3 Versuchen aufgegeben: hat mit 500 geantwortet"),
    ],
)
def test_numbers_and_names_stay(text, german):
    assert translate_text(text) == text
    with translation.override("de"):
        assert translate_text(text) == german


def test_what_the_server_says_of_a_text_is_known():
    item = QAItem(id="q", question="x" * 200_001, context=[("A", ["B."])])
    problem = find_text_problem(item)
    assert problem is not None
    with translation.override("de"):
        assert "Zeichen; höchstens" in translate_text(problem)


@pytest.mark.parametrize("text", ["", "Segmentation fault", "KeyError: 'a: b'", "50 % of %(it)s"])
def test_other_texts_stay(text):
    with translation.override("de"):
        assert translate_text(text) == text
