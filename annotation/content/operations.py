"""Rules of editing: the effect of an operation on a document. No Django.

An operation concerns one node. It puts objects (a known ID replaces that object), removes objects, and sets
the node's state, note or value. No reference is left dangling: removing an object also removes the
references to it above and the links from it, and the inverse operation restores all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from analysis.programs import Node, Program
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import MARKS, MOST_TEXT, LabelLayer, Question
from annotation.content.schemas import (
    MOST_REJECTED,
    Answer,
    Box,
    Chosen,
    Document,
    Ellipse,
    KeyPoint,
    Kind,
    Layer,
    Note,
    Object,
    ObjectId,
    Polygon,
    Position,
    Problem,
    Relation,
    Span,
    State,
)
from annotation.errors import BadEdit, bad_edit
from foundation.frozen_model import FrozenModel

MOST_OBJECTS = 5000  # of one layer
# The objects of each layer of marks; steps of programs take boxes and spans.
SHAPES: dict[str, type[Box | Span]] = {
    "spans": Span,
    "boxes": Box,
    "polygons": Polygon,
    "ellipses": Ellipse,
    "points": KeyPoint,
}


class Change(FrozenModel):
    """A change of one node's layer. Missing fields stay as they are."""

    node: Position
    put: tuple[Object, ...] = ()
    remove: tuple[ObjectId, ...] = ()
    state: State | None = None
    note: Note | None = None
    rejected: Annotated[tuple[ObjectId, ...], Field(max_length=MOST_REJECTED)] | None = None


class Edit(Change):
    """One edit by a person.

    It changes one node and the nodes that follow from it. ``problem``, the statement that the program is
    wrong, counts only if it is given; None withdraws it.
    """

    node: Position = 0
    problem: Problem | None = None
    also: Annotated[tuple[Change, ...], Field(max_length=100)] = ()


class OperationIn(Edit):
    """An edit as the browser sends it, with its ID and base revision."""

    id: UUID
    base: Position
    undoes: UUID | None = None

    def edit(self) -> dict[str, Any]:
        """Return the edit alone, with the fields that were given."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"id", "base", "undoes"})


class Subject(FrozenModel):
    """The passage, or the number of images, that edits are checked against."""

    kind: Kind
    images: int = 0
    passage: str = ""
    tokens: tuple[tuple[int, int], ...] = ()


def apply(
    document: Document, edit: Edit, program: Program, subject: Subject
) -> tuple[Document, dict[str, Any]]:
    """Return the document after the edit, and the inverse edit as JSON.

    Raises:
        BadEdit: The edit names an unknown node or object, or breaks a rule of its module.
    """
    layers = dict(document.layers)
    before = dict(document.layers)
    for index, change in enumerate((edit, *edit.also)):
        _apply_change(layers, change, program, subject, f"also.{index - 1}." if index else "")
    for index, change in enumerate((edit, *edit.also)):
        _check_references(layers, change, program, f"also.{index - 1}." if index else "")
    drop_hanging_references(layers, program)
    _check_uniqueness(layers)
    problem = edit.problem if "problem" in edit.model_fields_set else document.problem
    _check_problem(problem, program)
    after = Document(layers={node: layers[node] for node in sorted(layers)}, problem=problem)
    return after, _build_inverse(before, layers, edit, document.problem)


def _apply_change(
    layers: dict[int, Layer], change: Change, program: Program, subject: Subject, prefix: str
) -> None:
    node = _find_node(change.node, program, prefix)
    layer = layers.get(change.node, Layer())
    objects = {object_.id: object_ for object_ in layer.objects}
    for name in change.remove:
        if objects.pop(name, None) is None:
            raise bad_edit(f"{prefix}remove", "this step has no object %(name)r", name=name)
    for position, shape in enumerate(change.put):
        _check_object(shape, node, subject, f"{prefix}put.{position}", find_layer_of_node(program, node))
        objects[shape.id] = shape
    _check_answers(objects.values(), find_layer_of_node(program, node), f"{prefix}put")
    _check_relations(objects.values(), find_layer_of_node(program, node), f"{prefix}put")
    if len(objects) > MOST_OBJECTS:
        raise bad_edit(
            f"{prefix}put", "a step has at most %(most_objects)s objects", most_objects=MOST_OBJECTS
        )
    given: dict[str, Any] = {"objects": tuple(objects.values())}
    for name in ("state", "note", "rejected"):
        if (value := getattr(change, name)) is not None:
            given[name] = value
    if given.get("state", layer.state) == "nothing" and objects:
        if given.get("state"):
            raise bad_edit(f"{prefix}state", "a step with objects cannot say that nothing is here")
        given["state"] = "done"
    layers[change.node] = layer.model_copy(update=given)


def find_layer_of_node(program: Program, node: Node) -> LabelLayer | None:
    """Return the layer of a plain task that a node stands for."""
    return program.layer(node.index) if isinstance(program, LabelProgram) else None


def _check_problem(problem: Problem | None, program: Program) -> None:
    if problem is not None and problem.node is not None and problem.node >= len(program.nodes):
        raise bad_edit("problem.node", "the program has no step %(node)s", node=problem.node)


def _find_node(index: int, program: Program, prefix: str) -> Node:
    if index >= len(program.nodes):
        raise bad_edit(f"{prefix}node", "the program has no step %(index)s", index=index)
    if program.representative[index] != index:
        raise bad_edit(
            f"{prefix}node",
            "step %(index)s equals step %(representative)s and shares its objects; edit that one",
            index=index,
            representative=program.representative[index],
        )
    return program.nodes[index]


def _check_object(
    shape: Object, node: Node, subject: Subject, field: str, layer: LabelLayer | None = None
) -> None:
    """Check if an object may be in this layer, but not its references.

    References are checked after all objects of the edit are stored.
    """
    if node.role == "compute":
        raise bad_edit(
            field, "%(module)s is computed from the steps below it; it takes no objects", module=node.module
        )
    if isinstance(shape, Relation) or node.role == "relate":
        _check_relation(shape, node, layer, field)
    elif isinstance(shape, Answer) or node.role == "answer":
        _check_answer(shape, node, layer, field)
    elif isinstance(shape, Chosen):
        if node.role != "choose":
            raise bad_edit(
                field, "%(module)s does not choose among the objects of a step below it", module=node.module
            )
    else:
        _check_mark(shape, node, subject, field, layer)


def _check_mark(
    shape: Box | Span, node: Node, subject: Subject, field: str, layer: LabelLayer | None
) -> None:
    """Check a box or span, and its label, against node and item."""
    if layer is None and shape.label:
        raise bad_edit(f"{field}.label", "%(module)s has no labels", module=node.module)
    if layer is not None and shape.label not in layer.names:
        raise _build_label_error(shape.label, layer, f"{field}.label")
    wanted = subject.kind if layer is None else layer.type
    if type(shape) is not SHAPES[wanted]:
        raise bad_edit(field, "this project marks %(kind)s", kind=wanted)
    if node.role == "choose" and not shape.reason.strip():
        raise bad_edit(
            f"{field}.reason",
            "%(module)s chooses among the objects of the step below it; a new one needs a reason",
            module=node.module,
        )
    if isinstance(shape, Box):
        if shape.image >= max(subject.images, 1):
            raise bad_edit(
                f"{field}.image", "the item has %(images)s images, counted from 0", images=subject.images
            )
    else:
        check_span(shape, subject, field)
    if shape.answers:
        _check_mark_answers(shape, node, layer, f"{field}.answers")


def _check_mark_answers(shape: Box | Span, node: Node, layer: LabelLayer | None, field: str) -> None:
    """Check what a person says about one mark."""
    for name, values in shape.answers.items():
        question = layer.question(name) if layer else None
        if question is None:
            text = "“%(layer)s” does not ask “%(question)s” about its marks"
            raise bad_edit(f"{field}.{name}", text, layer=node.module, question=name)
        for value in values:
            _check_value(value, question, f"{field}.{name}")
        _check_number_of(values, question, f"{field}.{name}")


def find_unanswered_questions(marks: Iterable[Object], layer: LabelLayer) -> list[tuple[str, str]]:
    """Return the required questions that marks leave open, as ID and question."""
    if not any(question.required for question in layer.questions):
        return []
    return [
        (mark.id, name)
        for mark in marks
        if isinstance(mark, Box | Span)
        for name, question in layer.find_asked_questions(mark.label, mark.answers).items()
        if question.required and name not in mark.answers
    ]


def _build_label_error(value: object, layer: Question, field: str) -> BadEdit:
    text = "%(value)r is not a label of “%(layer)s”: %(labels)s"
    return bad_edit(field, text, value=value, layer=layer.name, labels=", ".join(layer.names))


def _check_answer(shape: Object, node: Node, layer: LabelLayer | None, field: str) -> None:
    """Check an answer against the layer that asks for it."""
    if layer is None or layer.type in MARKS or not isinstance(shape, Answer):
        takes = "%(module)s takes an answer" if node.role == "answer" else "%(module)s takes no answer"
        raise bad_edit(field, takes, module=node.module)
    _check_value(shape.value, layer, f"{field}.value")


def _check_value(value: str | int, asked: Question, field: str) -> None:
    """Check an answer against its question."""
    if asked.labels and value not in asked.names:
        raise _build_label_error(value, asked, field)
    if asked.type == "rating" and not (isinstance(value, int) and asked.lowest <= value <= asked.highest):
        text = "%(value)r is not a rating of “%(layer)s”: %(lowest)s to %(highest)s"
        bounds = {"lowest": asked.lowest, "highest": asked.highest}
        raise bad_edit(field, text, value=value, layer=asked.name, **bounds)
    if asked.type == "text" and not (isinstance(value, str) and len(value) <= MOST_TEXT):
        text = "“%(layer)s” takes a text of at most %(most)s characters"
        raise bad_edit(field, text, layer=asked.name, most=f"{MOST_TEXT:,}")


def _check_relation(shape: Object, node: Node, layer: LabelLayer | None, field: str) -> None:
    """Check the label of a relation."""
    if layer is None or layer.type != "relations" or not isinstance(shape, Relation):
        takes = "%(module)s takes relations" if node.role == "relate" else "%(module)s takes no relations"
        raise bad_edit(field, takes, module=node.module)
    if shape.label not in layer.names:
        raise _build_label_error(shape.label, layer, f"{field}.label")


def build_relation_key(relation: Relation, layer: LabelLayer) -> tuple[str, ...]:
    """Return what two relations have in common if they are the same."""
    return (relation.label, *(relation.ends if layer.directed else sorted(relation.ends)))


def _check_relations(objects: Iterable[Object], layer: LabelLayer | None, field: str) -> None:
    """Check that a layer has each relation once."""
    if layer is None or layer.type != "relations":
        return
    keys = [build_relation_key(relation, layer) for relation in objects if isinstance(relation, Relation)]
    if len(set(keys)) < len(keys):
        raise bad_edit(field, "“%(layer)s” has a relation twice", layer=layer.name)


def _check_answers(objects: Iterable[Object], layer: LabelLayer | None, field: str) -> None:
    """Check that a layer has one answer, or each of its choices once."""
    values = [answer.value for answer in objects if isinstance(answer, Answer)]
    if layer is not None and values:
        _check_number_of(values, layer, field)


def _check_number_of(values: Sequence[str | int], asked: Question, field: str) -> None:
    if asked.type != "choices" and len(values) > 1:
        raise bad_edit(field, "“%(layer)s” takes one answer", layer=asked.name)
    if len(set(values)) < len(values):
        raise bad_edit(field, "“%(layer)s” has an answer twice", layer=asked.name)


def check_span(span: Span, subject: Subject, field: str) -> None:
    """Check that code points, tokens and quote name the same stretch.

    Raises:
        BadEdit: They differ, or lie outside the passage.
    """
    (start, end), (first, beyond) = span.span, span.tokens
    if end > len(subject.passage) or beyond > len(subject.tokens):
        raise bad_edit(f"{field}.span", "the passage has %(number)s characters", number=len(subject.passage))
    if subject.passage[start:end] != span.quote:
        raise bad_edit(
            f"{field}.quote",
            "the quote differs from what stands at %(start)s–%(end)s: %(passage)r",
            start=start,
            end=end,
            passage=subject.passage[start:end],
        )
    if not (subject.tokens[first][0] <= start < subject.tokens[first][1]) or not (
        subject.tokens[beyond - 1][0] < end <= subject.tokens[beyond - 1][1]
    ):
        raise bad_edit(f"{field}.tokens", "span and tokens name different places")


def drop_hanging_references(layers: dict[int, Layer], program: Program) -> None:
    """Remove references to deleted objects, and links from them, bottom-up."""
    for index in program.walk:
        layer = layers.get(index)
        if layer is None or not layer.objects:
            continue
        below = _collect_ids_below(layers, program, index)
        kept: list[Object] = []
        for object_ in layer.objects:
            if isinstance(object_, Chosen | Relation):
                if below.issuperset(_list_references(object_)):
                    kept.append(object_)
            elif set(object_.links) <= below:
                kept.append(object_)
            else:
                links = tuple(name for name in object_.links if name in below)
                kept.append(object_.model_copy(update={"links": links}))
        if kept != list(layer.objects):
            layers[index] = layer.model_copy(update={"objects": tuple(kept)})


def _check_references(
    layers: Mapping[int, Layer], change: Change, program: Program, prefix: str, objects: str = "put"
) -> None:
    """Check that new objects refer to objects of the steps directly below."""
    below = _collect_ids_below(layers, program, change.node)
    for index, object_ in enumerate(change.put):
        if unknown := [reference for reference in _list_references(object_) if reference not in below]:
            name = {Chosen: "ref", Relation: "ends"}.get(type(object_), "links")
            text = "the steps below this one have no object %(unknown)r"
            if isinstance(object_, Relation):
                text = "the item has no mark %(unknown)r"
            raise bad_edit(f"{prefix}{objects}.{index}.{name}", text, unknown=unknown[0])


def _list_references(object_: Object) -> tuple[str, ...]:
    """Return the IDs of the objects of other steps that an object refers to."""
    if isinstance(object_, Relation):
        return object_.ends
    return (object_.ref,) if isinstance(object_, Chosen) else object_.links


def _check_uniqueness(layers: Mapping[int, Layer], field: str = "put") -> None:
    """Check that IDs are unique and no object is chosen twice in a layer."""
    seen: set[str] = set()
    for index, layer in layers.items():
        references = [chosen.ref for chosen in layer.objects if isinstance(chosen, Chosen)]
        if len(references) != len(set(references)):
            raise bad_edit(field, "step %(index)s chooses an object twice", index=index)
        for object_ in layer.objects:
            if object_.id in seen:
                raise bad_edit(field, "two objects have the id %(id)r", id=object_.id)
            seen.add(object_.id)


def _collect_ids_below(layers: Mapping[int, Layer], program: Program, index: int) -> set[str]:
    """Return the IDs of the objects that a step works on.

    A computed step hands on those of the steps below it, and relations connect marks of all layers.
    """
    ids: set[str] = set()
    children = program.nodes[index].children
    if isinstance(program, LabelProgram) and program.nodes[index].role == "relate":
        children = program.marks
    for child in children:
        if program.nodes[child].role == "compute":
            ids |= _collect_ids_below(layers, program, child)
        else:
            layer = layers.get(program.representative[child], Layer())
            ids.update(object_.id for object_ in layer.objects)
    return ids


def _build_inverse(
    before: Mapping[int, Layer], after: Mapping[int, Layer], edit: Edit, problem: Problem | None
) -> dict[str, Any]:
    changes = [
        _build_difference(node, after.get(node, Layer()), before.get(node, Layer()))
        for node in sorted({*before, *after}, key=lambda node: node != edit.node)
        if after.get(node) != before.get(node)
    ]
    inverse: dict[str, Any] = changes[0] if changes else {"node": edit.node}
    if len(changes) > 1:
        # Restore objects before the references to them above: deeper nodes have higher indices.
        first, *others = sorted(changes, key=lambda change: -int(change["node"]))
        inverse = {**first, "also": others}
    if "problem" in edit.model_fields_set:
        inverse["problem"] = problem.model_dump(mode="json") if problem else None
    return inverse


def _build_difference(node: int, now: Layer, then: Layer) -> dict[str, Any]:
    """Return the change that turns the layer ``now`` into ``then``."""
    present = {object_.id: object_ for object_ in now.objects}
    wanted = {object_.id: object_ for object_ in then.objects}
    change: dict[str, Any] = {"node": node}
    if put := [object_ for object_ in then.objects if present.get(object_.id) != object_]:
        change["put"] = [object_.model_dump(mode="json") for object_ in put]
    if remove := [name for name in present if name not in wanted]:
        change["remove"] = remove
    if now.state != then.state:
        change["state"] = then.state
    if now.note != then.note:
        change["note"] = then.note
    if now.rejected != then.rejected:
        change["rejected"] = list(then.rejected)
    return change


def check_document(document: Document, program: Program, subject: Subject) -> Document:
    """Return a document from outside after checking the rules of editing.

    Raises:
        BadEdit: Names the layer and field that breaks a rule.
    """
    for index, layer in sorted(document.layers.items()):
        path = f"layers.{index}"
        node = _find_node(index, program, f"{path}.")
        if layer.state == "nothing" and layer.objects:
            raise bad_edit(f"{path}.state", "a step with objects cannot say that nothing is here")
        for number, object_ in enumerate(layer.objects):
            _check_object(
                object_, node, subject, f"{path}.objects.{number}", find_layer_of_node(program, node)
            )
        _check_answers(layer.objects, find_layer_of_node(program, node), f"{path}.objects")
        _check_relations(layer.objects, find_layer_of_node(program, node), f"{path}.objects")
        # The layer's objects were validated with the document; validating them again takes most of the time.
        change = Change.model_construct(node=index, put=layer.objects)
        _check_references(document.layers, change, program, f"{path}.", "objects")
    _check_uniqueness(document.layers, "layers")
    _check_problem(document.problem, program)
    return document
