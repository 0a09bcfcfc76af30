"""The parts of pages of a simulation: blocks, and predicted answers."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from studyapp.definition.frozen.freezing import FrozenStudy, Shown
from studyapp.definition.questions.question import Answer
from studyapp.definition.task_designs.blocks import AFTER, BEFORE, BLOCKS, LEARNING, list_blocks_by_position
from studyapp.definition.task_designs.task_questions import (
    PREDICTION,
    YES_NO,
    is_prediction_right,
    label_answer,
)
from studyapp.definition.tasks import Simulation


def build_part_context(content: FrozenStudy, position: int) -> dict[str, Any] | None:
    """Return the heading of the block that a page belongs to.

    None for a practice item and for another task.
    """
    if not isinstance(content.task, Simulation):
        return None
    blocks = ["", *_list_blocks(content, content.task)]
    name = blocks[position]
    if not name:
        return None
    titles = {
        BEFORE: _("Predict what the system does"),
        LEARNING: _("Learn what the system does"),
        AFTER: _("Predict again"),
    }
    about = {
        BEFORE: _("The answers of the system are not shown yet."),
        LEARNING: _("After each prediction you see the answer of the system."),
        AFTER: _("The answers of the system are not shown any more."),
    }
    title = _("Part %(n)d of %(all)d: %(what)s") % {
        "n": BLOCKS.index(name) + 1, "all": len(BLOCKS), "what": titles[name],
    }  # fmt: skip
    return {"title": title, "about": about[name], "is_first": blocks[position - 1] != name}


def find_learning_position(content: FrozenStudy) -> int:
    """Return the first position of the learning block, or 1 without it."""
    if not isinstance(content.task, Simulation):
        return 1
    return _list_blocks(content, content.task).index(LEARNING) + 1


def _list_blocks(content: FrozenStudy, task: Simulation) -> list[str]:
    attention = [row.position for row in content.attention]
    return list_blocks_by_position(task.blocks, len(content.practice), attention)


def build_outcome_context(task: Simulation, given: Mapping[str, Answer], shown: Shown) -> dict[str, Any]:
    """Return what an answer page says about the prediction before it."""
    predicted = given.get("predicted_answer")
    if (correct := given.get("predicted_correct")) is not None:
        predicted = YES_NO[0] if correct else YES_NO[1]
    verdict = ""
    if task.ask == "correct":
        verdict = _("This answer is correct.") if shown.correct else _("This answer is not correct.")
    return {
        "predicted": None if predicted is None else _label_prediction(task, str(predicted)),
        "answer": label_answer(shown.answer or "", _),
        "is_right": is_prediction_right(given, shown),
        "verdict": verdict,
    }


def _label_prediction(task: Simulation, choice: str) -> str:
    if task.ask == "answer":
        return label_answer(choice, _)
    return _("a correct answer") if choice == YES_NO[0] else _("a wrong answer")


def select_shown_parts(content: FrozenStudy, page: str) -> tuple[bool, bool]:
    """Return whether a page shows what its condition does, and the answer.

    Nothing of a simulation's answer comes before the prediction, and its explanation only if the study says
    so.
    """
    if not isinstance(content.task, Simulation) or page != PREDICTION:
        return True, True
    return content.task.explained_test, False
