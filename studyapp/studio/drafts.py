"""A draft: the definition of a study as plain data, which need be neither complete nor right.

Pure: no Django. Opening writes out what a definition may leave to a template, so that every part can be
edited. Problems are those of the definition itself, each with the place in the draft where it stands.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from studyapp.definition.conditions import ConditionDefinition
from studyapp.definition.exclusion_rules import RULES_2020
from studyapp.definition.questionnaires import LikertScale, Questionnaire
from studyapp.definition.schema import Location, StudyDefinition
from studyapp.definition.validation_messages import sentence

Draft = dict[str, Any]


class Problem(NamedTuple):
    """One thing wrong: where in the draft, and a sentence."""

    location: Location
    message: str


def opened(content: Mapping[str, Any]) -> Draft:
    """Return the draft with questions and rules written out, and without fields that have their default."""
    definition = valid(content)
    if definition is not None:
        sparse = definition.model_dump(mode="json", exclude_defaults=True)
        whole = definition.model_dump(mode="json", exclude_none=True)
        written_out = {name: whole[name] for name in ("items", "questionnaire", "exclusions")}
        return _plainly(sparse | written_out | {"conditions": _unnamed(sparse["conditions"])})
    return _plainly(
        {
            **content,
            "questionnaire": _questionnaire(content.get("questionnaire", "xqa-2020")),
            "exclusions": content.get("exclusions", [rule.model_dump(mode="json") for rule in RULES_2020]),
        }
    )


def _questionnaire(written: Any) -> Any:
    """Return the questionnaire written out, where it is one."""
    try:
        named = {"template": written} if isinstance(written, str) else written
        return Questionnaire.model_validate(named).model_dump(mode="json", exclude_none=True)
    except ValidationError:
        return written


def _unnamed(conditions: list[Draft]) -> list[Draft]:
    """Conditions without the names that they have by default, so that these follow what is shown."""
    return [
        rest if ConditionDefinition.model_validate(rest) == ConditionDefinition.model_validate(row) else row
        for row in conditions
        for rest in [{name: value for name, value in row.items() if name not in ("name", "label")}]
    ]


def _plainly(part: Any) -> Any:
    """Return the draft with rating scales that are labelled at their ends only written so."""
    if isinstance(part, list):
        return [_plainly(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    if "labels" in part and "points" in part and (ends := ends_of(part)):
        return {"points": part["points"], "ends": list(ends)}
    return {name: _plainly(value) for name, value in part.items()}


def valid(content: Mapping[str, Any]) -> StudyDefinition | None:
    """Return the definition that a draft is, None if it is not one yet."""
    try:
        return StudyDefinition.model_validate(content)
    except ValidationError:
        return None


def stored(content: Mapping[str, Any]) -> Draft:
    """Return the form in which a study keeps its definition: complete where it is one, else the draft as it is."""
    definition = valid(content)
    return dict(content) if definition is None else definition.model_dump(mode="json")


def problems(content: Mapping[str, Any]) -> list[Problem]:
    """Return what keeps a draft from being a definition, in the order of the definition's fields."""
    try:
        StudyDefinition.model_validate(content)
    except ValidationError as error:
        found = [Problem(_placed(content, one), sentence(one)) for one in error.errors(include_url=False)]
        return list(dict.fromkeys(found))
    return []


def _placed(content: Any, found: Any) -> Location:
    """Where the draft has what pydantic complains of: it names the chosen member of a union too."""
    location: list[int | str] = []
    for place, part in enumerate(found["loc"]):
        is_missing = place == len(found["loc"]) - 1 and found["type"] == "missing"
        inside = _inside(content, part)
        if inside is None and not is_missing:
            continue
        location.append(part)
        content = inside and inside[0]
    return tuple(location)


def _inside(content: Any, part: int | str) -> tuple[Any] | None:
    if isinstance(content, list) and isinstance(part, int) and part < len(content):
        return (content[part],)
    if isinstance(content, Mapping) and part in content:
        return (content[part],)
    return None


def ends_of(scale: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the two ends of a rating scale that is labelled at its ends only; None for any other."""
    ends, labels = scale.get("ends"), scale.get("labels")
    if isinstance(ends, list) and len(ends) == 2:
        return str(ends[0]), str(ends[1])
    if not isinstance(labels, list) or len(labels) < 2 or not all(isinstance(one, str) for one in labels):
        return None
    low, high = labels[0].removeprefix("1 – "), labels[-1].removeprefix(f"{len(labels)} – ")
    try:
        same = LikertScale.model_validate({"points": len(labels), "ends": [low, high]}).labels == labels
    except ValidationError:
        return None
    return (low, high) if same else None


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as blocks, as people write them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def as_yaml(content: Mapping[str, Any]) -> str:
    """Return the draft as a file that ``create_study`` reads, once it is complete."""
    text: str = yaml.dump(dict(content), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    return text
