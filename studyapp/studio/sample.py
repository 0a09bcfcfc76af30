"""What can be shown of a draft that is not complete: what is right of it, and a made-up item.

Pure: no Django.
"""

from collections.abc import Sequence
from typing import Any

from predictions.program_steps import Step
from studyapp.definition.checks import FrozenAttention
from studyapp.definition.freezing import FrozenCondition, FrozenItem, FrozenStudy, Shown
from studyapp.definition.schema import Location, StudyDefinition
from studyapp.studio.drafts import Draft, problems
from studyapp.studio.edits import with_value

_MISSING: Draft = {
    "study": "preview",
    "title": "…",
    "dataset": "…",
    "conditions": [{"ground_truth": True}],
    "consent": "…",
}
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
_FACTS = [("Night Harbour", 1), ("Ada Brenn", 0)]
_STEPS = [
    Step(module="find", argument="director of Night Harbour", tokens=[(0, 13, 3)]),
    Step(module="relocate", argument="born", inputs=[1], tokens=[(57, 66, 2)]),
]
_TOKENS = [("Night Harbour", 1, 15, 24, 3), ("Ada Brenn", 0, 22, 28, 2), ("Kolwen", 0, 0, 6, 1)]


def rest(draft: Draft) -> StudyDefinition:
    """Return what is right of a draft, with placeholders for what a study needs."""
    candidate = {**_MISSING, **{name: value for name, value in draft.items() if value is not None}}
    for _round in range(1000):
        found = problems(candidate)
        if not found:
            return StudyDefinition.model_validate(candidate)
        candidate = _without(candidate, found[0].location)
    return StudyDefinition.model_validate(_MISSING)


def _without(candidate: Draft, location: Location) -> Draft:
    """Return the draft without the row that is wrong, or without the whole field."""
    rows = [place for place, part in enumerate(location) if isinstance(part, int)]
    if rows:
        return with_value(candidate, location[: rows[-1] + 1], None)
    if not location or location[0] not in candidate:
        return dict(_MISSING)
    smaller = {name: value for name, value in candidate.items() if name != location[0]}
    return {**_MISSING, **smaller}


def content(definition: StudyDefinition) -> FrozenStudy:
    """Return the definition frozen with a made-up item in place of those that cannot be drawn yet."""
    return definition.freeze(
        translations=definition.filled_translations(),
        items=[_ITEM],
        attention=[_attention(row) for row in definition.attention],
        conditions=[
            FrozenCondition(
                name=arm.name,
                label=arm.label,
                system=arm.system,
                revision=None,
                ground_truth=arm.ground_truth,
                weight=arm.weight,
                explanation=arm.explanation,
                shown={_ITEM.id: _shown(arm.explanation)},
            )
            for arm in definition.conditions
        ],
        rules=[],
    )


def _shown(explanation: str) -> Shown:
    has_tokens = explanation in ("tokens", "both")
    return Shown(
        answer="Kolwen",
        facts=_FACTS if explanation in ("facts", "both") else None,
        tokens=_TOKENS if has_tokens else None,
        steps=_STEPS if explanation == "program" else None,
    )


def _attention(row: Any) -> FrozenAttention:
    """Return an attention item; a contradiction stands over the made-up item."""
    is_instructed = row.kind == "instructed"
    return FrozenAttention(
        id=row.id,
        kind=row.kind,
        position=row.position,
        text=row.text if is_instructed else _ITEM.question or "",
        item=row.item,
        answer=row.answer,
        gold_answer=None if is_instructed else _ITEM.gold_answer,
        context=None if is_instructed else _CONTEXT,
        facts=None if is_instructed else _FACTS,
        expected=row.expected,
    )


PAGES: Sequence[tuple[str, str]] = (
    ("consent", "Consent"),
    ("screening", "Screening"),
    ("instructions", "Instructions"),
    ("comprehension", "Comprehension check"),
    ("pre_survey", "Questions before"),
    ("item", "Item"),
    ("attention", "Attention item"),
    ("survey", "Questions after"),
    ("done", "The end"),
    ("screened_out", "Screened out"),
    ("failed_comprehension", "Failed the comprehension check"),
    ("full", "No place left"),
    ("no_consent", "No consent given"),
    ("not_open", "Not open yet"),
    ("paused", "Paused"),
    ("closed", "Closed"),
    ("link_used", "Link used already"),
    ("link_full", "Places of the link taken"),
    ("no_link", "Opened without a link"),
    ("not_arrived", "Not sent by the platform"),
    ("withdrawn", "Withdrawn"),
)


def pages(found: FrozenStudy) -> list[tuple[str, str]]:
    """Return the pages that participants of a study come to, with their names."""
    has = {
        "screening": bool(found.screening),
        "instructions": found.instructions_page,
        "comprehension": found.comprehension is not None,
        "pre_survey": bool(found.pre_survey),
        "attention": bool(found.attention),
        "screened_out": bool(found.screening),
        "failed_comprehension": found.comprehension is not None,
        "not_arrived": bool(found.recruitment and found.recruitment.person_parameter),
    }
    return [(name, title) for name, title in PAGES if has.get(name, True)]
