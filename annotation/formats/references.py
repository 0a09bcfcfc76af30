"""Make references of objects at choosing steps, for formats without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.programs import Program
from annotation.content.schemas import (
    Answer,
    Box,
    Chosen,
    Document,
    Layer,
    Object,
    Problem,
    Relation,
    Span,
    State,
)
from foundation.imports.findings import Findings

REPEATED_OBJECT = "object drawn at equal steps, kept once"
UNMATCHED_OBJECT = "object of a choosing step that equals none of the step below, kept as a new one"


def build_document(
    program: Program,
    drawn: Mapping[int, Sequence[Object]],
    *,
    reason: str,
    findings: Findings,
    path: str,
    layers: Mapping[int, Layer] | None = None,
    problem: Problem | None = None,
) -> Document:
    """Return the document of the objects at each node, by representative.

    Args:
        program: The item's program.
        drawn: Objects by node; those that were once chosen on this site are references already.
        reason: Given to objects of choosing steps that have none and equal no object below.
        findings: Collects repairs.
        path: Names the item in the findings.
        layers: States, values and notes, if known.
        problem: The statement that the program is wrong.
    """
    given_layers = layers or {}
    at: dict[int, list[tuple[bool, Object]]] = {}  # whether it was drawn at an equal step instead
    for node, objects in sorted(drawn.items()):
        shared = program.representative[node]
        at.setdefault(shared, []).extend((node != shared, object_) for object_ in objects)
    settled_layers: dict[int, Layer] = {}
    geometry: dict[str, object] = {}
    for index in program.walk:
        if index not in at and index not in given_layers:
            continue
        offered = {
            geometry[object_.id]: object_.id
            for object_ in _collect_offered_objects(program, settled_layers, index)
            if object_.id in geometry
        }
        kept: list[Object] = []
        shapes: set[object] = set()
        for elsewhere, object_ in at.get(index, ()):
            settled = object_
            if (
                not isinstance(object_, Chosen)
                and program.nodes[index].role == "choose"
                and not object_.reason
            ):
                ref = offered.get(_extract_geometry(object_))
                if ref is None:
                    findings.note_repair(UNMATCHED_OBJECT, path)
                    settled = object_.model_copy(update={"reason": reason})
                else:
                    settled = Chosen(id=object_.id, ref=ref)
            shape = (
                geometry.get(settled.ref, object_.id)
                if isinstance(settled, Chosen)
                else _extract_geometry(settled)
            )
            if elsewhere and shape in shapes:
                findings.note_repair(REPEATED_OBJECT, path)
                continue
            geometry[settled.id] = shape
            shapes.add(shape)
            kept.append(settled)
        before = given_layers.get(index, Layer())
        state: State = before.state if index in given_layers else "done" if kept else "nothing"
        settled_layers[index] = before.model_copy(update={"objects": tuple(kept), "state": state})
    return Document(layers=dict(sorted(settled_layers.items())), problem=problem)


def _extract_geometry(shape: Box | Span | Answer | Relation) -> object:
    if isinstance(shape, Answer):
        return shape.value
    if isinstance(shape, Relation):
        return shape.ends
    return (shape.image, shape.box) if isinstance(shape, Box) else shape.span


def _collect_offered_objects(program: Program, layers: Mapping[int, Layer], index: int) -> list[Object]:
    """Return the objects a step works on, those of its first child first.

    A computed child hands on the objects below it.
    """
    offered: list[Object] = []
    for child in reversed(program.nodes[index].children):
        if program.nodes[child].role == "compute":
            offered.extend(_collect_offered_objects(program, layers, child))
        elif (layer := layers.get(program.representative[child])) is not None:
            offered.extend(layer.objects)
    return offered
