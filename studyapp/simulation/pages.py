"""A page as a participant meets it: its form, and what stands on it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlsplit

from foundation.simulated_people import BotError
from studyapp.definition.task_designs.task_questions import CANNOT_TELL, PREDICTED

# Correctness of answers, by question and answer as shown; None if unknown.
Knowledge = Mapping[tuple[str, str], bool | None]
# The right predictions by question and shown answer, then by the answers to choose from. In a simulation no
# answer is shown, and it is the name of the condition.
Predictions = Mapping[tuple[str, str], Mapping[frozenset[str], str]]
_FORM = re.compile(r'<form\b[^>]*\bmethod="post"[^>]*>(.*?)</form>', re.DOTALL)
_CONTROL = re.compile(r"<(?:input|button|select|textarea)\b([^>]*)>")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_TITLE = re.compile(r"<title>([^<]*)</title>")
_QUESTION = re.compile(r'class="question-text">(.*?)</h1>', re.DOTALL)
_AROUND_TEXT = re.compile(r'<span class="visually-hidden">[^<]*</span>|<[^>]*>')
SHOWN_ANSWER = re.compile(r'<div class="answer">\s*<p[^>]*>[^<]*</p>\s*<p( class="none")?>([^<]*)</p>')
_CODE = re.compile(r'<p class="code">([^<]+)</p>')


@dataclass(frozen=True)
class Page:
    """A page as a bot sees it: hidden fields, and controls to fill.

    ``choices`` holds the values of radio groups, boxes and buttons, and the present value of a text or
    number.
    """

    url: str
    text: str
    fields: dict[str, str]
    choices: dict[str, list[str]]

    @property
    def name(self) -> str:
        """Return the last part of the address, which names the page.

        It is "consent", a stage, the position of an item, "survey" or "done".
        """
        return urlsplit(self.url).path.rstrip("/").rpartition("/")[2]

    def __str__(self) -> str:
        title = _TITLE.search(self.text)
        return f"{urlsplit(self.url).path} ({unescape(title[1]).strip() if title else 'without a title'})"


def read_page(url: str, text: str) -> Page:
    """Read the form with a page key; a page without it has no controls."""
    fields: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    for form in _FORM.findall(text):
        if 'name="page_key"' not in form:
            continue
        for control in _CONTROL.findall(form):
            attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(control)}
            name, value = attributes.get("name"), attributes.get("value", "")
            if name is None:
                continue
            if attributes.get("type") == "hidden":
                fields[name] = value
            else:
                choices.setdefault(name, []).append(value)
    return Page(url, text, fields, choices)


def find_completion_code(page: Page) -> str:
    """Return the completion code that a page shows; empty without one."""
    code = _CODE.search(page.text)
    return unescape(code[1]) if code else ""


def normalise_spaces(text: str) -> str:
    """Return a text as a page shows it: any white space is one space."""
    return " ".join(text.split())


def find_question(page: Page) -> str:
    """Return the question that an item page shows, without its highlights."""
    question = _QUESTION.search(page.text)
    if question is None:
        raise BotError(f"{page} shows no question")
    return normalise_spaces(unescape(_AROUND_TEXT.sub("", question[1])))


def is_right(page: Page, knowledge: Knowledge) -> bool | None:
    """Return the stored correctness of the answer on an item page."""
    key = _read_question_and_answer(page)
    if key not in knowledge:
        raise BotError(f"{page} shows {key[1]!r} as answer to {key[0]!r}, which no condition does")
    return knowledge[key]


def _read_question_and_answer(page: Page) -> tuple[str, str]:
    """Return the question and the answer that an item page shows."""
    answer = SHOWN_ANSWER.search(page.text)
    if answer is None:
        raise BotError(f"{page} shows no question with an answer")
    return find_question(page), "" if answer[1] else unescape(answer[2])


def find_right_prediction(page: Page, predictions: Predictions) -> str:
    """Return the right one of the predictions that an item page offers."""
    offered = frozenset(page.choices.get(PREDICTED, [])) - {CANNOT_TELL}
    right = predictions.get(_read_question_and_answer(page), {}).get(offered)
    if right is None:
        raise BotError(f"{page} offers {sorted(offered)} as predictions, which no condition does")
    return right
