"""The form that a bot sends holds what the page offers.

A lacking field is an error.
"""

import random

import pytest

from foundation.simulated_people import BotError
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.simulation.behaviours import BEHAVIOURS, draw_times
from studyapp.simulation.bots import Bot
from studyapp.simulation.page_answers import fill
from studyapp.simulation.pages import Page, read_page

QUESTIONS = TEMPLATES["xqa-2020"].item


def _page(text: str) -> Page:
    return read_page(
        "http://testserver/study/s/item/3/", f'<title>Item 3</title><form method="post">{text}</form>'
    )


def _form(*, lacks: str = "") -> str:
    """The form of an item page but for one name."""
    names = ["csrfmiddlewaretoken", "page_key", *draw_times(BEHAVIOURS["honest"], random.Random(1))]
    names += [f"changes_{question.key}" for question in QUESTIONS]
    text = "".join(f'<input type="hidden" name="{name}" value="v">' for name in names if name != lacks)
    for question in QUESTIONS:
        for value, label in question.choices:
            if question.key != lacks:
                text += f'<label><input type="radio" name="{question.key}" value="{value}">{label}</label>'
    return text


def test_what_is_sent_comes_from_the_page():
    sent = fill(_page(_form()), QUESTIONS, Bot(0, "honest", random.Random(1)), right=True)
    assert sent["page_key"] == "v"
    assert sent["rated_correct"] in ("yes", "no")
    assert sent["changes_certainty"] in ("0", "1")


@pytest.mark.parametrize(
    ("lacks", "message"),
    [
        ("rated_correct", r"/item/3/ \(Item 3\) lacks the choice '\w+' of the question 'rated_correct'"),
        ("certainty", "lacks the choice '.' of the question 'certainty'"),
        ("client_visible_ms", "lacks the field 'client_visible_ms'"),
        ("changes_certainty", "lacks the field 'changes_certainty'"),
        ("csrfmiddlewaretoken", "lacks the field 'csrfmiddlewaretoken'"),
        ("page_key", "lacks the choice"),  # without its key the form is not that of a page
    ],
)
def test_a_lacking_field_is_an_error(lacks, message):
    with pytest.raises(BotError, match=message):
        fill(_page(_form(lacks=lacks)), QUESTIONS, Bot(0, "honest", random.Random(1)), right=True)


def test_a_question_too_many_is_an_error():
    text = _form() + '<input type="radio" name="age" value="1">'
    with pytest.raises(BotError, match="asks 'age', which is not a question of the study"):
        fill(_page(text), QUESTIONS, Bot(0, "honest", random.Random(1)), right=True)
