"""Read the annotations of several people from a gold file of JSON lines.

The form is that of ``manage.py export_gold --format jsonl``; only what
agreement needs is read. Annotations in progress, and those that reject the
program, take no part.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ..io.errors import InputError
from ..io.whole_files import parse_model, read_lines
from ..programs import Execution, FoundBox, FoundSpan, Program, ProgramError, parse, run
from .agreement import Item
from .items import Kind, Span, nodes_of, split_tokens, units_between

FINISHED = ("submitted", "in review", "returned", "accepted")

_Fraction = Annotated[float, Field(ge=0, le=1)]
_Index = Annotated[int, Field(ge=0)]


class _Object(BaseModel):
    id: str
    ref: str | None = None
    image: _Index = 0
    box: tuple[_Fraction, _Fraction, _Fraction, _Fraction] | None = None
    span: tuple[_Index, _Index] | None = None
    tokens: tuple[_Index, _Index] | None = None
    quote: str = ""
    links: tuple[str, ...] = ()


class _Layer(BaseModel):
    state: str = "open"
    objects: tuple[_Object, ...] = ()
    value: bool | int | float | str | None = None


class _Document(BaseModel):
    layers: dict[_Index, _Layer] = {}
    problem: Any = None


class _Annotation(BaseModel):
    annotator: str
    document: _Document
    status: str = "submitted"


class _Record(BaseModel):
    external_id: str
    kind: Literal["boxes", "spans"]
    program: str
    tokens: tuple[tuple[_Index, _Index], ...] = ()
    annotations: tuple[_Annotation, ...] = ()


def read_annotations(path: Path) -> tuple[Kind, list[Item]]:
    """Read the items of a gold file with each annotator's objects.

    Args:
        path: JSON lines, one item each, all of one kind.

    Returns:
        The kind of the objects, and the items in the order of the file.

    Raises:
        InputError: Names file, line and field.
    """
    kinds: set[Kind] = set()

    def read(number: int, line: bytes) -> Item:
        record, program = _parse(path, number, line)
        kinds.add(record.kind)
        if len(kinds) > 1:
            problem = "boxes and spans are in one file; compare each kind in a file of its own"
            raise InputError(path, problem, where=f"line {number}", field="kind")
        return _build_item(path, number, record, program)

    items = read_lines(path, read, what="items")
    return kinds.pop(), items


def _parse(path: Path, number: int, line: bytes) -> tuple[_Record, Program]:
    where = f"line {number}"
    record = parse_model(_Record, line, path, where=where)
    try:
        return record, parse(record.program, kind=record.kind)
    except ProgramError as error:
        raise InputError(path, error.message, where=where, field="program") from None


def _build_item(path: Path, number: int, record: _Record, program: Program) -> Item:
    nodes = nodes_of(program)
    objects: dict[str, dict[int, list[Any]]] = {}
    values: dict[str, dict[int, Any]] = {}
    for annotation in record.annotations:
        if annotation.status not in FINISHED or annotation.document.problem:
            continue
        shapes = _resolve(annotation.document, len(program.nodes))
        try:
            execution = _execute(program, annotation.document, shapes)
        except ValueError as error:
            field = f"annotations of {annotation.annotator}"
            raise InputError(path, str(error), where=f"line {number}", field=field) from None
        objects[annotation.annotator] = {
            node.index: [
                (shape.image, shape.box) if shape.box else shape.span for shape in shapes[node.index]
            ]
            for node in nodes
            if node.index in shapes
        }
        values[annotation.annotator] = {
            node.index: value
            for node in nodes
            if program.nodes[node.index].role == "compute"
            and program.nodes[node.index].type in ("number", "truth")
            and (value := execution.values[node.index]) is not None
        }
    units: Sequence[Span] = record.tokens
    if record.kind == "spans":
        layers = [layer for own in objects.values() for layer in own.values()]
        units = split_tokens(record.tokens, [span for layer in layers for span in layer])
        for layer in layers:
            layer[:] = [units_between(span, units) for span in layer]
    return Item(record.external_id, nodes, objects, values, len(units))


def _resolve(document: _Document, depth: int) -> dict[int, list[_Object]]:
    """Return the objects of each annotated node, with references followed."""
    every = {mark.id: mark for layer in document.layers.values() for mark in layer.objects}

    def follow(mark: _Object) -> _Object | None:
        for _step in range(depth):
            if mark.ref is None:
                return mark if mark.box or (mark.span and mark.tokens) else None
            if mark.ref not in every:
                return None
            mark = every[mark.ref]
        return None

    return {
        node: [shape for mark in layer.objects if (shape := follow(mark)) is not None]
        for node, layer in document.layers.items()
        if layer.state != "open" or layer.objects
    }


def _execute(program: Program, document: _Document, shapes: Mapping[int, list[_Object]]) -> Execution:
    drawn = {shape.id: shape for objects in shapes.values() for shape in objects}

    def executable(shape: _Object) -> FoundBox | FoundSpan:
        if shape.box:
            return FoundBox(shape.image, shape.box)
        sources = tuple(drawn[name].span for name in shape.links if name in drawn and drawn[name].span)
        assert shape.span is not None
        return FoundSpan(*shape.span, shape.quote, sources=sources)  # type: ignore[arg-type]

    outputs = {node: [executable(shape) for shape in objects] for node, objects in shapes.items()}
    values = {node: layer.value for node, layer in document.layers.items() if layer.value is not None}
    return run(program, outputs, values)
