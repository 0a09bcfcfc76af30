"""Everything that is said about an item, flat: one statement for each object, for formats that are lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from analysis.programs import Node
from annotation.formats.checks import record_program
from annotation.operations import resolved
from annotation.schemas import AnnotationRecord, Box, Document, ItemRecord, Layer, Object, Span


class Source(NamedTuple):
    """Who says it: the work of a person, with its number among the item's, or the gold (None)."""

    document: Document
    annotation: AnnotationRecord | None = None
    number: int | None = None

    @property
    def annotator(self) -> str:
        """The person's name; empty for the gold."""
        return "" if self.annotation is None else self.annotation.annotator


class Statement(NamedTuple):
    """One object at a node; `shape` is its place, with references followed."""

    node: Node
    layer: Layer
    object: Object
    shape: Box | Span


def sources(record: ItemRecord) -> Iterator[Source]:
    """The gold first, then the people in the item's order."""
    if record.gold is not None:
        yield Source(record.gold)
    for number, annotation in enumerate(record.annotations):
        yield Source(annotation.document, annotation, number)


def statements(record: ItemRecord, document: Document) -> Iterator[Statement]:
    """The objects of a document, layer by layer. Nothing where the item has no program."""
    program = record_program(record)
    if program is None:
        return
    shapes = resolved(document, program)
    for index, layer in document.layers.items():
        for one, shape in zip(layer.objects, shapes.get(index, ()), strict=True):
            yield Statement(program.nodes[index], layer, one, shape)


def besides(document: Document) -> dict[str, Any]:
    """What a document says besides its objects, as JSON: states, values and notes of layers, the problem."""
    layers = {
        str(node): Layer(state=layer.state, value=layer.value, note=layer.note).model_dump(
            exclude_defaults=True
        )
        for node, layer in document.layers.items()
    }
    problem = document.problem
    return {"layers": layers, **({} if problem is None else {"problem": problem.model_dump(mode="json")})}
