"""Report what a format of another tool cannot hold of a plain task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from annotation.content.labels import LabelLayer, Question
from annotation.content.schemas import Box, Document, Ellipse, ItemRecord, KeyPoint, Polygon, Span
from annotation.formats.labelled.documents import (
    list_answers,
    list_image_marks,
    list_labellings,
    list_mark_answers,
    list_relations,
    list_spans,
    parse_record_task,
)
from annotation.formats.labelled.entries import ABOUT_A_MARK, RELATIONS
from foundation.imports.findings import Findings

PEOPLE = "annotation of a person, left out; the gold remains"
CHOICES = "chosen label, left out"
MORE_CHOICES = "chosen label after the first, left out"
WRITTEN_ANSWERS = "rating or written answer, left out"
STATES = "state or note of a layer, or report of a problem, left out"
LAYERS = "layer of the same type as another, whose name is left out"
WHOLE_TOKENS = "span that is widened to whole tokens"
UNLABELLED_ITEMS = "item without gold or annotations, left out"
EMPTY_ITEMS = "item without marks and chosen labels, left out"
SEVERAL_IMAGES = "item of several images, split into one entry for each"
POLYGONS = "polygon, replaced by the box around it"
ELLIPSES = "ellipse, replaced by the box around it"
ELLIPSES_AS_POLYGONS = "ellipse, replaced by a polygon"
POINTS = "key point, left out"
MORE_MARK_ANSWERS = "answer about a mark after the first to a question, left out"
POINT_ANSWERS = "answer about a key point, left out"
SPACES = "text whose white space becomes single spaces"
PARENTS = "label inside another one, written without it"

_GOLD_ALONE = {PARENTS, PEOPLE, WRITTEN_ANSWERS, STATES, LAYERS, RELATIONS, ABOUT_A_MARK}
LOSSES: dict[str, set[str]] = {
    "jsonl": set(),
    "labelstudio": {PARENTS},
    "w3c": {PARENTS, WRITTEN_ANSWERS, STATES, RELATIONS, SEVERAL_IMAGES, EMPTY_ITEMS},
    "prodigy": {PARENTS, WRITTEN_ANSWERS, STATES, RELATIONS, ABOUT_A_MARK, LAYERS, ELLIPSES, POINTS},
    "brat": {PARENTS, CHOICES, WRITTEN_ANSWERS, STATES, UNLABELLED_ITEMS},
    "doccano": _GOLD_ALONE,
    "eraser": {*_GOLD_ALONE, MORE_CHOICES, WHOLE_TOKENS, SPACES},
    "conll": {*_GOLD_ALONE, CHOICES, WHOLE_TOKENS, SPACES, UNLABELLED_ITEMS},
    "webanno": {
        *(
            PARENTS,
            PEOPLE,
            RELATIONS,
            ABOUT_A_MARK,
            CHOICES,
            WRITTEN_ANSWERS,
            STATES,
            WHOLE_TOKENS,
            UNLABELLED_ITEMS,
        ),
    },
    "coco": {
        *_GOLD_ALONE - {ABOUT_A_MARK, PARENTS},
        POINT_ANSWERS,
        CHOICES,
        SEVERAL_IMAGES,
        ELLIPSES_AS_POLYGONS,
    },
    "yolo": {*_GOLD_ALONE, CHOICES, SEVERAL_IMAGES, ELLIPSES_AS_POLYGONS, POINTS},
    "voc": {*_GOLD_ALONE, CHOICES, SEVERAL_IMAGES, POLYGONS, ELLIPSES, POINTS, UNLABELLED_ITEMS},
    "cvat": {*_GOLD_ALONE - {ABOUT_A_MARK}, MORE_MARK_ANSWERS, SEVERAL_IMAGES},
}


def note_losses(form: str, records: Iterable[ItemRecord], findings: Findings) -> Iterator[ItemRecord]:
    """Yield the records; findings take what a format cannot hold."""
    lost = LOSSES[form]
    for record in records:
        for kind, count in _count_parts(record, with_people=PEOPLE not in lost):
            if count and kind in lost:
                findings.note_repair(kind, record.external_id, count)
        yield record


def _count_parts(record: ItemRecord, *, with_people: bool) -> Iterator[tuple[str, int]]:
    """Yield the kind and number of all parts that some format cannot hold."""
    yield PEOPLE, len(record.annotations)
    yield SEVERAL_IMAGES, int(len(record.images) > 1)
    if record.kind == "spans":
        words = " ".join(record.passage[start:end] for start, end in record.tokens)
        yield SPACES, int(words != record.passage)
    layers = parse_record_task(record).layers
    asked: list[Question] = [question for layer in layers for question in (layer, *layer.questions)]
    yield PARENTS, sum(bool(label.parent) for question in asked for label in question.labels)
    kinds = [layer.type for layer in layers]
    yield LAYERS, max(len(kinds) - len(set(kinds)), 0)
    documents = [document for author, document in list_labellings(record) if with_people or author is None]
    yield UNLABELLED_ITEMS, int(not documents)
    yield (
        EMPTY_ITEMS,
        int(not any(layer.objects for document in documents for layer in document.layers.values())),
    )
    for document in documents:
        yield from _count_document_parts(record, document)


def _count_document_parts(record: ItemRecord, document: Document) -> Iterator[tuple[str, int]]:
    for layer, values in list_answers(record, document):
        yield (CHOICES if layer.labels else WRITTEN_ANSWERS), len(values)
        yield MORE_CHOICES, len(values) - 1
    yield RELATIONS, sum(1 for _each in list_relations(record, document))
    marks: Iterator[tuple[LabelLayer, Box | Span]]
    marks = chain(list_spans(record, document), list_image_marks(record, document))
    for layer, mark in marks:
        given = [len(values) for _question, values in list_mark_answers(layer, mark)]
        yield ABOUT_A_MARK, len(given)
        yield MORE_MARK_ANSWERS, sum(given) - len(given)
        yield POINT_ANSWERS, len(given) if isinstance(mark, KeyPoint) else 0
    starts = {start for start, _end in record.tokens}
    ends = {end for _start, end in record.tokens}
    partial = [
        span for _layer, span in list_spans(record, document) if not _is_whole(span.span, starts, ends)
    ]
    yield WHOLE_TOKENS, len(partial)
    drawn = [type(mark) for _layer, mark in list_image_marks(record, document)]
    yield POLYGONS, drawn.count(Polygon)
    yield ELLIPSES, drawn.count(Ellipse)
    yield ELLIPSES_AS_POLYGONS, drawn.count(Ellipse)
    yield POINTS, drawn.count(KeyPoint)
    noted = [layer for layer in document.layers.values() if layer.note or layer.state == "unsure"]
    yield STATES, len(noted) + (document.problem is not None)


def _is_whole(span: tuple[int, int], starts: set[int], ends: set[int]) -> bool:
    return span[0] in starts and span[1] in ends
