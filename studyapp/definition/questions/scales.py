"""Questionnaire scales by name, with their sources.

Every scale is a table of questions as a definition would have them. If the owners have not released a
wording, the scale has its form only (points, ends, number of items), and the researcher enters the items
from the source.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from foundation.messages import say, value_error

Entry = dict[str, Any]


class ScaleTemplate(NamedTuple):
    """A scale by name.

    ``items`` has the questions by key; it is empty if they are to be entered.

    ``entered`` is how many those are; None if the versions of the scale differ in it.
    """

    title: str
    measures: str
    source: str
    form: Entry
    items: dict[str, str | tuple[str, Entry]]
    entered: int | None = None


def _build_likert(points: int, low: str, high: str) -> Entry:
    return {"points": points, "ends": [low, high]}


_WORKLOAD = _build_likert(21, "Very low", "Very high")
_NOT_SAID = {"not_said": "I prefer not to say"}

SCALES: dict[str, ScaleTemplate] = {
    # A work of the United States government, therefore free to quote.
    "nasa-tlx": ScaleTemplate(
        "Raw NASA Task Load Index",
        "workload",
        "Hart and Staveland 1988; without weights after Hart 2006",
        _WORKLOAD,
        {
            "tlx_mental": "How mentally demanding was the task?",
            "tlx_physical": "How physically demanding was the task?",
            "tlx_temporal": "How hurried or rushed was the pace of the task?",
            "tlx_performance": (
                "How successful were you in accomplishing what you were asked to do?",
                _build_likert(21, "Perfect", "Failure"),
            ),
            "tlx_effort": "How hard did you have to work to accomplish your level of performance?",
            "tlx_frustration": "How insecure, discouraged, irritated, stressed, and annoyed were you?",
        },
    ),
    "umux-lite": ScaleTemplate(
        "UMUX-Lite",
        "usability",
        "Lewis, Utesch and Maher 2013",
        _build_likert(7, "Strongly disagree", "Strongly agree"),
        {
            "umux_capabilities": "This system's capabilities meet my requirements.",
            "umux_ease": "This system is easy to use.",
        },
    ),
    "trust-jian": ScaleTemplate(
        "Checklist for trust between people and automation",
        "trust",
        "Jian, Bisantz and Drury 2000",
        _build_likert(7, "Not at all", "Extremely"),
        {},
        entered=12,
    ),
    "trust-xai": ScaleTemplate(
        "Trust scale for explainable AI",
        "trust",
        "Hoffman, Mueller, Klein and Litman 2023",
        {"points": 5},
        {},
    ),
    "explanation-satisfaction": ScaleTemplate(
        "Explanation satisfaction scale",
        "satisfaction",
        "Hoffman, Mueller, Klein and Litman 2023",
        {"points": 5},
        {},
    ),
    "sus": ScaleTemplate(
        "System usability scale",
        "usability",
        "Brooke 1996",
        _build_likert(5, "Strongly disagree", "Strongly agree"),
        {},
        entered=10,
    ),
    "demographics": ScaleTemplate(
        "About the participant",
        "age, gender, English, education; never required",
        "wording of this project",
        {},
        {
            "age": (
                "How old are you?",
                {"kind": "number", "min": 0, "max": 130, "unit": "years"},
            ),
            "gender": (
                "What is your gender?",
                {
                    "kind": "single",
                    "choices": {
                        "woman": "Woman",
                        "man": "Man",
                        "non_binary": "Non-binary",
                        "other": "Another gender",
                        **_NOT_SAID,
                    },
                },
            ),
            "english": (
                "How well do you read English?",
                {
                    "kind": "single",
                    "choices": {
                        "native": "It is my first language",
                        "fluent": "Fluently",
                        "well": "Well",
                        "some": "A little",
                        **_NOT_SAID,
                    },
                },
            ),
            "education": (
                "What is the highest level of education that you completed?",
                {
                    "kind": "single",
                    "choices": {
                        "less_than_school": "Less than secondary school",
                        "school": "Secondary school",
                        "vocational": "Vocational training",
                        "bachelor": "Bachelor's degree",
                        "master": "Master's degree",
                        "doctorate": "Doctorate",
                        "other": "Another qualification",
                        **_NOT_SAID,
                    },
                },
            ),
        },
    ),
}
NEVER_REQUIRED = frozenset({"demographics"})


def expand(entries: Any) -> Any:
    """Replace entries that stand for questions by those questions.

    ``{template: NAME, …}`` becomes the questions of that scale: ``only`` picks questions by key, ``required:
    false`` makes them optional, and ``items`` are the wordings of a scale whose items are to be entered.
    ``{heading: …, text: …}`` and ``{page_break: true}`` become fields of the question that follows.

    Raises:
        ValueError: an entry does not fit its scale, or no question follows a heading.
    """
    if not isinstance(entries, list):
        return entries
    questions: list[Any] = []
    above: Entry = {}
    for entry in entries:
        if is_layout(entry):
            above |= {_LAYOUT.get(name, name): value for name, value in entry.items()}
            continue
        own = expand_scale(entry) if isinstance(entry, dict) and "template" in entry else [entry]
        if above and isinstance(own[0], dict):
            own = [{**above, **own[0]}, *own[1:]]
            above = {}
        questions += own
    if above:
        raise value_error("a question must follow a heading or a page break")
    return questions


_LAYOUT = {"text": "heading_text"}


def is_layout(entry: Any) -> bool:
    """Return whether an entry is a heading or a page break, not a question."""
    return (
        isinstance(entry, dict)
        and bool(entry.keys() & {"heading", "page_break"})
        and entry.keys() <= {"heading", "text", "page_break"}
    )


def expand_if_possible(entries: Any) -> Any:
    """Expand entries, but keep those that cannot be expanded.

    The error is reported for the field itself.
    """
    try:
        return expand(entries)
    except ValueError:
        return entries


def list_written_positions(entries: Any) -> list[int]:
    """Return the index in the list as written of each expanded question."""
    return [
        position
        for position, entry in enumerate(entries if isinstance(entries, list) else [])
        if not is_layout(entry)
        for _question in expand_if_possible([entry])
    ]


def expand_scale(entry: Entry) -> list[Entry]:
    """Return the questions of one use of a scale.

    Raises:
        ValueError: the entry does not fit its scale.
    """
    name = entry["template"]
    if not isinstance(name, str) or name not in SCALES:
        raise value_error(
            "unknown scale %(name)r; known scales: %(known)s", name=name, known=", ".join(SCALES)
        )
    unknown = sorted(entry.keys() - {"template", "only", "required", "items"})
    if unknown:
        raise value_error("scale %(name)r: there is no such field: %(field)s", name=name, field=unknown[0])
    scale = SCALES[name]
    items = scale.items or _read_entered_items(name, scale, entry.get("items"))
    if scale.items and "items" in entry:
        raise value_error("scale %(name)r has its items; items are for scales that have none", name=name)
    is_required = entry.get("required", name not in NEVER_REQUIRED)
    if not isinstance(is_required, bool) or (is_required and name in NEVER_REQUIRED):
        raise ValueError(
            say("scale %(name)r: required must be false", name=name)
            if name in NEVER_REQUIRED
            else say("scale %(name)r: required must be true or false", name=name)
        )
    return [
        _build_question(scale, key, items[key], is_required)
        for key in _select_items(name, items, entry.get("only"))
    ]


def _read_entered_items(name: str, scale: ScaleTemplate, given: Any) -> dict[str, str | tuple[str, Entry]]:
    """Return the researcher's items, keyed by scale and number."""
    texts = given if isinstance(given, list) else []
    is_whole = bool(texts) and len(texts) == (scale.entered or len(texts))
    if not is_whole or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(
            say(
                "scale %(name)r: items must be the %(n)s items of the scale, in order, as in its "
                "source: %(source)s",
                name=name,
                n=scale.entered,
                source=scale.source,
            )
            if scale.entered
            else say(
                "scale %(name)r: items must be the items of the scale, in order, as in its source: "
                "%(source)s",
                name=name,
                source=scale.source,
            )
        )
    key = name.replace("-", "_")
    return {f"{key}_{number}": text for number, text in enumerate(texts, start=1)}


def _select_items(name: str, items: dict[str, Any], only: Any) -> Sequence[str]:
    if only is None:
        return list(items)
    if not isinstance(only, list) or not only or not set(map(str, only)) <= items.keys():
        raise value_error(
            "scale %(name)r: only must list some of %(known)s", name=name, known=", ".join(items)
        )
    return [key for key in items if key in only]


def _build_question(
    scale: ScaleTemplate, key: str, item: str | tuple[str, Entry], is_required: bool
) -> Entry:
    text, form = (item, scale.form) if isinstance(item, str) else item
    return {"key": key, "text": text, "scale": form, "required": is_required}
