"""Marks and answers of plain tasks, as writers for other tools take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from analysis.gold_agreement import Outline, ellipse_outline
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import LabelLayer, LabelTask, MarkQuestion
from annotation.content.schemas import (
    AnnotationRecord,
    Answer,
    Box,
    Document,
    Ellipse,
    ItemRecord,
    KeyPoint,
    Polygon,
    Relation,
    Span,
)
from annotation.formats.checks import parse_record_program
from foundation.messages import field_error

IMAGE_TWICE = (
    "shows the image %(name)s of another item, and this format has one file for each image; use JSON lines"
)


def parse_record_task(record: ItemRecord) -> LabelTask:
    """Return the plain task of an item."""
    return cast(LabelProgram, parse_record_program(record)).task


def list_labellings(record: ItemRecord) -> Iterator[tuple[AnnotationRecord | None, Document]]:
    """Yield the gold first, without an author, then the annotations."""
    if record.gold is not None:
        yield None, record.gold
    for annotation in record.annotations:
        yield annotation, annotation.document


def _list_layers(record: ItemRecord, document: Document | None) -> Iterator[tuple[LabelLayer, Any]]:
    for index, layer in enumerate(parse_record_task(record).layers, start=1):
        if document is not None and index in document.layers:
            yield layer, document.layers[index]


def list_spans(record: ItemRecord, document: Document | None) -> Iterator[tuple[LabelLayer, Span]]:
    """Yield the spans of a document with their layers."""
    for layer, stored in _list_layers(record, document):
        yield from ((layer, span) for span in stored.objects if isinstance(span, Span))


def list_image_marks(record: ItemRecord, document: Document | None) -> Iterator[tuple[LabelLayer, Box]]:
    """Yield the boxes, polygons, ellipses and key points of a document."""
    for layer, stored in _list_layers(record, document):
        yield from ((layer, mark) for mark in stored.objects if isinstance(mark, Box))


def list_boxes(record: ItemRecord, document: Document | None) -> Iterator[tuple[LabelLayer, Box]]:
    """Yield the marks that cover something, for formats that hold their boxes."""
    return (
        (layer, mark) for layer, mark in list_image_marks(record, document) if not isinstance(mark, KeyPoint)
    )


def list_key_points(record: ItemRecord, document: Document | None) -> Iterator[tuple[LabelLayer, KeyPoint]]:
    """Yield the key points of a document with their layers."""
    return (
        (layer, point) for layer, point in list_image_marks(record, document) if isinstance(point, KeyPoint)
    )


def list_corners(mark: Box) -> Outline:
    """Return the corners of a polygon or ellipse; a box has none."""
    if isinstance(mark, Polygon):
        return mark.polygon
    return ellipse_outline(mark.box) if isinstance(mark, Ellipse) else ()


def list_answers(
    record: ItemRecord, document: Document | None
) -> Iterator[tuple[LabelLayer, list[str | int]]]:
    """Yield the layers that have answers, with their values."""
    for layer, stored in _list_layers(record, document):
        if values := [answer.value for answer in stored.objects if isinstance(answer, Answer)]:
            yield layer, values


def list_mark_answers(
    layer: LabelLayer, mark: Box | Span
) -> Iterator[tuple[MarkQuestion, tuple[str | int, ...]]]:
    """Yield the questions about a mark that have answers, with these."""
    for question in layer.questions:
        if values := mark.answers.get(question.name):
            yield question, values


def list_relations(record: ItemRecord, document: Document | None) -> Iterator[tuple[LabelLayer, Relation]]:
    """Yield the relations of a document with their layers."""
    for layer, stored in _list_layers(record, document):
        yield from ((layer, relation) for relation in stored.objects if isinstance(relation, Relation))


def list_classes(record: ItemRecord, document: Document | None) -> list[str]:
    """Return all labels that were chosen, of all choices."""
    chosen = (values for layer, values in list_answers(record, document) if layer.labels)
    return [str(value) for values in chosen for value in values]


def list_box_labels(record: ItemRecord) -> list[str]:
    """Return the labels of boxes, polygons and ellipses, each once."""
    covering = ("boxes", "polygons", "ellipses")
    layers = [layer for layer in parse_record_task(record).layers if layer.type in covering]
    return list(dict.fromkeys(name for layer in layers for name in layer.names))


def require_kind(record: ItemRecord, kind: str, form: str) -> None:
    """Refuse an item of another kind than a format holds.

    Raises:
        ValueError: Names the item.
    """
    if record.kind != kind:
        texts, images = "%(form)s files hold texts only", "%(form)s files hold images only"
        raise field_error(record.external_id, texts if kind == "spans" else images, form=form)


def require_item_image_size(record: ItemRecord, image: int) -> tuple[int, int]:
    """Return the width and height of an image of an item.

    Raises:
        ValueError: They are unknown.
    """
    shown = record.images[image]
    if not shown.width or not shown.height:
        text = "the size of %(name)r is unknown; upload the image first, because this format counts pixels"
        raise field_error(record.external_id, text, name=shown.name)
    return shown.width, shown.height
