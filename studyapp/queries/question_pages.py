"""Reads of the questions on the pages of a participant."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from foundation.database.days import measure_seconds
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.flow import Viewer, build_pages, find_next_page, select_open_questions
from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.task_designs.task_questions import (
    Words,
    limit_of,
    list_check_questions,
    list_task_pages,
    list_task_questions,
    select_page_questions,
)
from studyapp.definition.tasks import Simulation
from studyapp.models import Item, Participant, Stage, Trial
from studyapp.queries.studies import map_condition_names
from studyapp.rules.assignment import derive_seed
from studyapp.rules.survey_pages import merge_answers

# The pages with a form: an item, the survey at the end, or a stage before the items.
PageName = Literal["item", "survey", "screening", "instructions", "comprehension", "pre_survey"]


def list_part_questions(content: FrozenStudy, page: str) -> Sequence[Question]:
    """Return all questions of a part, also those for some conditions."""
    questions: dict[str, Sequence[Question]] = {
        "item": content.item_questionnaire,
        "survey": content.post_survey,
        "screening": content.screening,
        "instructions": [],
        "comprehension": content.comprehension_questions,
        "pre_survey": content.pre_survey,
    }
    return questions[page]


def list_stages(content: FrozenStudy) -> list[Stage]:
    """Return the stages that a study has, in order; items come last."""
    has = {
        Stage.SCREENING: bool(content.screening),
        Stage.INSTRUCTIONS: content.instructions_page,
        Stage.COMPREHENSION: content.comprehension is not None,
        Stage.PRE_SURVEY: bool(content.pre_survey),
        Stage.ITEMS: True,
    }
    return [stage for stage in Stage if has[stage]]


def build_part_pages(content: FrozenStudy, page: PageName, viewer: Viewer) -> list[list[Question]]:
    """Return the questions of a part for a viewer, page by page."""
    return build_pages(list_part_questions(content, page), viewer, is_shuffled=is_shuffled(content, page))


def is_shuffled(content: FrozenStudy, page: PageName) -> bool:
    """Return whether each participant sees the questions in an order drawn."""
    return ("post_survey" if page == "survey" else page) in content.random_order


def build_viewer(content: FrozenStudy, participant: Participant, conditions: Sequence[str] = ()) -> Viewer:
    """Return what decides the questions of a participant.

    A page about some conditions names them; others are about all that the participant sees.
    """
    seen = list(map(content.condition, conditions)) or content.conditions_of(participant.group)
    return content.viewer(seen, compute_seed(content, participant.order_seed, participant.public_id))


def compute_seed(content: FrozenStudy, order_seed: int | None, public_id: str) -> int | None:
    """Return the seed of a participant, which is stored at the assignment.

    Before, it follows from the ID in the same way.
    """
    if order_seed is not None or content.order_seed is None:
        return order_seed
    return derive_seed(content.order_seed, public_id)


def find_shown_page(
    pages: Sequence[Sequence[Question]], number: int, earlier: dict[str, Answer]
) -> tuple[int, list[Question]]:
    """Return the page that is shown from a number on, with its questions.

    A part without any question left shows an empty page.
    """
    shown = find_next_page(pages, number, earlier)
    return (number, []) if shown is None else (shown, select_open_questions(pages[shown - 1], earlier))


def name_item_page(content: FrozenStudy, trial: Trial) -> str:
    """Return the name of the page that an item shows now; empty if it has one."""
    names = list_task_pages(content.task, trial.block)
    return names[trial.page - 1] if names and trial.item.kind != Item.Kind.ATTENTION else ""


def is_last_page(content: FrozenStudy, trial: Trial) -> bool:
    """Return whether an item is complete after the page that it shows now."""
    return not name_item_page(content, trial) or trial.page == len(list_task_pages(content.task, trial.block))


def list_item_questions(
    content: FrozenStudy, trial: Trial, viewer: Viewer, words: Words = str
) -> list[Question]:
    """Return the questions of the page that an item shows now.

    Those of the task come first, translated by ``words``.
    """
    earlier = merge_answers(trial.earlier)
    own = find_shown_page(build_part_pages(content, "item", viewer), 1, earlier)[1]
    if not list_task_pages(content.task):
        return own
    name = name_item_page(content, trial)
    if not name:
        return [*list_check_questions(content.task, words), *select_page_questions(content.task, name, own)]
    options = content.options_of(_name_condition(trial), trial.item.external_id)
    given, advice = earlier.get("initial_answer"), find_advice(content, trial)
    asks_rest = isinstance(content.task, Simulation) or is_last_page(content, trial)
    return [
        *list_task_questions(content.task, name, options, given, advice, words),
        *(select_page_questions(content.task, name, own) if asks_rest else []),
    ]


def find_advice(content: FrozenStudy, trial: Trial) -> str | None:
    """Return the answer that the condition of a trial shows, if it shows one."""
    if trial.condition_id is None:
        return None
    return content.advice_of(_name_condition(trial), trial.item.external_id)


def _name_condition(trial: Trial) -> str:
    assert trial.condition_id is not None  # only an attention item has none
    return map_condition_names(trial.participant.version)[trial.condition_id]


def find_time_limit(content: FrozenStudy, trial: Trial) -> int | None:
    """Return the seconds that the page of an item allows; None for any."""
    return limit_of(content.task, name_item_page(content, trial))


def measure_seconds_on_page(trial: Trial, now: datetime) -> float | None:
    """Return how long the page of an item has been shown; None before that."""
    return measure_seconds(trial.shown_at if trial.page == 1 else trial.page_shown_at, now)
