"""The preview of an incomplete draft: its valid part and a made-up item.

Pure: no Django.
"""

from collections.abc import Sequence
from typing import Any

from predictions.explanations.program_steps import Step
from studyapp.definition.checks import FrozenAttention
from studyapp.definition.frozen.freezing import (
    WITH_FACTS,
    WITH_RATIONALE,
    WITH_TOKENS,
    Explanation,
    FrozenChange,
    FrozenCondition,
    FrozenItem,
    FrozenStudy,
    Shown,
)
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.tasks import Counterfactual, Predicting, Preference, Simulation, Task
from studyapp.definition.yaml_document import Location
from studyapp.studio.drafts import Draft, find_problems, parse_task
from studyapp.studio.edits import set_value

_MISSING: Draft = {
    "study": "preview",
    "title": "…",
    "dataset": "…",
    "conditions": [{"ground_truth": True}],
    "consent": "…",
}
# Another placeholder, because a task compares conditions.
_SECOND: Draft = {"ground_truth": True, "name": "…"}
_CONTEXT: list[tuple[str, list[str]]] = [
    ("Night Harbour", ["Night Harbour is an invented film of 1987.", "It was made by Ada Brenn."]),
    ("Ada Brenn", ["Ada Brenn was born in Kolwen.", "She made four films."]),
    ("Kolwen", ["Kolwen is a town by the sea."]),
]
_ITEM = FrozenItem(
    id="made-up",
    question="Where was the director of Night Harbour born? (A made-up item.)",
    gold_answer="Kolwen",
    context=_CONTEXT,
)
_CHANGED = FrozenChange(
    id="made-up:1",
    change="comparison",
    question="Where was the director of Grey Harbour born? (A made-up item.)",
    context=_CONTEXT,
    gold_answer="",
)
_OPTIONS = ["Ada Brenn", "Kolwen", "Night Harbour"]
_FACTS = [("Night Harbour", 1), ("Ada Brenn", 0)]
_STEPS = [
    Step(module="find", argument="director of Night Harbour", tokens=[(0, 13, 3)]),
    Step(module="relocate", argument="born", inputs=[1], tokens=[(57, 66, 2)]),
]
_RATIONALE = "Ada Brenn made Night Harbour, and she was born in Kolwen."
# Every second condition shows this of the made-up item if two are compared.
_OTHER: dict[str, Any] = {
    "answer": "Ada Brenn",
    "facts": [("Night Harbour", 1)],
    "rationale": "It was made by Ada Brenn.",
}
_TOKENS = [("Night Harbour", 1, 15, 24, 3), ("Ada Brenn", 0, 22, 28, 2), ("Kolwen", 0, 0, 6, 1)]


def build_valid_part(draft: Draft) -> StudyDefinition:
    """Return the valid part of a draft, with placeholders for required fields."""
    missing = _build_placeholders(draft)
    candidate = {**missing, **{name: value for name, value in draft.items() if value is not None}}
    for _round in range(1000):
        wrong = find_problems(candidate)
        if not wrong:
            return StudyDefinition.model_validate(candidate)
        candidate = _drop_invalid(candidate, wrong[0].location, missing)
    return StudyDefinition.model_validate(_MISSING)


def _build_placeholders(draft: Draft) -> Draft:
    """Return what stands in for required fields in a study of the task."""
    is_compared = isinstance(parse_task(draft), Preference)
    return {**_MISSING, **({"conditions": [*_MISSING["conditions"], _SECOND]} if is_compared else {})}


def _drop_invalid(candidate: Draft, location: Location, missing: Draft) -> Draft:
    """Return the draft without the invalid row, or without the whole field."""
    rows = [depth for depth, part in enumerate(location) if isinstance(part, int)]
    if rows:
        return set_value(candidate, location[: rows[-1] + 1], None)
    if not location or location[0] not in candidate:
        return dict(missing)
    smaller = {name: value for name, value in candidate.items() if name != location[0]}
    return {**missing, **smaller}


def build_content(definition: StudyDefinition) -> FrozenStudy:
    """Return the definition frozen with a made-up item.

    It stands in for items that cannot be drawn yet.
    """
    is_changed = isinstance(definition.task, Counterfactual)
    is_compared = isinstance(definition.task, Preference)
    return definition.freeze(
        translations=definition.fill_translations(),
        items=[_ITEM.model_copy(update={"changed": _CHANGED}) if is_changed else _ITEM],
        attention=[_build_attention(row) for row in definition.attention],
        conditions=[
            FrozenCondition(
                **condition.model_dump(exclude={"group", "represents", "quota"}),
                revision=None,
                shown={
                    _ITEM.id: _build_shown(condition.explanation, definition.task).model_copy(
                        update=_OTHER if is_compared and index % 2 else {}
                    )
                }
                if condition.advice
                else {},
            )
            for index, condition in enumerate(definition.conditions)
        ],
        rules=[],
    )


def _build_shown(explanation: Explanation, task: Task) -> Shown:
    return Shown(
        answer="Kolwen",
        facts=_FACTS if explanation in WITH_FACTS else None,
        tokens=_TOKENS if explanation in WITH_TOKENS else None,
        steps=_STEPS if explanation == "program" else None,
        rationale=_RATIONALE if explanation in WITH_RATIONALE else None,
        options=_OPTIONS if isinstance(task, Predicting) else [],
        correct=True if isinstance(task, Simulation) else None,
    )


def _build_attention(row: Any) -> FrozenAttention:
    """Return an attention item; a contradiction stands over the made-up item."""
    is_instructed = row.kind == "instructed"
    return FrozenAttention(
        **row.model_dump(exclude={"text"}),
        text=row.text if is_instructed else _ITEM.question or "",
        gold_answer=None if is_instructed else _ITEM.gold_answer,
        context=None if is_instructed else _CONTEXT,
        facts=None if is_instructed else _FACTS,
    )


PAGES: Sequence[tuple[str, str]] = (
    ("consent", "Consent"),
    ("screening", "Screening"),
    ("instructions", "Instructions"),
    ("comprehension", "Comprehension check"),
    ("pre_survey", "Questions before"),
    ("practice", "Practice item"),
    ("item", "Item"),
    ("attention", "Attention item"),
    ("survey", "Questions after"),
    ("done", "Completion"),
    ("screened_out", "Screened out"),
    ("failed_comprehension", "Failed the comprehension check"),
    ("full", "Study full"),
    ("no_consent", "No consent given"),
    ("not_open", "Not open yet"),
    ("paused", "Paused"),
    ("closed", "Closed"),
    ("link_used", "Link already used"),
    ("link_full", "Link full"),
    ("no_link", "Opened without a link"),
    ("not_arrived", "Not sent by the platform"),
    ("withdrawn", "Withdrawn"),
)


def list_pages(content: FrozenStudy) -> list[tuple[str, str]]:
    """Return the pages that participants of a study come to, with their names."""
    has = {
        "screening": bool(content.screening),
        "instructions": content.instructions_page,
        "comprehension": content.comprehension is not None,
        "pre_survey": bool(content.pre_survey),
        "practice": bool(content.practice),
        "attention": bool(content.attention),
        "screened_out": bool(content.screening),
        "failed_comprehension": content.comprehension is not None,
        "not_arrived": bool(content.recruitment and content.recruitment.person_parameter),
    }
    return [(name, title) for name, title in PAGES if has.get(name, True)]


def items(content: FrozenStudy) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the items by kind, each with its ID and its question."""
    kinds: list[tuple[str, list[tuple[str, str]]]] = [
        ("Items", [(row.id, row.question or row.id) for row in content.items]),
        ("Practice items", [(row.id, row.question or row.id) for row in content.practice]),
        ("Attention items", [(row.id, row.text) for row in content.attention]),
    ]
    return [(title, rows) for title, rows in kinds if rows]
