"""Edits of a draft by buttons: add, remove and move rows.

Pure: no Django.

Nothing is changed in place: every edit gives another draft, so that the one before can be taken back.
"""

import copy
from collections.abc import Sequence
from typing import Any

from foundation.messages import extract_message, say
from foundation.pages.whole_numbers import parse_whole_number
from studyapp.definition.questions.scales import expand
from studyapp.definition.yaml_document import Location
from studyapp.errors import StudyappError
from studyapp.studio.drafts import Draft
from studyapp.studio.widgets import make_scale

QUESTIONS = {
    ("questionnaire", "item"),
    ("questionnaire", "pre_survey"),
    ("questionnaire", "post_survey"),
    ("screening",),
    ("comprehension", "questions"),
}
PARTS = {
    ("task", "bonus"),
    ("practice",),
    ("comprehension",),
    ("recruitment",),
    ("recruitment", "pay"),
    ("plan",),
    ("plan", "interim_analyses"),
}


ROWS_OF_PLAN = {("plan", "family"), ("plan", "margins")}


class CannotEdit(StudyappError):
    """The draft has no such location.

    It was changed in the meantime, or the address is wrong.
    """


def parse_location(path: str) -> Location:
    """Return the location that a dotted path names."""
    numbers = ((part, parse_whole_number(part)) for part in path.split("."))
    return tuple(part if number is None else number for part, number in numbers)


def read_value(draft: Any, location: Location) -> Any:
    """Return the value at a location; None if there is none.

    Raises:
        CannotEdit: there is no such location.
    """
    for part in location:
        if isinstance(draft, list) and isinstance(part, int) and part < len(draft):
            draft = draft[part]
        elif isinstance(draft, dict) and isinstance(part, str):
            draft = draft.get(part)
        elif draft is None:
            return None
        else:
            raise CannotEdit(say("the draft has no %(place)s", place=_format_location(location)))
    return draft


def set_value(draft: Draft, location: Location, value: Any) -> Draft:
    """Return the draft with a value at a location; None removes it."""
    changed = copy.deepcopy(draft)
    parent: Any = changed
    for part in location[:-1]:
        parent = parent.setdefault(part, {}) if isinstance(parent, dict) else parent[part]
    if value is None:
        if isinstance(parent, dict):
            parent.pop(location[-1], None)
        else:
            del parent[location[-1]]
    else:
        parent[location[-1]] = value
    return changed


def add_part(draft: Draft, location: Location, what: str = "") -> tuple[Draft, Location]:
    """Return the draft with a row or optional part added, and its location."""
    if location in PARTS or location[0] == "translations" or location[-1] == "image":
        return set_value(draft, location, _make_part(location)), location
    if location == ("instructions",):
        written = read_value(draft, location)
        parts = written if isinstance(written, list) else [{"text": written}] if written else []
        return set_value(draft, location, [*parts, {}]), (*location, len(parts))
    rows = _read_rows(draft, location)
    new = _make_row(draft, location, rows, what)
    return set_value(draft, location, [*rows, new]), (*location, len(rows))


def remove_part(draft: Draft, location: Location) -> Draft:
    """Return the draft without a row or an optional part."""
    is_part = location in PARTS or location[:-1] == ("translations",) or location[-1] == "image"
    if not (is_part or isinstance(location[-1], int)) or read_value(draft, location) is None:
        raise CannotEdit(
            say("the draft has no %(place)s that can be removed", place=_format_location(location))
        )
    return set_value(draft, location, None)


def move_row(draft: Draft, location: Location, by: int) -> Draft:
    """Return the draft with a row moved up (-1) or down (1).

    A row at the end of its list stays.
    """
    *list_location, index = location
    rows = list(_read_rows(draft, tuple(list_location)))
    if not isinstance(index, int) or index >= len(rows):
        raise CannotEdit(say("the draft has no %(place)s", place=_format_location(location)))
    rows.insert(max(index + by, 0), rows.pop(index))
    return set_value(draft, tuple(list_location), rows)


def add_scale(draft: Draft, location: Location, name: str, items: Sequence[str]) -> Draft:
    """Return the draft with the questions of a scale at the end of a list.

    Raises:
        CannotEdit: there is no such scale, or its items are to be entered and are not whole.
    """
    entry: dict[str, Any] = {"template": name, **({"items": list(items)} if items else {})}
    try:
        questions = expand([entry])
    except ValueError as error:
        raise CannotEdit(extract_message(error)) from error
    return set_value(draft, location, [*_read_rows(draft, location), *questions])


def _read_rows(draft: Draft, location: Location) -> list[Any]:
    rows = read_value(draft, location)
    if rows is not None and not isinstance(rows, list):
        raise CannotEdit(say("%(place)s is not a list", place=_format_location(location)))
    return rows or []


def _make_part(location: Location) -> Any:
    """Return an optional part with what it needs filled in."""
    if location == ("practice",):
        return {"count": 2, "seed": 1}
    if location == ("task", "bonus"):
        return {"per_correct": 0.1, "currency": "GBP"}
    if location == ("comprehension",):
        return {"questions": [_make_question([])], "tries": 2}
    return {"platform": "prolific"} if location == ("recruitment",) else {}


def _make_row(draft: Draft, location: Location, rows: list[Any], what: str) -> Any:
    """Return a new row of a list."""
    if location in QUESTIONS:
        return _make_question(rows, what or "yes_no")
    if location == ("conditions",):
        if what == "control":
            return {"advice": False}
        return {"ground_truth": True} if what == "ground_truth" else {"system": what} if what else {}
    if location == ("attention",):
        position = 1 + max((row.get("position", 0) for row in rows if _has_number(row)), default=2)
        return {"id": _free(rows, "id", "attention"), "kind": what, "position": position, "expected": {}}
    if location == ("exclusions",):
        return _make_rule(rows, what)
    if location in ROWS_OF_PLAN:
        return {}
    if location == ("task", "criteria"):
        return {"key": _free(rows, "key", "criterion", "_")}
    if location == ("scales",):
        return {"name": _free(rows, "name", "scale", "_"), "items": []}
    raise CannotEdit(say("nothing can be added to %(place)s", place=_format_location(location)))


def _has_number(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("position"), int)


def _make_question(rows: list[Any], kind: str = "yes_no") -> dict[str, Any]:
    return {"key": _free(rows, "key", "question", "_"), "scale": make_scale(kind), "required": True}


def _make_rule(rows: list[Any], kind: str) -> dict[str, Any]:
    fields: dict[str, dict[str, Any]] = {
        "min_time": {"name": "too-fast", "clock": "client_total", "seconds": 15},
        "max_time": {"name": "too-slow", "clock": "client_total", "seconds": 300},
        "answered": {"name": "answered"},
        "answered_number": {"name": "number"},
        "item": {"name": "item"},
        "flagged": {"name": "does-not-read", "flag": "failed_attention"},
        "failed_attention": {"name": "failed-attention", "at_least_failed": 2},
        "excluded_trials": {"name": "too-many-excluded", "more_than_percent": 50},
        "comprehension_tries": {"name": "many-tries", "at_least_tries": 2},
        "straight_lining": {"name": "straight-lining", "at_least_percent": 90},
        "duplicate_answers": {"name": "duplicate", "of": "all"},
    }
    if kind not in fields:
        raise CannotEdit(say("there is no rule of the kind %(kind)r", kind=kind))
    rule = fields[kind]
    taken = {row.get("name") for row in rows if isinstance(row, dict)}
    name = rule["name"] if rule["name"] not in taken else _free(rows, "name", rule["name"])
    return {"kind": kind, **rule, "name": name}


def _free(rows: list[Any], field: str, stem: str, sign: str = "-") -> str:
    """Return a name that no row has."""
    taken = {row.get(field) for row in rows if isinstance(row, dict)}
    number = 1
    while f"{stem}{sign}{number}" in taken:
        number += 1
    return f"{stem}{sign}{number}"


def _format_location(location: Location) -> str:
    return ".".join(str(part) for part in location)
