"""The label configuration that a file of another tool implies."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from annotation.content.labels import (
    MARKS,
    MOST_QUESTIONS,
    LabelLayer,
    LabelTask,
    LayerType,
    MarkQuestion,
    nest_labels,
)
from annotation.formats.labelled.entries import BARE_RELATION, Labelling, Reader, find_mark_type, read_entries
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.messages import value_error


@dataclass
class _Layer:
    """A layer of the configuration that a file implies."""

    type: LayerType
    declared: LabelLayer | None = None
    labels: dict[str, None] = field(default_factory=dict)
    ratings: set[int] = field(default_factory=set)
    directed: bool = False
    questions: dict[str, _Layer] = field(default_factory=dict)

    def declare(self, layer: LabelLayer) -> None:
        """Add the labels of another entry's declaration of this layer."""
        if self.declared is None or layer == self.declared:
            self.declared = layer
            return
        parents = {label.name: label.parent for label in self.declared.labels}
        for label in layer.labels:
            if parents.setdefault(label.name, label.parent) != label.parent:
                text = "“%(label)s” stands inside “%(parent)s” and elsewhere; a label has one place"
                raise value_error(text, label=label.name, parent=label.parent)
        self.declared = LabelLayer.model_validate(
            {**self.declared.model_dump(), "labels": nest_labels(parents)}
        )

    def layer(self, name: str) -> LabelLayer:
        questions = tuple(asked.question(name) for name, asked in self.questions.items())[:MOST_QUESTIONS]
        if self.declared is not None and not self.labels.keys() - set(self.declared.names):
            return self.declared.model_copy(update={"type": self.type, "questions": questions})
        return LabelLayer.model_validate({**self._build_fields(name), "questions": questions})

    def question(self, name: str) -> MarkQuestion:
        """Return the question; a file does not say that all marks need it."""
        return MarkQuestion.model_validate({**self._build_fields(name), "required": False})

    def _build_fields(self, name: str) -> dict[str, Any]:
        given: dict[str, Any] = {"type": self.type, "name": name, "required": self.type in (*MARKS, "choice")}
        if self.type == "rating":
            given |= {"lowest": min(self.ratings | {1}), "highest": max(self.ratings | {5})}
        elif self.type != "text":
            names = dict.fromkeys(self.declared.names if self.declared else ())
            given["labels"] = tuple(names | self.labels)
        if self.type == "relations":
            given["directed"] = self.directed
        if self.type == "choice" and len(given["labels"]) < 2:
            given["type"] = "choices"  # one class is a box to tick
        return given


def infer_task(source: Source, reader: Reader) -> LabelTask | None:
    """Return the label configuration that a file implies, if it has labels.

    Raises:
        BadFile: There cannot be such a configuration.
    """
    layers: dict[str, _Layer] = {}
    try:
        with suppress(BadFile):  # the second reading says so
            for entry in read_entries(source, reader):
                for layer in entry.declared:
                    layers.setdefault(layer.name, _Layer(layer.type, layer)).declare(layer)
                for labelling in entry.labellings:
                    _note_labels(layers, labelling)
        if not layers:
            return None
        return LabelTask(layers=tuple(layer.layer(name) for name, layer in layers.items()))
    except ValueError as error:
        Findings().refuse(error, source.path)
        raise


def _note_labels(layers: dict[str, _Layer], labelling: Labelling) -> None:
    for name, mark in labelling.marks:
        kind = find_mark_type(mark)
        layer = layers.setdefault(name, _Layer(kind))
        if layer.type != kind and {layer.type, kind} <= {"boxes", "polygons", "ellipses"}:
            layer.type = "polygons"  # which all of them can become
        layer.labels.setdefault(mark.label.strip())
    several: Counter[str] = Counter()
    for name, kind, value in labelling.answers:
        several[name] += 1
        _note_answer(layers.setdefault(name, _Layer(kind)), kind, value, several[name])
    owners = {mark.id: name for name, mark in labelling.marks}
    about: Counter[tuple[str, str]] = Counter()
    for given in labelling.about:
        if given.mark in owners and given.type is not None:
            about[given.mark, given.question] += 1
            questions = layers[owners[given.mark]].questions
            question = questions.setdefault(given.question, _Layer(given.type))
            _note_answer(question, given.type, given.value, about[given.mark, given.question])
    for relation in labelling.relations if labelling.marks else ():
        layer = layers.setdefault(relation.layer, _Layer("relations"))
        layer.directed |= not relation.both
        layer.labels.setdefault(relation.label.strip() or BARE_RELATION)


def _note_answer(layer: _Layer, kind: LayerType, value: str | int, number: int) -> None:
    """Note the label or rating of a person's n-th answer to a question."""
    if kind == "choice" and number > 1:
        layer.type = "choices"
    if kind == "rating" and isinstance(value, int):
        layer.ratings.add(value)
    elif kind != "text":
        layer.labels.setdefault(str(value).strip())
