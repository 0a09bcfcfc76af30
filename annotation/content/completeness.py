"""Open steps and hidden parts of a document, and its program executed."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.programs import Execution, FoundBox, FoundSpan, Node, Program, run
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import LabelLayer
from annotation.content.operations import (
    drop_hanging_references,
    find_layer_of_node,
    find_unanswered_questions,
)
from annotation.content.schemas import Answer, Box, Chosen, Document, Layer, Object, Span


def execute_document(document: Document, program: Program) -> Execution:
    """Execute the program on the document; values may be unknown.

    A plain task has no values.
    """
    if isinstance(program, LabelProgram):
        unknown = (None,) * len(program.nodes)
        return Execution(values=unknown, runs=((),) * len(program.nodes), objects=unknown)
    shapes = resolve_references(document, program)
    drawn = {shape.id: shape for objects in shapes.values() for shape in objects}
    outputs = {node: [_convert_shape(shape, drawn) for shape in objects] for node, objects in shapes.items()}
    values = {node: layer.value for node, layer in document.layers.items() if layer.value is not None}
    return run(program, outputs, values)


def _convert_shape(shape: Box | Span, drawn: Mapping[str, Box | Span]) -> FoundBox | FoundSpan:
    """Return an object as the executor takes it."""
    if isinstance(shape, Box):
        return FoundBox(shape.image, shape.box)
    sources = [drawn[name] for name in shape.links if name in drawn]
    spans = tuple(source.span for source in sources if isinstance(source, Span))
    return FoundSpan(*shape.span, shape.quote, sources=spans)


def resolve_references(document: Document, program: Program) -> dict[int, list[Box | Span]]:
    """Return the marks of each annotated node with references followed."""
    drawn = {
        mark.id: mark
        for layer in document.layers.values()
        for mark in layer.objects
        if isinstance(mark, Box | Span)
    }
    references = {
        chosen.id: chosen.ref
        for layer in document.layers.values()
        for chosen in layer.objects
        if isinstance(chosen, Chosen)
    }

    def follow(name: str) -> Box | Span | None:
        """Return the box or span that an ID stands for."""
        for _step in range(len(program.nodes)):
            if name in drawn:
                return drawn[name]
            name = references.get(name, name)
        return None

    return {
        node: [shape for object_ in layer.objects if (shape := follow(object_.id)) is not None]
        for node, layer in document.layers.items()
        if layer.state != "open" or layer.objects
    }


def open_nodes(document: Document, program: Program) -> list[int]:
    """Return the steps that are not done, bottom-up.

    A program that is marked as wrong has none, and a step that is done is open while marks lack answers.
    """
    if document.problem is not None:
        return []
    hidden = find_hidden_nodes(document, program)
    return [
        index
        for index in program.walk
        if index not in hidden and _is_open(document.layers.get(index, Layer()), program, index)
    ]


def _is_open(given: Layer, program: Program, index: int) -> bool:
    node = program.nodes[index]
    if given.state == "open":
        return _is_asked(program, node)
    layer = find_layer_of_node(program, node)
    return (
        given.state == "done" and layer is not None and bool(find_unanswered_questions(given.objects, layer))
    )


def _is_asked(program: Program, node: Node) -> bool:
    """Return whether a node must not stay open."""
    layer = find_layer_of_node(program, node)
    return node.role != "compute" if layer is None else layer.required


def find_hidden_nodes(document: Document, program: Program) -> set[int]:
    """Return the layers of a plain task whose conditions do not hold.

    A hidden choice counts as unanswered.
    """
    hidden: set[int] = set()
    for index, (asked, labels) in program.conditions.items() if isinstance(program, LabelProgram) else ():
        objects = () if asked in hidden else document.layers.get(asked, Layer()).objects
        if not any(isinstance(answer, Answer) and answer.value in labels for answer in objects):
            hidden.add(index)
    return hidden


def drop_hidden_parts(document: Document, program: Program) -> Document:
    """Return the document without layers and answers that are hidden now."""
    if not isinstance(program, LabelProgram):
        return document
    hidden = find_hidden_nodes(document, program)
    layers = {
        index: _drop_hidden_answers(layer, program.layer(index))
        for index, layer in document.layers.items()
        if index not in hidden
    }
    if all(layers.get(index) is layer for index, layer in document.layers.items()):
        return document
    drop_hanging_references(layers, program)
    return document.model_copy(update={"layers": layers})


def _drop_hidden_answers(given: Layer, layer: LabelLayer | None) -> Layer:
    """Return a layer whose marks have answers to the questions that are asked."""
    if layer is None or all(question.show_if is None for question in layer.questions):
        return given
    objects: list[Object] = []
    for object_ in given.objects:
        if isinstance(object_, Box | Span) and object_.answers:
            asked = layer.find_asked_questions(object_.label, object_.answers)
            answers = {name: values for name, values in object_.answers.items() if name in asked}
            object_ = (
                object_ if answers == object_.answers else object_.model_copy(update={"answers": answers})
            )
        objects.append(object_)
    return given.model_copy(update={"objects": tuple(objects)})
