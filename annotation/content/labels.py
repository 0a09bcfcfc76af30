"""Label configurations: what to mark and answer in plain tasks. No Django.

`annotation.content.label_programs` makes programs of them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator

from analysis.programs import Kind
from foundation.frozen_model import FrozenModel
from foundation.imports.bounded_yaml import YamlError, find_repeated_keys, read_yaml
from foundation.imports.import_fields import describe_value, format_first_error
from foundation.messages import (
    Message,
    extract_message,
    field_error,
    prefix_field,
    say,
    split_field,
    value_error,
)

LayerType = Literal[
    "spans", "boxes", "polygons", "ellipses", "points", "relations", "choice", "choices", "text", "rating"
]  # fmt: skip
# Layers of objects with a place, and the kind of items they need.
MARKS: dict[LayerType, Kind] = {
    "spans": "spans",
    "boxes": "boxes",
    "polygons": "boxes",
    "ellipses": "boxes",
    "points": "boxes",
}
LABELLED = {*MARKS, "relations", "choice", "choices"}
ANSWERED = {"choice", "choices", "text", "rating"}
MOST_CHARACTERS = 50_000  # of a configuration in YAML
MOST_LABELS = 200  # of a layer; COCO has 80 categories
MOST_QUESTIONS = 10  # about each mark
MOST_TEXT = 10_000  # characters of a written answer
STATE_KEYS = "dux"  # keys of the editor that set the state of a step
COLORS = (
    "#1d6fb8", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be185d", "#0f766e", "#4338ca", "#b91c1c",
    "#4d7c0f",
)  # fmt: skip

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern=r"^[^\x00-\x1f]*$", min_length=1, max_length=60)
]
Hint = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]


class Label(FrozenModel):
    """A label: its name, and how the editor shows it.

    ``color`` is "#" and six hexadecimal digits; ``key`` one digit or lower-case letter; ``hint`` says when
    the label fits. ``parent`` is the label that it is a kind of, which stands above it.
    """

    name: Name
    color: str = ""
    key: str = ""
    hint: Hint = ""
    parent: Name | Literal[""] = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not re.fullmatch(r"(#[0-9a-fA-F]{6})?", self.color):
            raise field_error("color", "%(color)r is not a colour such as #1d6fb8", color=self.color)
        if not re.fullmatch(f"[a-z0-9]?(?<![{STATE_KEYS}])", self.key):
            keys = " and ".join(STATE_KEYS)
            text = "%(key)r is not a digit or small letter; %(keys)s set the state of a step"
            raise field_error("key", text, key=self.key, keys=keys)
        return self


def nest_labels(parents: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """Return the labels of a tree in the order that a question needs.

    ``parents`` has the parent of each label; one that is no label itself, or that stands inside its own
    label, does not count.
    """
    inside: dict[str, list[str]] = {}
    for name, parent in parents.items():
        inside.setdefault(parent if parent in parents and parent != name else "", []).append(name)
    labels: dict[str, str] = {}
    waiting = [(name, "") for name in reversed(inside.get("", []))]
    while waiting:
        name, labels[name] = waiting[-1][0], waiting[-1][1]
        waiting[-1:] = [(below, name) for below in reversed(inside.get(name, []))]
    labels |= {name: "" for name in parents if name not in labels}  # in a circle
    return tuple({"name": name, "parent": parent} for name, parent in labels.items())


def _abbreviate_label(label: Label) -> str | dict[str, str]:
    return {"name": label.name, "parent": label.parent} if label.parent else label.name


_SCALAR = str | bool | int | float | date  # YAML reads words as these; text needs quotes to stay text


def _wrap_name(given: object) -> object:
    return {"name": given} if isinstance(given, _SCALAR) else given


def _wrap_in_list(given: object) -> object:
    return [given] if isinstance(given, _SCALAR) else given


_Needed = Annotated[tuple[Name, ...], BeforeValidator(_wrap_in_list), Field(min_length=1)]


class Condition(FrozenModel):
    """A layer is asked for only if a choice has one of these labels."""

    layer: Name
    labels: _Needed


class MarkCondition(FrozenModel):
    """A question is asked only about marks with one of these labels.

    With the name of a ``question``, an earlier choice about the mark decides instead.
    """

    question: Name | Literal[""] = ""
    labels: _Needed

    def holds(self, label: str, answers: Mapping[str, Sequence[str | int]]) -> bool:
        """Return whether a mark is asked, by its label and the answers before."""
        given = answers.get(self.question, ()) if self.question else (label,)
        return any(value in self.labels for value in given)


class Question(FrozenModel):
    """Something with labels, bounds and a hint that people are asked.

    ``lowest`` and ``highest`` bound a rating. Questions that are not ``required`` may stay open.
    """

    type: LayerType
    name: Name
    labels: Annotated[
        tuple[Annotated[Label, BeforeValidator(_wrap_name)], ...], Field(max_length=MOST_LABELS)
    ] = ()
    required: bool = True
    lowest: Annotated[int, Field(ge=0, le=10)] = 1
    highest: Annotated[int, Field(ge=1, le=20)] = 5
    hint: Hint = ""

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        if self.type in LABELLED and len(self.labels) < (2 if self.type == "choice" else 1):
            several = "“%(layer)s” needs two labels or more"
            text = several if self.type == "choice" else "“%(layer)s” needs one label or more"
            raise field_error("labels", text, layer=self.name)
        if self.type not in LABELLED and self.labels:
            text = "a layer of type %(type)s has none; remove them from “%(layer)s”"
            raise field_error("labels", text, type=self.type, layer=self.name)
        if self.lowest >= self.highest:
            text = "must be greater than lowest (%(lowest)s) in “%(layer)s”"
            raise field_error("highest", text, lowest=self.lowest, layer=self.name)
        keys = [label.key for label in self.labels if label.key]
        for text, values in (
            ("“%(layer)s” has the label “%(value)s” twice", list(self.names)),
            ("“%(layer)s” has the key “%(value)s” twice", keys),
        ):
            if twice := [value for value in values if values.count(value) > 1]:
                raise field_error("labels", text, layer=self.name, value=twice[0])
        self._check_parents()
        return self

    def _check_parents(self) -> None:
        """Check that each label stands right below its parent and its kin."""
        above: list[str] = []  # the label before, after those that hold it
        for index, label in enumerate(self.labels):
            if label.parent and label.parent not in above:
                text = "“%(label)s” must stand below “%(parent)s” and other labels inside that one"
                message = say(text, label=label.name, parent=label.parent)
                raise ValueError(prefix_field(f"labels[{index}].parent", message))
            above = [*above[: above.index(label.parent) + 1 if label.parent else 0], label.name]

    @property
    def depths(self) -> dict[str, int]:
        """The number of labels that hold each one."""
        depths: dict[str, int] = {}
        for label in self.labels:
            depths[label.name] = depths[label.parent] + 1 if label.parent else 0
        return depths

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the labels."""
        return tuple(label.name for label in self.labels)

    @property
    def brief(self) -> dict[str, Any]:
        """The question without colours, keys and hint."""
        return (
            {"type": self.type, "name": self.name}
            | ({"labels": [_abbreviate_label(label) for label in self.labels]} if self.labels else {})
            | ({} if self.required else {"required": False})
            | ({"lowest": self.lowest, "highest": self.highest} if self.type == "rating" else {})
        )

    def _complete_labels(self, free: Iterator[str]) -> list[dict[str, Any]]:
        return [
            {
                "name": label.name,
                "color": label.color or COLORS[index % len(COLORS)],
                "key": label.key or next(free, ""),
                "hint": label.hint,
            }
            | ({"parent": label.parent, "depth": self.depths[label.name]} if label.parent else {})
            for index, label in enumerate(self.labels)
        ]


class MarkQuestion(Question):
    """A question about each mark of a layer; ``show_if`` limits the marks."""

    show_if: MarkCondition | None = None

    @property
    def brief(self) -> dict[str, Any]:
        """The question without colours, keys and hint."""
        condition = self.show_if.model_dump(exclude_defaults=True) if self.show_if else None
        return super().brief | ({"show_if": condition} if condition else {})


class LabelLayer(Question):
    """One thing that people mark or answer.

    ``directed`` relations have a direction, and ``show_if`` hides a layer until an earlier choice has an
    answer. ``questions`` are asked about each mark of the layer.
    """

    directed: bool = True
    show_if: Condition | None = None
    questions: Annotated[tuple[MarkQuestion, ...], Field(max_length=MOST_QUESTIONS)] = ()

    @model_validator(mode="after")
    def _check_questions(self) -> Self:
        names = [question.name for question in self.questions]
        asked: tuple[Question, ...] = (self, *self.questions)
        keys = [label.key for question in asked for label in question.labels if label.key]
        for text, wrong in (
            ("“%(layer)s” has no marks to ask about", names if self.type not in MARKS else []),
            (
                "“%(layer)s” cannot ask for %(value)s about a mark",
                [str(question.type) for question in self.questions if question.type not in ANSWERED],
            ),
            ("“%(layer)s” asks “%(value)s” twice", [name for name in names if names.count(name) > 1]),
            ("“%(layer)s” has the key “%(value)s” twice", [key for key in keys if keys.count(key) > 1]),
        ):
            if wrong:
                raise field_error("questions", text, layer=self.name, value=wrong[0])
        for index, question in enumerate(self.questions):
            self._check_mark_condition(question, self.questions[:index], f"questions[{index}].show_if")
        return self

    def _check_mark_condition(
        self, question: MarkQuestion, before: Sequence[MarkQuestion], field: str
    ) -> None:
        """Check that a condition names labels of the marks, or an earlier choice."""
        if (needed := question.show_if) is None:
            return
        asked: Question | None = self
        if needed.question:
            asked = next((other for other in before if other.name == needed.question), None)
        _check_needed(question.name, needed.labels, needed.question, asked, field, "question")

    def question(self, name: str) -> MarkQuestion | None:
        """Return the question about marks that has this name."""
        return next((question for question in self.questions if question.name == name), None)

    def find_asked_questions(
        self, label: str, answers: Mapping[str, Sequence[str | int]]
    ) -> dict[str, MarkQuestion]:
        """Return the questions about a mark whose conditions hold, by name.

        A choice that is not asked shows no other question.
        """
        asked: dict[str, MarkQuestion] = {}
        for question in self.questions:
            given = {name: answers[name] for name in asked if name in answers}
            if question.show_if is None or question.show_if.holds(label, given):
                asked[question.name] = question
        return asked

    def shown(self) -> dict[str, Any]:
        """Return the layer with the colours and keys that it leaves out."""
        taken = {label.key for question in (self, *self.questions) for label in question.labels}
        free = iter([digit for digit in "123456789" if digit not in taken])
        own = {"labels": self._complete_labels(free)}
        asked = [
            question.model_dump() | {"labels": question._complete_labels(free)} for question in self.questions
        ]
        return self.model_dump() | own | {"questions": asked}


class LabelTask(FrozenModel):
    """A label configuration: the layers of a plain task, in the order of work."""

    layers: Annotated[tuple[LabelLayer, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [layer.name for layer in self.layers]
        if twice := [name for name in names if names.count(name) > 1]:
            text = "two have the name “%(name)s”; give each its own"
            raise field_error("layers", text, name=twice[0])
        if len({MARKS[layer.type] for layer in self.layers if layer.type in MARKS}) > 1:
            text = "a task has spans of a text or marks in images, not both; make two projects"
            raise field_error("layers", text)
        for index, layer in enumerate(self.layers):
            if layer.type == "relations" and not any(other.type in MARKS for other in self.layers[:index]):
                text = "“%(layer)s” relates marks; put a layer of marks before it"
                raise field_error(f"layers[{index}]", text, layer=layer.name)
            _check_condition(layer, self.layers[:index], f"layers[{index}].show_if")
        return self

    @property
    def kind(self) -> Kind | None:
        """The kind of its marks; None if people only answer."""
        return next((MARKS[layer.type] for layer in self.layers if layer.type in MARKS), None)

    @property
    def text(self) -> str:
        """The layers without colours, keys and hints: the program of its items."""
        layers = [
            layer.brief
            | ({} if layer.directed else {"directed": False})
            | ({"show_if": layer.show_if.model_dump()} if layer.show_if else {})
            | ({"questions": [question.brief for question in layer.questions]} if layer.questions else {})
            for layer in self.layers
        ]
        return json.dumps({"layers": layers}, ensure_ascii=False, separators=(",", ":"))


def _check_condition(layer: LabelLayer, before: Sequence[LabelLayer], field: str) -> None:
    """Check that a condition names labels of a choice further up."""
    if layer.show_if is None:
        return
    asked = next((other for other in before if other.name == layer.show_if.layer), None)
    _check_needed(layer.name, layer.show_if.labels, layer.show_if.layer, asked, field, "layer")


def _check_needed(
    name: str, labels: Sequence[str], needed: str, asked: Question | None, field: str, part: str
) -> None:
    """Check that a choice, or without a name the marks, have the labels."""
    if asked is None or (needed and asked.type not in ("choice", "choices")):
        text = "“%(asked)s” is not a choice before “%(layer)s”"
        raise field_error(f"{field}.{part}", text, asked=needed, layer=name)
    if unknown := [label for label in labels if label not in asked.names]:
        text = "“%(layer)s” has no label “%(label)s”"
        raise field_error(f"{field}.labels", text, layer=asked.name, label=unknown[0])


def read_label_task(text: str) -> LabelTask:
    """Read a label configuration in YAML or JSON.

    Raises:
        ValueError: Names the line or the field that is wrong.
    """
    if len(text) > MOST_CHARACTERS:
        raise value_error("the configuration has more than %(most)s characters", most=f"{MOST_CHARACTERS:,}")
    try:
        node, given = read_yaml(text)
    except YamlError as error:
        raise value_error("line %(line)s: %(problem)s", line=error.line, problem=error.problem) from error
    for line, key in find_repeated_keys(node):
        problem = say("the key %(key)r is given twice", key=key)
        raise value_error("line %(line)s: %(problem)s", line=line, problem=problem)
    try:
        return LabelTask.model_validate(given)
    except ValidationError as error:
        raise ValueError(describe_mistake(error)) from error


def label_yaml(task: LabelTask) -> str:
    """Write a label configuration in YAML; `read_label_task` reads it back."""
    layers = [layer.model_dump(mode="json", exclude_defaults=True) for layer in task.layers]
    return yaml.safe_dump({"layers": layers}, sort_keys=False, allow_unicode=True)


def describe_mistake(error: ValidationError) -> str:
    """Return the first mistake; a check of several fields names its own."""
    first = error.errors(include_url=False)[0]
    unquoted = first["type"] == "string_type" and isinstance(first["input"], _SCALAR)
    if first["type"] != "value_error" and not unquoted:
        return format_first_error(error)
    where = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).removeprefix(".")
    if unquoted:
        given = first["input"]
        value = str(given) if isinstance(given, date) else describe_value(given)
        return prefix_field(where, say("must be text; found %(value)s; put it in quotes", value=value))
    message = extract_message(first["ctx"]["error"])
    field, problem = split_field(message) if isinstance(message, Message) else ("", message)
    full = ".".join(part for part in (where, field) if part)
    return prefix_field(full, problem) if full else problem
