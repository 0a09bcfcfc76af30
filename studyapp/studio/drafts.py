"""A draft: the definition of a study as plain data, possibly incomplete.

Pure: no Django. Opening writes out what a definition may leave to a template, so that every part can be
edited. Problems are those of the definition itself, each with its location in the draft.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml
from pydantic import TypeAdapter, ValidationError

from foundation.validation_messages import describe_error
from studyapp.definition.conditions import ConditionDefinition
from studyapp.definition.exclusion_rules import RULES_2020
from studyapp.definition.questions.answer_scales import LikertScale
from studyapp.definition.questions.questionnaires import TASK_TEMPLATES, Questionnaire
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.tasks import Blocks, Task, expand_task
from studyapp.definition.yaml_document import Location
from studyapp.studio.german_texts import translate_passages
from studyapp.studio.texts import INSTRUCTIONS, TASK_SENTENCES

Draft = dict[str, Any]
_TASK: TypeAdapter[Task] = TypeAdapter(Task)


class Problem(NamedTuple):
    """One thing wrong: where in the draft, and a sentence."""

    location: Location
    message: str


def open_draft(content: Mapping[str, Any]) -> Draft:
    """Return the draft with questions and rules written out.

    Fields that have their default are left out.
    """
    definition = parse_draft(content)
    if definition is not None:
        sparse = definition.model_dump(mode="json", exclude_defaults=True)
        whole = definition.model_dump(mode="json", exclude_none=True)
        written_out = {name: whole[name] for name in ("items", "questionnaire", "exclusions")}
        return _simplify_scales(
            sparse | written_out | {"conditions": _drop_default_names(sparse["conditions"])}
        )
    return _simplify_scales(
        {
            **content,
            "questionnaire": _expand_questionnaire(content.get("questionnaire", "xqa-2020")),
            "exclusions": content.get("exclusions", [rule.model_dump(mode="json") for rule in RULES_2020]),
        }
    )


def _expand_questionnaire(written: Any) -> Any:
    """Return a valid questionnaire written out, another one as it is."""
    try:
        named = {"template": written} if isinstance(written, str) else written
        return Questionnaire.model_validate(named).model_dump(mode="json", exclude_none=True)
    except ValidationError:
        return written


# The template of each task, and the rules that fit its questions.
TEMPLATES_OF = {
    "verification": ("xqa-2020", RULES_2020),
    **{kind: (kind, RULES_2020[:2]) for kind in TASK_TEMPLATES},
}


# Fields that only studies of pairs have, or cannot have, in their own way.
_OF_PAIRS = ("design", "condition_order")


def fit_draft(draft: Draft, before: Draft) -> Draft:
    """Exchange questions, rules and texts that nobody changed with the task.

    Texts of ours follow the language of the study, too.

    Args:
        draft: The draft with the present task and language.
        before: The draft that it was made from.
    """
    english = _exchange_defaults(translate_passages(draft, "en"), translate_passages(before, "en"))
    return translate_passages(english, str(draft.get("language", "en")))


def _exchange_defaults(draft: Draft, before: Draft) -> Draft:
    was, is_now = _read_kind(before), _read_kind(draft)
    if was is None or is_now is None or was == is_now:
        return draft
    old, new = _build_defaults(was), _build_defaults(is_now)
    followed = {name: new[name] for name in new if draft.get(name) == old[name]}
    consent = draft.get("consent")
    if isinstance(consent, str):
        followed["consent"] = consent.replace(TASK_SENTENCES[was], TASK_SENTENCES[is_now])
    kept = {
        name: value
        for name, value in draft.items()
        if name not in _OF_PAIRS or "preference" not in (was, is_now)
    }
    return kept | followed


def _read_kind(draft: Draft) -> str | None:
    """Return the task of a draft; None if it has no templates."""
    task = expand_task(draft.get("task", "verification"))
    kind = task.get("kind") if isinstance(task, dict) else None
    return kind if kind in TEMPLATES_OF else None


def parse_task(draft: Draft) -> Task | None:
    """Return the task of a draft; None while it is not one."""
    try:
        return _TASK.validate_python(expand_task(draft.get("task") or "verification"))
    except ValidationError:
        return None


def _build_defaults(task: str) -> Draft:
    """Return what a study of a task has unless somebody writes its own."""
    name, rules = TEMPLATES_OF[task]
    rows = [rule.model_dump(mode="json", exclude_none=True) for rule in rules]
    count = Blocks().total if task == "simulation" else 25
    return _simplify_scales(
        {
            "items": {"count": count, "seed": 1},
            "questionnaire": _expand_questionnaire(name),
            "exclusions": rows,
            "instructions": INSTRUCTIONS[task],
        }
    )


def _drop_default_names(conditions: list[Draft]) -> list[Draft]:
    """Return conditions without default names, which follow the content."""
    return [
        rest if ConditionDefinition.model_validate(rest) == ConditionDefinition.model_validate(row) else row
        for row in conditions
        for rest in [{name: value for name, value in row.items() if name not in ("name", "label")}]
    ]


def _simplify_scales(part: Any) -> Any:
    """Return the draft with rating scales reduced to their ends if possible."""
    if isinstance(part, list):
        return [_simplify_scales(row) for row in part]
    if not isinstance(part, Mapping):
        return part
    if "labels" in part and "points" in part and (ends := find_ends(part)):
        return {"points": part["points"], "ends": list(ends)}
    return {name: _simplify_scales(value) for name, value in part.items()}


def parse_draft(content: Mapping[str, Any]) -> StudyDefinition | None:
    """Return the definition that a draft is, None if it is not one yet."""
    try:
        return StudyDefinition.model_validate(content)
    except ValidationError:
        return None


def build_stored_draft(content: Mapping[str, Any]) -> Draft:
    """Return the stored form of a draft: complete if valid, else as it is."""
    definition = parse_draft(content)
    return dict(content) if definition is None else definition.model_dump(mode="json")


def find_problems(content: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of a draft, in the order of the definition."""
    try:
        StudyDefinition.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return list(
            dict.fromkeys(Problem(_locate(content, detail), describe_error(detail)) for detail in details)
        )
    return []


def _locate(content: Any, detail: Any) -> Location:
    """Return the location in the draft of an error of pydantic.

    Pydantic also names the chosen member of a union, which is no field of the draft.
    """
    location: list[int | str] = []
    for depth, part in enumerate(detail["loc"]):
        is_missing = depth == len(detail["loc"]) - 1 and detail["type"] == "missing"
        inside = _find_part(content, part)
        if inside is None and not is_missing:
            continue
        location.append(part)
        content = inside and inside[0]
    return tuple(location)


def _find_part(content: Any, part: int | str) -> tuple[Any] | None:
    if isinstance(content, list) and isinstance(part, int) and part < len(content):
        return (content[part],)
    if isinstance(content, Mapping) and part in content:
        return (content[part],)
    return None


def find_ends(scale: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the ends of a rating scale labelled only at its ends, else None."""
    ends, labels = scale.get("ends"), scale.get("labels")
    if isinstance(ends, list) and len(ends) == 2:
        return str(ends[0]), str(ends[1])
    if not isinstance(labels, list) or len(labels) < 2 or not all(isinstance(label, str) for label in labels):
        return None
    low, high = labels[0].removeprefix("1 – "), labels[-1].removeprefix(f"{len(labels)} – ")
    try:
        same = LikertScale.model_validate({"points": len(labels), "ends": [low, high]}).labels == labels
    except ValidationError:
        return None
    return (low, high) if same else None


class _Dumper(yaml.SafeDumper):
    """A dumper that writes texts of several lines as blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def as_yaml(content: Mapping[str, Any]) -> str:
    """Return the draft as YAML that ``create_study`` reads once complete."""
    return yaml.dump(dict(content), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
