"""The fields of a form as data, and reading what was sent.

Pure: no Django.

A form is built from a draft and read by the same tree of widgets, so that what is shown and what is read
cannot come apart. A draft leaves empty fields out; the definition decides whether they are missing.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from studyapp.definition.questions.question import IMAGE_FILE, Answer
from studyapp.definition.tasks import KINDS
from studyapp.definition.yaml_document import Location

Sent = Mapping[str, list[str]]
Kind = Literal[
    "text",
    "area",
    "number",
    "date",
    "check",
    "select",
    "lines",
    "choices",
    "row_lines",
    "source",
    "answer",
    "answers",
    "pick",
    "fixed",
    "group",
    "rows",
    "row",
    "more",
    "texts",
    "scale",
    "items",
    "task",
    "image",
    "absent",
]


LONG = 30  # letters of an option
IMAGE_NAME = re.compile(IMAGE_FILE)


@dataclass
class Widget:
    """One field, or a group of them.

    ``location`` is its location in the draft and ``name`` what its parent calls it. ``answers`` maps what is
    sent to what is stored. ``is_dropped_empty`` leaves a group out in which nothing was filled. ``adds`` are
    the rows, or the group, that can be added: name and label. ``is_worded`` says that the options are words
    of the program, to be said in the language of the page, and not names of data or what a study says;
    ``summary_labels`` are such words in the summary, and ``quoted`` is the text that a hint quotes.
    """

    kind: Kind
    location: Location
    label: str = ""
    hint: str = ""
    value: Any = ""
    options: list[tuple[str, str]] = field(default_factory=list)
    answers: Mapping[str, Answer] = field(default_factory=dict)
    children: "list[Widget]" = field(default_factory=list)
    adds: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    summary: str = ""
    is_dropped_empty: bool = False
    is_removable: bool = False
    is_open: bool = False
    code: str = ""
    is_worded: bool = False
    summary_labels: list[str] = field(default_factory=list)
    quoted: str = ""

    @property
    def is_long(self) -> bool:
        """True if it has options that a narrow field would cut off."""
        return any(len(label) > LONG for _value, label in self.options)

    @property
    def name(self) -> Any:
        """The name or index by which the parent of the field knows it."""
        return self.location[-1]

    @property
    def path(self) -> str:
        """The name in the form."""
        return self.code or ".".join(str(part) for part in self.location)

    @property
    def id(self) -> str:
        """The ID on the page, made from the path because labels hold any sign."""
        return "f-" + re.sub(r"[^A-Za-z0-9_-]", "-", self.path)

    @property
    def describedby(self) -> str:
        """The ids of the hint and the errors."""
        named = [f"{self.id}-hint"] if self.hint else []
        return " ".join([*named, *([f"{self.id}-errors"] if self.errors else [])])

    @property
    def lines(self) -> int:
        """Height of a text of several lines."""
        written = str(self.value)
        return min(max(written.count("\n") + len(written) // 60 + 2, 3), 16)

    @property
    def image(self) -> str:
        """The name of the image that a field holds; empty for none."""
        return self.value if self.kind == "image" and IMAGE_NAME.fullmatch(str(self.value)) else ""

    @property
    def is_kind(self) -> bool:
        """True if it decides which fields there are besides it."""
        return self.location[-2:] == ("scale", "kind")

    @property
    def parent_path(self) -> str:
        """The path of the row or group around the group that it is in."""
        return ".".join(str(part) for part in self.location[:-2])

    @property
    def is_of_questions(self) -> bool:
        """True if its rows are questions, which have kinds and scales."""
        return self.kind == "rows" and self.location[-1] in (
            *("item", "pre_survey", "post_survey", "screening", "questions"),
        )

    def all(self) -> "Iterator[Widget]":
        """Yield this widget and all within it."""
        yield self
        for child in self.children:
            yield from child.all()


def read(widgets: Iterable[Widget], sent: Sent) -> dict[Any, Any]:
    """Return the fields that were sent, for the draft.

    Nothing is checked: a draft may be wrong.
    """
    fields: dict[Any, Any] = {}
    for widget in widgets:
        fields |= _read(widget, sent)
    return fields


def _read(widget: Widget, sent: Sent) -> dict[Any, Any]:
    match widget.kind:
        case "absent":
            return {}
        case "fixed":
            return {widget.name: widget.value}
        case "group" | "row":
            inside = read(widget.children, sent)
            return {} if widget.is_dropped_empty and not inside else {widget.name: inside}
        case "texts":
            texts = read(widget.children, sent)
            return {widget.name: [texts.get(child.name, "") for child in widget.children]} if texts else {}
        case "more":  # fields that are left out of the draft unless they say something
            return {name: value for name, value in read(widget.children, sent).items() if value}
        case "rows":
            return {widget.name: [read(row.children, sent) for row in widget.children]}
        case "scale":
            return {widget.name: _read_scale(widget, sent)}
        case "task":
            return {widget.name: _filter_task(read(widget.children, sent))}
        case "items":
            return {widget.name: _filter_items(read(widget.children, sent))}
        case "check":
            return {widget.name: widget.path in sent}
        case "answers":
            chosen = [widget.answers[code] for code in sent.get(widget.path, []) if code in widget.answers]
            return {widget.name: chosen} if chosen else {}
    text = sent.get(widget.path, [""])[-1].replace("\r\n", "\n").strip()
    return _parse_text(widget, text) if text else {}


def _parse_text(widget: Widget, text: str) -> dict[Any, Any]:
    """Return what one text says."""
    match widget.kind:
        case "number":
            return {widget.name: _parse_number(text)}
        case "lines":
            return {widget.name: [line.strip() for line in text.split("\n") if line.strip()]}
        case "choices":
            return {widget.name: _parse_choices(text)}
        case "row_lines":
            rows = [{"key": row["value"], "text": row["label"]} for row in _parse_choices(text)]
            return {widget.name: rows}
        case "source":
            kind, _colon, name = text.partition(":")
            return {"ground_truth": True} if kind == "ground_truth" else {"system": name}
        case "answer":
            return {widget.name: widget.answers.get(text, text)}
        case "pick":
            return {"question": text.partition("=")[0], "value": widget.answers.get(text, text)}
    return {widget.name: text}


def _parse_number(text: str) -> int | float | str:
    """Return a number, or the text itself for the definition to refuse."""
    for kind in (int, float):
        try:
            number = kind(text)
            return number if math.isfinite(number) else text
        except ValueError:
            continue
        except OverflowError:  # more digits than a float holds
            return text
    return text


def _parse_choices(text: str) -> list[dict[str, str]]:
    """Parse lines of ``value = label``, or of a label that gets a value."""
    rows: list[dict[str, str]] = []
    for line in (line.strip() for line in text.split("\n")):
        if not line:
            continue
        value, sign, label = (part.strip() for part in line.partition("="))
        if not sign:
            value, label = _make_value(line, {row["value"] for row in rows}), line
        rows.append({"value": value, "label": label})
    return rows


def _make_value(label: str, taken: set[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:36] or "choice"
    number, name = 1, stem
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def _read_scale(widget: Widget, sent: Sent) -> Any:
    """Return the scale of a question.

    Another kind than the page showed keeps what both kinds have.
    """
    fields = read(widget.children, sent)
    kind = fields.pop("kind", None)
    if kind == "yes_no":
        return "yes_no"
    if kind != widget.value:
        return make_scale(str(kind), fields)
    named = {} if kind == "likert" else {"kind": kind}
    return {**named, **(_read_rating(widget, fields) if kind in ("likert", "matrix") else fields)}


def _read_rating(widget: Widget, fields: dict[Any, Any]) -> dict[Any, Any]:
    """Return a rating scale with labels or ends.

    If both were sent, the one that the page showed already gives way.
    """
    shown = {child.name: child.value for child in widget.children}
    ends = [fields.pop(name, "") for name in ("low", "high")]
    if not any(ends):
        return fields
    is_new = ends != [shown["low"], shown["high"]]
    if is_new and fields.get("labels") == str(shown["labels"]).split("\n"):
        del fields["labels"]
    return fields if not is_new and "labels" in fields else {**fields, "ends": ends}


def format_value(value: Any) -> str:
    """Return a value as text for a field."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def make_scale(kind: str, before: Mapping[str, Any] | None = None) -> Any:
    """Return a scale of a kind with what it needs filled in; keep choices."""
    choices, rows = ((before or {}).get(name, []) for name in ("choices", "rows"))
    blank: dict[str, Any] = {
        "yes_no": "yes_no",
        "likert": {"points": 5},
        "single": {"choices": choices},
        "multiple": {"choices": choices},
        "number": {"min": 0, "max": 100},
        "slider": {"min": 0, "max": 100},
        "matrix": {"rows": rows, "choices": choices} if choices else {"rows": rows, "points": 5},
        "ranking": {"choices": choices},
        "text": {},
    }
    scale = blank.get(kind, {})
    return scale if kind in ("yes_no", "likert") else {"kind": kind, **scale}


def _filter_task(fields: dict[Any, Any]) -> dict[Any, Any]:
    """Return a task without the options of another kind."""
    kept = KINDS[fields["kind"]].model_fields if fields.get("kind") in KINDS else {"kind"}
    return {name: value for name, value in fields.items() if name in kept}


def _filter_items(fields: dict[Any, Any]) -> dict[Any, Any]:
    """Return the items without the fields of other ways of choosing."""
    selection = fields.pop("way", "draw")
    kept = {"hand": {"ids"}, "stratify": {"count", "seed", "stratify"}}.get(selection, {"count", "seed"})
    return {name: value for name, value in fields.items() if name in kept}
