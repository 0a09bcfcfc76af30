"""A draft from a YAML file: what the studio can show and keep, complete and right or not.

Pure: no Django.
"""

import math
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from pydantic import ValidationError

from foundation.messages import say
from studyapp.definition.schema import Location, StudyDefinition, as_written, located, read_document
from studyapp.definition.validation_messages import sentence
from studyapp.studio.drafts import Draft

MOST_PARTS = 100_000  # of a file; its aliases can stand for many more than it has
_CONTAINERS = ("list_type", "dict_type", "model_type", "model_attributes_type")


def read_draft(text: str, name: str) -> Draft:
    """Read a definition that need be neither complete nor right from the text of a file that goes by a name.

    Raises:
        DefinitionError: it is no YAML, names no study, or has what no draft has: a field that there is not,
            a list or a mapping in place of one value or the other way round, a value that is not to be kept.
    """
    node, data = read_document(text, name)
    if not isinstance(data, dict):
        raise located(name, node, [((), say("must be a mapping of fields"))])
    try:
        found = list(_unkept(data))
    except RecursionError:  # an alias of what it is part of
        found = [((), say("is part of itself"))]
    if found:
        raise located(name, node, found)
    try:
        return StudyDefinition.model_validate(data).model_dump(mode="json")
    except ValidationError as error:
        wrong = [(as_written(node, one), one) for one in error.errors(include_url=False)]
        found = [(location, sentence(one)) for location, one in _misshapen(wrong)]
        if found:
            raise located(name, node, list(dict.fromkeys(found))) from error
    kept: Draft = _with_dates_as_text(data)
    return kept


def _misshapen(wrong: list[tuple[Location, Any]]) -> Iterator[tuple[Location, Any]]:
    """Problems of shape.

    Of several shapes that a field may have, one that fits to some depth is meant.
    """
    for location, one in wrong:
        others = [(place, other) for place, other in wrong if place[: len(location)] == location]
        if all(len(place) == len(location) and _is_shape(place, other) for place, other in others):
            yield location, one


def _is_shape(location: Location, one: Any) -> bool:
    kind, holds_parts = one["type"], isinstance(one["input"], dict | list)
    if location == ("study",) or kind in ("extra_forbidden", *_CONTAINERS) or kind.startswith("union_tag"):
        return True
    return holds_parts and (kind.endswith(("_type", "_parsing")) or kind == "literal_error")


def _unkept(data: Any) -> Iterator[tuple[Location, str]]:
    """Return what no database keeps, or a file of JSON has not."""
    for number, (location, value) in enumerate(_parts(data, ())):
        if number >= MOST_PARTS:
            yield (), say("has too many parts")
            return
        if isinstance(value, str) and not _is_kept(value):
            yield location, say("holds a sign that cannot be kept")
        elif isinstance(value, float) and not math.isfinite(value):
            yield location, say("must be a finite number")
        elif isinstance(value, datetime) or not isinstance(
            value, str | bool | int | float | date | list | dict | None
        ):
            yield location, say("must be text, a number, a date, true or false, a list or a mapping")
        elif isinstance(value, dict) and any(not isinstance(key, str) or not _is_kept(key) for key in value):
            yield location, say("must have texts for names; write them in quotes")


def _parts(value: Any, location: Location) -> Iterator[tuple[Location, Any]]:
    """Return every value of the data with its place, those that hold others first."""
    yield location, value
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in rows:
        yield from _parts(child, (*location, name if isinstance(name, int) else str(name)))


def _is_kept(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def _with_dates_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_dates_as_text(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_with_dates_as_text(child) for child in value]
    return value.isoformat() if isinstance(value, date) else value
