"""Write a flat table: a row for each object, and for each empty layer.

Columns are typed and declared in `SCHEMA`; times are UTC. Boxes are fractions of the image, spans code
points and tokens, ends exclusive.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.programs import Node
from annotation.content.schemas import Box, Chosen, ItemRecord, Layer, Object, Span
from annotation.formats.checks import parse_record_program
from annotation.formats.flat.statements import Source, list_sources, list_statements
from annotation.formats.writing import write_file
from foundation.batches import cut_batches

ROWS = 50_000  # in memory at a time

_MOMENT = pa.timestamp("us", tz="UTC")
_COLUMNS: tuple[tuple[str, pa.DataType, str], ...] = (
    ("item", pa.string(), "external id of the item"),
    ("kind", pa.string(), "boxes or spans"),
    ("annotator", pa.string(), "who said it; null for the gold"),
    ("gold", pa.bool_(), "whether it is the gold"),
    ("annotation", pa.int32(), "which of the item's annotations, from 0; null for the gold"),
    ("status", pa.string(), "of the annotation"),
    ("revision", pa.int32(), "of the annotation"),
    ("started", _MOMENT, "when the annotator began"),
    ("submitted", _MOMENT, "when the annotator submitted"),
    ("predictions_shown", pa.list_(pa.string()), "system@revision of the predictions on the screen"),
    ("node", pa.int32(), "index of the step in the program, in pre-order; null for a statement on the whole"),
    ("module", pa.string(), "of the step"),
    ("argument", pa.string(), "of the step"),
    ("state", pa.string(), "of the step: open, done, nothing or unsure"),
    ("value", pa.string(), "that somebody gave the step, as JSON"),
    ("note", pa.string(), "on the step, or on the program"),
    ("problem", pa.string(), "kind of the statement that the program is wrong"),
    ("object", pa.string(), "id; null where the step has no objects"),
    ("ref", pa.string(), "id of the object of a step below that was chosen"),
    ("links", pa.list_(pa.string()), "ids of the objects that it was found from"),
    ("reason", pa.string(), "why it is new where one chooses"),
    ("suggested_by", pa.string(), "system@revision whose suggestion was accepted; null for people's own"),
    ("suggestion_changed", pa.bool_(), "whether the person changed what was suggested"),
    ("image", pa.int32(), "from 0"),
    ("left", pa.float64(), "fraction of the image's width"),
    ("top", pa.float64(), "fraction of the image's height"),
    ("right", pa.float64(), "fraction of the image's width"),
    ("bottom", pa.float64(), "fraction of the image's height"),
    ("start", pa.int32(), "code point of the passage"),
    ("end", pa.int32(), "code point after the last"),
    ("token_start", pa.int32(), "first token"),
    ("token_end", pa.int32(), "token after the last"),
    ("quote", pa.string(), "the characters of the span"),
)
SCHEMA = pa.schema(
    [pa.field(name, kind, metadata={"description": meaning}) for name, kind, meaning in _COLUMNS]
)


# The parts of a row, in the order of the columns.
_Row = tuple[Any, ...]
_NO_OBJECT, _NO_SHAPE = (None,) * 6, (None,) * 10


def write_parquet(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the table in blocks. Chosen objects have the shape they refer to."""
    rows = (row for record in records for row in _build_rows(record))
    with write_file(path) as file, pq.ParquetWriter(file, SCHEMA, compression="zstd") as table:
        for block in cut_batches(rows, ROWS):
            columns = zip(*block, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            table.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA))


def _build_rows(record: ItemRecord) -> Iterator[_Row]:
    for source in list_sources(record):
        about = (record.external_id, record.kind, *_build_source_columns(source))
        yield from (about + row for row in _build_document_rows(record, source))


def _build_source_columns(source: Source) -> _Row:
    annotation = source.annotation
    if annotation is None:
        return (None, True, *(None,) * 6)
    times = (annotation.started, annotation.submitted)
    return (
        annotation.annotator,
        False,
        source.number,
        annotation.status,
        annotation.revision,
        *times,
        annotation.predictions_shown,
    )


def _build_document_rows(record: ItemRecord, source: Source) -> Iterator[_Row]:
    program = parse_record_program(record)
    for statement in list_statements(record, source.document):
        columns = _build_layer_columns(statement.node, statement.layer)
        yield (
            *columns,
            None,
            *_build_object_columns(statement.object),
            *_build_shape_columns(statement.shape),
        )
    for index, layer in source.document.layers.items():
        if not layer.objects and program is not None:
            yield (*_build_layer_columns(program.nodes[index], layer), None, *_NO_OBJECT, *_NO_SHAPE)
    problem = source.document.problem
    if problem is not None:
        columns = (problem.node, None, None, None, None, problem.note)
        yield (*columns, problem.kind, *_NO_OBJECT, *_NO_SHAPE)


def _build_layer_columns(node: Node, layer: Layer) -> _Row:
    value = None if layer.value is None else json.dumps(layer.value)
    return (node.index, node.module, node.argument, layer.state, value, layer.note or None)


def _build_object_columns(drawn: Object) -> _Row:
    origin = (None, None) if drawn.suggested is None else (drawn.suggested.by, drawn.suggested.changed)
    if isinstance(drawn, Chosen):
        return (drawn.id, drawn.ref, None, None, *origin)
    return (drawn.id, None, drawn.links, drawn.reason or None, *origin)


def _build_shape_columns(shape: Box | Span) -> _Row:
    if isinstance(shape, Box):
        return (shape.image, *shape.box, *(None,) * 5)
    return (*(None,) * 5, *shape.span, *shape.tokens, shape.quote)
