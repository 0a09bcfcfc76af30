"""Whether an item of a file holds together: program, layers, objects, references and places in the text.

`payloads` checks each object by itself; here they are checked against one another. Every reader ends here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from analysis.programs import Node, Program, ProgramError, parse
from annotation.payloads import Box, Chosen, Document, ItemRecord, Kind, Layer, Span


@lru_cache(maxsize=4096)
def program_of_text(text: str, kind: Kind) -> Program:
    """The program of a nested text. Projects have few distinct ones: a few thousand are remembered."""
    return parse(text, kind=kind)


def record_program(record: ItemRecord) -> Program | None:
    """The item's program, or None where it has none yet."""
    return program_of_text(record.program, record.kind) if record.program else None


def check_record(record: ItemRecord) -> ItemRecord:
    """Return the record. Raises ValueError, which names the field, where its parts contradict each other."""
    try:
        program = record_program(record)
    except ProgramError as error:
        raise ValueError(f"program: {error}") from error
    _check_tokens(record)
    for field, document in documents(record):
        if program is not None:
            _check_document(record, program, document, field)
        elif document.layers:
            raise ValueError(f"{field}.layers: there is no program whose steps they could belong to")
    return record


def documents(record: ItemRecord) -> Iterator[tuple[str, Document]]:
    """Gold and annotations with the fields where they stand."""
    if record.gold is not None:
        yield "gold", record.gold
    for number, annotation in enumerate(record.annotations):
        yield f"annotations.{number}.document", annotation.document


def _check_tokens(record: ItemRecord) -> None:
    if record.kind == "spans" and not record.passage:
        raise ValueError("passage: is missing, and spans need one")
    before = 0
    for number, (start, end) in enumerate(record.tokens):
        if not before <= start < end <= len(record.passage):
            raise ValueError(
                f"tokens.{number}: {start} to {end} overlaps the one before, or leaves the passage"
            )
        before = end


def _check_document(record: ItemRecord, program: Program, document: Document, field: str) -> None:
    layers = document.layers
    seen: set[str] = set()
    for index, layer in layers.items():
        place = f"{field}.layers.{index}"
        node = _node(program, index, place)
        if not layer.objects:
            continue
        if layer.state == "nothing":
            raise ValueError(f"{place}.state: says that nothing is here, but there are objects")
        below = _below(program, layers, node)
        for number, one in enumerate(layer.objects):
            if one.id in seen:
                raise ValueError(f"{place}.objects.{number}.id: another object is called {one.id!r} too")
            seen.add(one.id)
            problem = _problem(record, node, one, below)
            if problem:
                raise ValueError(f"{place}.objects.{number}{problem}")
        _check_chosen_once(layer, place)
    if document.problem is not None and document.problem.node is not None:
        _node(program, document.problem.node, f"{field}.problem.node")


def _node(program: Program, index: int, place: str) -> Node:
    if index >= len(program.nodes):
        raise ValueError(f"{place}: the program has {len(program.nodes)} steps, counted from 0")
    shared = program.representative[index]
    if shared != index:
        raise ValueError(f"{place}: this step equals step {shared} and shares its layer")
    return program.nodes[index]


def _below(program: Program, layers: dict[int, Layer], node: Node) -> set[str]:
    """Ids of the objects of the steps right below."""
    shared = {program.representative[child] for child in node.children}
    return {one.id for child in shared if child in layers for one in layers[child].objects}


def _problem(record: ItemRecord, node: Node, one: Box | Span | Chosen, below: set[str]) -> str:
    """What is wrong with an object, after the name of its field; empty where nothing is."""
    if node.role == "compute":
        return f": {node.module} is computed and has no objects"
    if isinstance(one, Chosen):
        if node.role != "choose":
            return f".ref: {node.module} does not choose among the objects of a step below it"
        return "" if one.ref in below else f".ref: the steps right below have no object {one.ref!r}"
    if node.role == "choose" and not one.reason.strip():
        return f".reason: is missing: {node.module} chooses among the objects of the step below it"
    if unknown := [link for link in one.links if link not in below]:
        return f".links: the steps right below have no object {unknown[0]!r}"
    if isinstance(one, Span):
        return _span_problem(record, one)
    if record.kind != "boxes":
        return ": is a box, but the item has spans"
    return (
        "" if one.image < len(record.images) else f".image: the item has {len(record.images)} images, from 0"
    )


def _span_problem(record: ItemRecord, one: Span) -> str:
    if record.kind != "spans":
        return ": is a span, but the item has boxes"
    (start, end), (first, beyond) = one.span, one.tokens
    if end > len(record.passage):
        return f".span: the passage ends at {len(record.passage)}"
    if record.passage[start:end] != one.quote:
        return f".quote: differs from what stands at {start} to {end}: {record.passage[start:end]!r}"
    if beyond > len(record.tokens):
        return f".tokens: the passage has {len(record.tokens)} tokens"
    touches = record.tokens[first][1] > start and record.tokens[beyond - 1][0] < end
    enough = record.tokens[first][0] <= start and record.tokens[beyond - 1][1] >= end
    return (
        "" if touches and enough else f".tokens: {first} to {beyond} and the characters name different places"
    )


def _check_chosen_once(layer: Layer, place: str) -> None:
    chosen = [one.ref for one in layer.objects if isinstance(one, Chosen)]
    if len(chosen) != len(set(chosen)):
        raise ValueError(f"{place}.objects: an object is chosen twice")
