"""The questions of a part as a participant sees them, page by page.

Pure: no Django. Everything follows from the frozen study, the conditions that a participant sees and the seed
of that participant, so that a reload shows the same and an export can say what was shown.
"""

import random
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from studyapp.definition.questions.answer_scales import Choices
from studyapp.definition.questions.question import Answer, Question

AnyQuestion = TypeVar("AnyQuestion", bound=Question)


class Viewer(NamedTuple):
    """A reader of questions, as far as it decides which are shown and how.

    ``conditions`` are those that the page is about. ``seed`` is None if it is unknown, as after the data were
    made anonymous: then the order is the written one.
    """

    conditions: frozenset[str]
    is_explained: bool
    seed: int | None = None


def is_asked(question: Question, viewer: Viewer) -> bool:
    """Return whether a frozen question is asked in one of the conditions."""
    return question.only is None or not viewer.conditions.isdisjoint(question.only)


def build_pages(
    questions: Sequence[Question], viewer: Viewer, *, is_shuffled: bool = False
) -> list[list[Question]]:
    """Return the questions that a viewer is asked, page by page.

    A page or section without a question is left out. Headings are on the question that comes first now.
    """
    pages: list[list[Question]] = []
    for sections in _split(questions):
        page: list[Question] = []
        for section in sections:
            asked = [_adapt_to_viewer(question, viewer) for question in section if is_asked(question, viewer)]
            if is_shuffled and viewer.seed is not None:
                asked = _shuffle_questions(asked, random.Random(f"{viewer.seed}/questions/{section[0].key}"))
            page += [
                _replace_heading(question, section[0] if index == 0 else None)
                for index, question in enumerate(asked)
            ]
        if page:
            pages.append(page)
    return pages


def _split(questions: Sequence[Question]) -> list[list[list[Question]]]:
    """Return the sections of each page, as written."""
    pages: list[list[list[Question]]] = []
    for question in questions:
        if question.page_break or not pages:
            pages.append([[]])
        elif question.heading is not None:
            pages[-1].append([])
        pages[-1][-1].append(question)
    return pages


def _adapt_to_viewer(question: Question, viewer: Viewer) -> Question:
    """Return a question with the viewer's wording and order of choices."""
    if question.unexplained_text is not None and not viewer.is_explained:
        question = question.model_copy(update={"text": question.unexplained_text})
    if question.random_choices and viewer.seed is not None and isinstance(question.scale, Choices):
        choices = list(question.scale.choices)
        movable = choices[: len(choices) - question.fixed]
        random.Random(f"{viewer.seed}/choices/{question.key}").shuffle(movable)
        scale = question.scale.model_copy(update={"choices": [*movable, *choices[len(movable) :]]})
        question = question.model_copy(update={"scale": scale})
    return question


def _shuffle_questions(questions: Sequence[Question], rng: random.Random) -> list[Question]:
    """Shuffle questions; those that depend on one stay behind it."""
    blocks: dict[str, list[Question]] = {}
    block_of: dict[str, str] = {}
    for question in questions:
        before = question.show_if.question if question.show_if else ""
        block = block_of.get(before, question.key)
        block_of |= {part.key: block for part in question.parts}
        blocks.setdefault(block, []).append(question)
    order = list(blocks.values())
    rng.shuffle(order)
    return [question for block in order for question in block]


def _replace_heading(question: Question, head: Question | None) -> Question:
    """Return a question with the heading of another one, or with none."""
    heading, text = (head.heading, head.heading_text) if head else (None, None)
    if (question.heading, question.heading_text) == (heading, text):
        return question
    return question.model_copy(update={"heading": heading, "heading_text": text})


def select_open_questions(page: Sequence[Question], earlier: Mapping[str, Answer]) -> list[Question]:
    """Return the questions of a page that answers of earlier pages leave.

    One that depends on another question of the page stays, because that may still be answered either way.
    """
    kept: list[Question] = []
    names: set[str] = set()
    head: Question | None = None
    for question in page:
        head = question if question.heading is not None else head
        if _is_open(question, names, earlier):
            kept.append(question if head is None else _replace_heading(question, head))
            names |= {part.key for part in question.parts}
            head = None
    return kept


def _is_open(question: Question, kept: Set[str], earlier: Mapping[str, Answer]) -> bool:
    shown = question.show_if
    return shown is None or shown.question in kept or shown.holds(earlier.get(shown.question))


def find_next_page(
    pages: Sequence[Sequence[Question]], number: int, earlier: Mapping[str, Answer]
) -> int | None:
    """Return the first page from a 1-based number on that asks something.

    Returns None if no page is left.
    """
    for index in range(number, len(pages) + 1):
        if select_open_questions(pages[index - 1], earlier):
            return index
    return None


def select_visible_questions(
    questions: Sequence[AnyQuestion], answers: Mapping[str, Answer]
) -> list[AnyQuestion]:
    """Return the questions that these answers do not hide."""
    return [
        question
        for question in questions
        if question.show_if is None or question.show_if.holds(answers.get(question.show_if.question))
    ]
