"""Flatten items into statements, one for each object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from analysis.programs import Node
from annotation.content.completeness import resolve_references
from annotation.content.schemas import AnnotationRecord, Box, Document, ItemRecord, Layer, Object, Span
from annotation.formats.checks import parse_record_program


class Source(NamedTuple):
    """The author of a document: an annotation and its number, or the gold."""

    document: Document
    annotation: AnnotationRecord | None = None
    number: int | None = None

    @property
    def annotator(self) -> str:
        """Return the person's name; empty for the gold."""
        return "" if self.annotation is None else self.annotation.annotator


class Statement(NamedTuple):
    """One object at a node; `shape` follows references."""

    node: Node
    layer: Layer
    object: Object
    shape: Box | Span


def list_sources(record: ItemRecord) -> Iterator[Source]:
    """Yield the gold first, then the annotations in the item's order."""
    if record.gold is not None:
        yield Source(record.gold)
    for number, annotation in enumerate(record.annotations):
        yield Source(annotation.document, annotation, number)


def list_statements(record: ItemRecord, document: Document) -> Iterator[Statement]:
    """Yield the objects of a document by layer; none without a program."""
    program = parse_record_program(record)
    if program is None:
        return
    shapes = resolve_references(document, program)
    for index, layer in document.layers.items():
        for drawn, shape in zip(layer.objects, shapes.get(index, ()), strict=True):
            yield Statement(program.nodes[index], layer, drawn, shape)


def dump_without_objects(document: Document) -> dict[str, Any]:
    """Return a document without its objects, as JSON.

    That is states, values and notes of layers, and the problem.
    """
    layers = {
        str(node): Layer(state=layer.state, value=layer.value, note=layer.note).model_dump(
            exclude_defaults=True
        )
        for node, layer in document.layers.items()
    }
    problem = document.problem
    return {"layers": layers, **({} if problem is None else {"problem": problem.model_dump(mode="json")})}
