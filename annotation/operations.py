"""The rules of editing: what an operation does to a document, and what it may not do. Pure: no Django.

An operation speaks of one node. It puts objects (a known id replaces that object), removes objects, and
sets the node's state, note or value. What would leave a reference hanging is taken along: removing an
object also removes the references to it above, and the links from it; the inverse brings all of it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from analysis.programs import Execution, FoundBox, FoundSpan, Node, Program, run
from annotation.errors import BadEdit
from annotation.schemas import (
    Box,
    Chosen,
    Document,
    Kind,
    Layer,
    Note,
    Object,
    ObjectId,
    Payload,
    Position,
    Problem,
    Span,
    State,
)

MOST_OBJECTS = 5000  # of one layer


class Change(Payload):
    """What happens to one node's layer. Fields that are not given stay as they are."""

    node: Position
    put: tuple[Object, ...] = ()
    remove: tuple[ObjectId, ...] = ()
    state: State | None = None
    note: Note | None = None


class Edit(Change):
    """One act of a person: a change of one node, the changes that follow from it, and the statement
    about the program (``problem``, which only counts where it is given; None takes it back).
    """

    node: Position = 0
    problem: Problem | None = None
    also: Annotated[tuple[Change, ...], Field(max_length=100)] = ()


class OperationIn(Edit):
    """An edit as the browser sends it: its own id, and the revision that it was made on."""

    id: UUID
    base: Position
    undoes: UUID | None = None

    def edit(self) -> dict[str, Any]:
        """The edit alone, with the fields that were given."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"id", "base", "undoes"})


class Subject(Payload):
    """What an edit is checked against: the passage or the number of images of the item."""

    kind: Kind
    images: int = 0
    passage: str = ""
    tokens: tuple[tuple[int, int], ...] = ()


def apply(
    document: Document, edit: Edit, program: Program, subject: Subject
) -> tuple[Document, dict[str, Any]]:
    """Return the document after the edit, and the edit that brings the present one back (as JSON).

    Raises:
        BadEdit: the edit names a node, object or place that there is not, or breaks a rule of its module.
    """
    layers = dict(document.layers)
    before = dict(document.layers)
    for place, change in enumerate((edit, *edit.also)):
        _apply_change(layers, change, program, subject, f"also.{place - 1}." if place else "")
    for place, change in enumerate((edit, *edit.also)):
        _check_references(layers, change, program, f"also.{place - 1}." if place else "")
    _drop_hanging(layers, program)
    _check_uniqueness(layers)
    problem = edit.problem if "problem" in edit.model_fields_set else document.problem
    _check_problem(problem, program)
    after = Document(layers={node: layers[node] for node in sorted(layers)}, problem=problem)
    return after, _inverse(before, layers, edit, document.problem)


def _apply_change(
    layers: dict[int, Layer], change: Change, program: Program, subject: Subject, prefix: str
) -> None:
    node = _node(change.node, program, prefix)
    layer = layers.get(change.node, Layer())
    objects = {one.id: one for one in layer.objects}
    for name in change.remove:
        if objects.pop(name, None) is None:
            raise BadEdit(f"this step has no object {name!r}", field=f"{prefix}remove")
    for place, one in enumerate(change.put):
        _check_object(one, node, subject, f"{prefix}put.{place}")
        objects[one.id] = one
    if len(objects) > MOST_OBJECTS:
        raise BadEdit(f"a step has at most {MOST_OBJECTS} objects", field=f"{prefix}put")
    given: dict[str, Any] = {"objects": tuple(objects.values())}
    for name in ("state", "note"):
        if (value := getattr(change, name)) is not None:
            given[name] = value
    if given.get("state", layer.state) == "nothing" and objects:
        if given.get("state"):
            raise BadEdit("a step with objects cannot say that nothing is here", field=f"{prefix}state")
        given["state"] = "done"
    layers[change.node] = layer.model_copy(update=given)


def _check_problem(problem: Problem | None, program: Program) -> None:
    if problem is not None and problem.node is not None and problem.node >= len(program.nodes):
        raise BadEdit(f"the program has no step {problem.node}", field="problem.node")


def _node(index: int, program: Program, prefix: str) -> Node:
    if index >= len(program.nodes):
        raise BadEdit(f"the program has no step {index}", field=f"{prefix}node")
    if program.representative[index] != index:
        raise BadEdit(
            f"step {index} equals step {program.representative[index]} and shares its objects; edit that one",
            field=f"{prefix}node",
        )
    return program.nodes[index]


def _check_object(one: Object, node: Node, subject: Subject, field: str) -> None:
    """Whether an object may stand in this layer at all; references are checked once all is in place."""
    if node.role == "compute":
        raise BadEdit(f"{node.module} is computed from the steps below it; it takes no objects", field=field)
    if isinstance(one, Chosen):
        if node.role != "choose":
            raise BadEdit(f"{node.module} does not choose among the objects of a step below it", field=field)
        return
    if isinstance(one, Box) != (subject.kind == "boxes"):
        raise BadEdit(f"this project marks {subject.kind}", field=field)
    if node.role == "choose" and not one.reason.strip():
        raise BadEdit(
            f"{node.module} chooses among the objects of the step below it; a new one needs a reason",
            field=f"{field}.reason",
        )
    if isinstance(one, Box):
        if one.image >= max(subject.images, 1):
            raise BadEdit(f"the item has {subject.images} images, counted from 0", field=f"{field}.image")
    else:
        check_span(one, subject, field)


def check_span(one: Span, subject: Subject, field: str) -> None:
    """Whether code points, tokens and quote name the same place of the passage. Raises BadEdit."""
    (start, end), (first, beyond) = one.span, one.tokens
    if end > len(subject.passage) or beyond > len(subject.tokens):
        raise BadEdit(f"the passage has {len(subject.passage)} characters", field=f"{field}.span")
    if subject.passage[start:end] != one.quote:
        raise BadEdit(
            f"the quote differs from what stands at {start}–{end}: {subject.passage[start:end]!r}",
            field=f"{field}.quote",
        )
    if not (subject.tokens[first][0] <= start < subject.tokens[first][1]) or not (
        subject.tokens[beyond - 1][0] < end <= subject.tokens[beyond - 1][1]
    ):
        raise BadEdit("span and tokens name different places", field=f"{field}.tokens")


def _drop_hanging(layers: dict[int, Layer], program: Program) -> None:
    """Take out references to objects that are gone, bottom-up, and links from them."""
    for index in program.walk:
        layer = layers.get(index)
        if layer is None or not layer.objects:
            continue
        below = _ids_below(layers, program, index)
        kept: list[Object] = []
        for one in layer.objects:
            if isinstance(one, Chosen):
                if one.ref in below:
                    kept.append(one)
            elif set(one.links) <= below:
                kept.append(one)
            else:
                links = tuple(name for name in one.links if name in below)
                kept.append(one.model_copy(update={"links": links}))
        if kept != list(layer.objects):
            layers[index] = layer.model_copy(update={"objects": tuple(kept)})


def _check_references(
    layers: Mapping[int, Layer], change: Change, program: Program, prefix: str, objects: str = "put"
) -> None:
    """Whether what is put refers to objects of the steps right below."""
    below = _ids_below(layers, program, change.node)
    for place, one in enumerate(change.put):
        name, references = ("ref", (one.ref,)) if isinstance(one, Chosen) else ("links", one.links)
        if unknown := [reference for reference in references if reference not in below]:
            raise BadEdit(
                f"the steps below this one have no object {unknown[0]!r}",
                field=f"{prefix}{objects}.{place}.{name}",
            )


def _check_uniqueness(layers: Mapping[int, Layer], field: str = "put") -> None:
    """Object ids are unique in a document, and no object is chosen twice in one layer."""
    seen: set[str] = set()
    for index, layer in layers.items():
        references = [one.ref for one in layer.objects if isinstance(one, Chosen)]
        if len(references) != len(set(references)):
            raise BadEdit(f"step {index} chooses an object twice", field=field)
        for one in layer.objects:
            if one.id in seen:
                raise BadEdit(f"two objects have the id {one.id!r}", field=field)
            seen.add(one.id)


def _ids_below(layers: Mapping[int, Layer], program: Program, index: int) -> set[str]:
    """The ids of the objects that a step works on. A computed step hands on those of the steps below it."""
    found: set[str] = set()
    for child in program.nodes[index].children:
        if program.nodes[child].role == "compute":
            found |= _ids_below(layers, program, child)
        else:
            layer = layers.get(program.representative[child], Layer())
            found.update(one.id for one in layer.objects)
    return found


def _inverse(
    before: Mapping[int, Layer], after: Mapping[int, Layer], edit: Edit, problem: Problem | None
) -> dict[str, Any]:
    changes = [
        _difference(node, after.get(node, Layer()), before.get(node, Layer()))
        for node in sorted({*before, *after}, key=lambda node: node != edit.node)
        if after.get(node) != before.get(node)
    ]
    inverse: dict[str, Any] = changes[0] if changes else {"node": edit.node}
    if len(changes) > 1:
        # Objects come back below before what refers to them above: deeper nodes have higher indices.
        first, *others = sorted(changes, key=lambda change: -int(change["node"]))
        inverse = {**first, "also": others}
    if "problem" in edit.model_fields_set:
        inverse["problem"] = problem.model_dump(mode="json") if problem else None
    return inverse


def _difference(node: int, now: Layer, then: Layer) -> dict[str, Any]:
    """The change that turns the layer ``now`` into ``then``."""
    present = {one.id: one for one in now.objects}
    wanted = {one.id: one for one in then.objects}
    change: dict[str, Any] = {"node": node}
    if put := [one for one in then.objects if present.get(one.id) != one]:
        change["put"] = [one.model_dump(mode="json") for one in put]
    if remove := [name for name in present if name not in wanted]:
        change["remove"] = remove
    if now.state != then.state:
        change["state"] = then.state
    if now.note != then.note:
        change["note"] = then.note
    return change


def executed(document: Document, program: Program) -> Execution:
    """What the program comes to on what is drawn so far; unknown where that is not enough."""
    found = resolved(document, program)
    drawn = {one.id: one for objects in found.values() for one in objects}
    outputs = {node: [_found(one, drawn) for one in objects] for node, objects in found.items()}
    values = {node: layer.value for node, layer in document.layers.items() if layer.value is not None}
    return run(program, outputs, values)


def _found(one: Box | Span, drawn: Mapping[str, Box | Span]) -> FoundBox | FoundSpan:
    """An object as the executor takes it."""
    if isinstance(one, Box):
        return FoundBox(one.image, one.box)
    sources = [drawn[name] for name in one.links if name in drawn]
    places = tuple(each.span for each in sources if isinstance(each, Span))
    return FoundSpan(*one.span, one.quote, sources=places)


def resolved(document: Document, program: Program) -> dict[int, list[Box | Span]]:
    """The objects of each annotated node with references followed to what was drawn."""
    drawn = {
        one.id: one
        for layer in document.layers.values()
        for one in layer.objects
        if not isinstance(one, Chosen)
    }
    references = {
        one.id: one.ref
        for layer in document.layers.values()
        for one in layer.objects
        if isinstance(one, Chosen)
    }

    def follow(name: str) -> Box | Span | None:
        for _step in range(len(program.nodes)):
            if name in drawn:
                return drawn[name]
            name = references.get(name, name)
        return None

    return {
        node: [found for one in layer.objects if (found := follow(one.id)) is not None]
        for node, layer in document.layers.items()
        if layer.state != "open" or layer.objects
    }


def open_nodes(document: Document, program: Program) -> list[int]:
    """The steps that a person has to do and has not, bottom-up. A program that is wrong leaves none."""
    if document.problem is not None:
        return []
    return [
        index
        for index in program.walk
        if program.nodes[index].role != "compute" and document.layers.get(index, Layer()).state == "open"
    ]


def token_bounds(start: int, end: int, tokens: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The tokens that code points ``start`` to ``end`` touch, end exclusive; None where they touch none."""
    touched = [place for place, (left, right) in enumerate(tokens) if left < end and right > start]
    return (touched[0], touched[-1] + 1) if touched else None


def objects_of(document: Document, nodes: Collection[int] | None = None) -> Iterable[Object]:
    """All objects of a document, or those of some of its nodes."""
    return (
        one
        for node, layer in document.layers.items()
        if nodes is None or node in nodes
        for one in layer.objects
    )


def checked(document: Document, program: Program, subject: Subject) -> Document:
    """A document from outside, if it follows all rules of editing.

    Raises BadEdit naming the layer and field that does not.
    """
    for index, layer in sorted(document.layers.items()):
        place = f"layers.{index}"
        node = _node(index, program, f"{place}.")
        if layer.state == "nothing" and layer.objects:
            raise BadEdit("a step with objects cannot say that nothing is here", field=f"{place}.state")
        for number, one in enumerate(layer.objects):
            _check_object(one, node, subject, f"{place}.objects.{number}")
        # The layer's objects were validated with the document; validating them again takes most of the time.
        change = Change.model_construct(node=index, put=layer.objects)
        _check_references(document.layers, change, program, f"{place}.", "objects")
    _check_uniqueness(document.layers, "layers")
    _check_problem(document.problem, program)
    return document
