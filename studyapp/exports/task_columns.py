"""The columns that the task of a study adds to tables of trials."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from analysis.scores import hotpotqa
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.task_designs.blocks import BLOCKS
from studyapp.definition.task_designs.comparing import COMPARISON
from studyapp.definition.task_designs.task_questions import (
    ADVICE_PAGES,
    ANSWER,
    CONFIDENCE,
    LEARNING_PAGES,
    PREDICTION,
    is_prediction_right,
)
from studyapp.definition.tasks import Preference, Simulation
from studyapp.exports.columns import Column
from studyapp.queries.design.decisions import hash_answer
from studyapp.rules.survey_pages import merge_answers

_CLOCKS = {
    "server_ms": "time on the page of the {which}, server clock",
    "client_total_ms": "time on the page of the {which}, browser clock",
    "client_visible_ms": "time with the page of the {which} visible, browser clock",
}
_ANSWER_NAMES = {
    "initial": "first answer",
    "final": "final answer",
    PREDICTION: "prediction",
    ANSWER: "system's answer",
}
_VALUES = "; ".join(f"{number} = {label}" for number, label in enumerate(CONFIDENCE, start=1))


def _build_clock_columns(page: str) -> tuple[Column, ...]:
    """Return the columns of the clocks of one page of an item."""
    return tuple(
        Column(f"{page}_{name}", "integer", meaning.format(which=_ANSWER_NAMES[page]), "", "ms")
        for name, meaning in _CLOCKS.items()
    )


def _build_page_columns(page: str) -> tuple[Column, ...]:
    which = _ANSWER_NAMES[page]
    return (
        # Typed text may name a person.
        Column(f"{page}_answer", "string", f"the participant's {which}", "", public="withheld"),
        Column(f"{page}_confidence", "number", f"confidence in the {which}", values=_VALUES),
        Column(
            f"{page}_correct",
            "boolean",
            f"whether the {which} is correct: as judges decided, else by exact match after "
            "normalisation; empty without an answer",
        ),
        Column(
            f"{page}_agrees",
            "boolean",
            f"whether the {which} is the advice: equal after normalisation, or both correct; empty "
            "without advice or answer",
        ),
        *_build_clock_columns(page),
    )


def _build_timed_out_column(pages: Sequence[str]) -> Column:
    meaning = "pages whose time limit ran out, joined by ;"
    return Column("timed_out", "string", meaning, "Trial.timed_out", values="; ".join(pages))


ADVICE = (
    *_build_page_columns("initial"),
    Column("advice", "string", "the system's answer on the second page; empty in a condition without advice"),
    *_build_page_columns("final"),
    _build_timed_out_column(ADVICE_PAGES),
)


# Of tasks in which people predict the system.
_PREDICTIONS = (
    Column("predicted_answer", "string", "the predicted answer; empty if none was chosen"),
    Column(
        "predicted_correct", "boolean", "whether the participant predicts a correct answer; empty if the "
        "question was for the answer",
    ),
)  # fmt: skip
_OUTCOMES = (
    Column(
        "prediction_right", "boolean", "whether the prediction is what the system did: equal after "
        "normalisation; empty without a prediction",
    ),
    Column("options", "integer", "number of answers to choose from; 2 for correct or not"),
)  # fmt: skip
SIMULATION = (
    Column("block", "string", "block of the item", "Trial.block", values="; ".join(BLOCKS)),
    *_PREDICTIONS,
    Column(
        "system_answer", "string", "what the system answers; shown in the learning block, after its "
        "prediction",
    ),
    *_OUTCOMES,
    _build_timed_out_column(LEARNING_PAGES),
    *(column for page in LEARNING_PAGES for column in _build_clock_columns(page)),
)  # fmt: skip
COUNTERFACTUAL = (
    *_PREDICTIONS,
    Column("cannot_tell", "boolean", "the participant chose “cannot tell”; empty without a choice"),
    Column("system_answer", "string", "what the system answers to the changed item; nobody was shown it"),
    *_OUTCOMES,
    Column("source_item_id", "string", "the question that the changed item was made from"),
    Column("change", "string", "kind of change, as the dataset of changed items names it"),
    _build_timed_out_column([PREDICTION]),
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "advice": ADVICE,
    "simulation": SIMULATION,
    "counterfactual": COUNTERFACTUAL,
}


def _build_preference_columns(task: Preference) -> tuple[Column, ...]:
    """Return the columns of a task preference, one for each criterion."""
    choices = "; ".join(("left", *(["tie"] if task.ties else []), "right"))
    return (
        Column("left_condition", "string", "condition on the left, named A", "Trial.condition"),
        Column("right_condition", "string", "condition on the right, named B", "Trial.other_condition"),
        *(
            Column(
                criterion.question,
                "string",
                f"the side that is preferred: {criterion.text}; empty if missing",
                values=choices,
            )
            for criterion in task.criteria
        ),
        _build_timed_out_column([COMPARISON]),
    )


def build_task_columns(contents: Iterable[FrozenStudy]) -> tuple[Column, ...]:
    """Return the columns of the tasks of all versions, each name once."""
    tasks = [content.task for content in contents]
    kinds = {task.kind for task in tasks}
    own = [column for kind in COLUMNS if kind in kinds for column in COLUMNS[kind]]
    own += [
        column for task in tasks if isinstance(task, Preference) for column in _build_preference_columns(task)
    ]
    return tuple({column.name: column for column in own}.values())


class Judged(NamedTuple):
    """The facts about an item that decide if answers are correct.

    Attributes:
        question: The key of its question in the data set.
        gold: The gold answer.
        decided: The decisions of judges, by question and digest of the answer.
    """

    question: int | None
    gold: str | None
    decided: dict[tuple[int, str], bool]

    def is_correct(self, answer: str | None) -> bool | None:
        """Return whether an answer is correct.

        None without an answer, or if the gold answer is unknown.
        """
        if answer is None or self.gold is None:
            return None
        if hotpotqa.exact_match(self.gold, answer):
            return True
        decided = self.decided.get((self.question, hash_answer(answer))) if self.question else None
        return bool(decided)


def is_in_agreement(answer: str | None, advice: str | None, *, are_correct: bool) -> bool | None:
    """Return whether an answer is the advice; None without one of them.

    Two correct answers to a question mean the same, in whatever words.
    """
    if answer is None or advice is None:
        return None
    return hotpotqa.exact_match(advice, answer) or are_correct


def build_prediction_cells(trial: dict[str, Any], content: FrozenStudy) -> dict[str, Any]:
    """Return the values of the columns of a trial with a prediction.

    Args:
        trial: A row of `results.select_trial_values`.
        content: The content of its version.
    """
    cells: dict[str, Any] = {"timed_out": trial["timed_out"] or None}
    if not trial["condition_name"]:
        return cells  # an attention item
    item = content.item(trial["external_id"])
    shown = content.condition(trial["condition_name"]).shown[item.id]
    given = merge_answers(trial["earlier"]) | (trial["answers"] or {})
    cells |= {
        **{name: given.get(name) for name in ("predicted_answer", "predicted_correct")},
        "system_answer": shown.outcome[0],
        "prediction_right": is_prediction_right(given, shown),
        "options": len(shown.options) or 2,
    }
    if isinstance(content.task, Simulation):
        return cells | {"block": trial["block"] or None, **_read_page_times(trial, LEARNING_PAGES)}
    return cells | {
        "cannot_tell": given.get("cannot_tell"),
        "source_item_id": item.id,
        "change": item.changed.change if item.changed else None,
    }


def _read_page_times(trial: dict[str, Any], pages: Sequence[str]) -> dict[str, Any]:
    """Return the clocks of each page of an item that was submitted."""
    records = trial["earlier"] or []
    return {
        f"{page}_{name}": record.get(name) if name == "server_ms" else record["timing"].get(name)
        for page, record in zip(pages, records, strict=False)
        for name in _CLOCKS
    }


def build_preference_cells(trial: dict[str, Any], task: Preference) -> dict[str, Any]:
    """Return the values of the columns of a trial with two conditions.

    Args:
        trial: A row of `results.select_trial_values`.
        task: The task of its version.
    """
    given = trial["answers"] or {}
    return {
        "left_condition": trial["condition_name"],
        "right_condition": trial["other_condition_name"],
        "timed_out": trial["timed_out"] or None,
        **{criterion.question: given.get(criterion.question) for criterion in task.criteria},
    }


def build_advice_cells(
    trial: dict[str, Any], advice: str | None, item: Judged, *, is_right: bool | None
) -> dict[str, Any]:
    """Return the values of the columns of a trial with own answers.

    Args:
        trial: A row of `results.select_trial_values`.
        advice: The answer that its condition shows; None if it shows none.
        item: The facts about its item.
        is_right: True if the advice is correct; None if that is unknown.
    """
    pages = trial["earlier"] or []
    given = merge_answers(pages) | (trial["answers"] or {})
    cells: dict[str, Any] = {"advice": advice, "timed_out": trial["timed_out"] or None}
    cells |= _read_page_times(trial, ADVICE_PAGES)
    for page in ADVICE_PAGES:
        answer = given.get(f"{page}_answer")
        correct = item.is_correct(answer)
        cells |= {
            f"{page}_answer": answer,
            f"{page}_confidence": given.get(f"{page}_confidence"),
            f"{page}_correct": correct,
            f"{page}_agrees": is_in_agreement(answer, advice, are_correct=bool(correct and is_right)),
        }
    return cells
