"""Objects of formats that know no references: those of choosing steps become references where they can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.programs import Program
from annotation.formats.report import Report
from annotation.schemas import Box, Chosen, Document, Layer, Object, Problem, Span, State

TWICE = "object drawn at equal steps, kept once"
NOT_BELOW = "object of a choosing step that equals none of the step below, kept as a new one"


def document_of(
    program: Program,
    drawn: Mapping[int, Sequence[Object]],
    *,
    reason: str,
    report: Report,
    place: str,
    layers: Mapping[int, Layer] | None = None,
    problem: Problem | None = None,
) -> Document:
    """The document of what was drawn at each node, by representative.

    drawn: objects by node; those that were chosen here once still say so. reason: given to objects of
    choosing steps that have none and equal no object below. layers: states, values and notes, where known.
    """
    known = layers or {}
    at: dict[int, list[tuple[bool, Object]]] = {}  # whether it was drawn at an equal step instead
    for node, objects in sorted(drawn.items()):
        shared = program.representative[node]
        at.setdefault(shared, []).extend((node != shared, one) for one in objects)
    made: dict[int, Layer] = {}
    geometry: dict[str, object] = {}
    for index in program.walk:
        if index not in at and index not in known:
            continue
        offered = {geometry[one.id]: one.id for one in _offered(program, made, index) if one.id in geometry}
        kept: list[Object] = []
        shapes: set[object] = set()
        for elsewhere, one in at.get(index, ()):
            settled = one
            if not isinstance(one, Chosen) and program.nodes[index].role == "choose" and not one.reason:
                found = offered.get(_geometry(one))
                if found is None:
                    report.add(NOT_BELOW, place)
                    settled = one.model_copy(update={"reason": reason})
                else:
                    settled = Chosen(id=one.id, ref=found)
            shape = geometry.get(settled.ref, one.id) if isinstance(settled, Chosen) else _geometry(settled)
            if elsewhere and shape in shapes:
                report.add(TWICE, place)
                continue
            geometry[settled.id] = shape
            shapes.add(shape)
            kept.append(settled)
        before = known.get(index, Layer())
        state: State = before.state if index in known else "done" if kept else "nothing"
        made[index] = before.model_copy(update={"objects": tuple(kept), "state": state})
    return Document(layers=dict(sorted(made.items())), problem=problem)


def _geometry(one: Box | Span) -> object:
    return (one.image, one.box) if isinstance(one, Box) else one.span


def _offered(program: Program, made: Mapping[int, Layer], index: int) -> list[Object]:
    """The objects that a step works on, the first child's first. A computed child hands on those below it."""
    found: list[Object] = []
    for child in reversed(program.nodes[index].children):
        if program.nodes[child].role == "compute":
            found.extend(_offered(program, made, child))
        elif (layer := made.get(program.representative[child])) is not None:
            found.extend(layer.objects)
    return found
