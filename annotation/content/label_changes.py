"""Change label configurations: check, rename and merge labels. No Django.

Labels change in tasks, documents and edits. Documents, edits and marks are JSON here, as they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from annotation.content.labels import LabelLayer, LabelTask, MarkQuestion, Question, describe_mistake
from annotation.content.schemas import ItemRecord, Position
from foundation.frozen_model import FrozenModel
from foundation.messages import field_error

Json = dict[str, Any]
_Asked = TypeVar("_Asked", LabelLayer, MarkQuestion)


class LabelChange(FrozenModel):
    """A label of a layer, or of a question about its marks, and its new name.

    ``layer`` is the node of the layer, from 1; ``to`` may be another label of the same layer.
    """

    layer: Position
    question: str = ""
    label: str
    to: str


def find_question(task: LabelTask, layer: str, question: str = "") -> tuple[int, Question]:
    """Return the node of a layer, and the layer or its question.

    Raises:
        ValueError: The task has none of that name.
    """
    for node, task_layer in enumerate(task.layers, start=1):
        if task_layer.name == layer:
            asked = task_layer.question(question) if question else task_layer
            if asked is None:
                text = "“%(layer)s” does not ask “%(question)s” about its marks"
                raise field_error("question", text, layer=layer, question=question)
            return node, asked
    names = ", ".join(f"“{task_layer.name}”" for task_layer in task.layers)
    raise field_error(
        "layer", "the project has no layer “%(layer)s”; it has %(names)s", layer=layer, names=names
    )


def check_extends(before: LabelTask, after: LabelTask) -> None:
    """Check that marks and answers of one configuration fit another.

    Layers stay; labels and questions about marks are added or look different, and hints, ``required`` and
    conditions change.

    Raises:
        ValueError: Names the field that does not fit.
    """
    if len(before.layers) != len(after.layers):
        raise field_error("layers", "the project has items, so it keeps its layers")
    for old, new in zip(before.layers, after.layers, strict=True):
        _check_extends(old, new)
        if old.directed != new.directed:
            text = "the project has items, so “%(layer)s” keeps its name, type and bounds"
            raise field_error("layers", text, layer=old.name)
        for question in old.questions:
            if (now := new.question(question.name)) is None:
                text = "the project has items, so “%(layer)s” keeps the question “%(question)s”"
                raise field_error("questions", text, layer=old.name, question=question.name)
            _check_extends(question, now)


def _check_extends(old: Question, new: Question) -> None:
    """Check that answers to a question, or marks of a layer, fit another."""
    if any(getattr(old, name) != getattr(new, name) for name in ("type", "name", "lowest", "highest")):
        text = "the project has items, so “%(layer)s” keeps its name, type and bounds"
        raise field_error("layers", text, layer=old.name)
    if missing := [name for name in old.names if name not in new.names]:
        text = "the project has items, so “%(layer)s” keeps the label “%(label)s”"
        raise field_error("labels", text, layer=old.name, label=missing[0])


def can_extend(before: str, after: str) -> bool:
    """Return True if marks and answers of one plain task fit another."""
    try:
        check_extends(LabelTask.model_validate_json(before), LabelTask.model_validate_json(after))
    except ValueError:
        return False
    return True


def relabel_task(task: LabelTask, change: LabelChange) -> LabelTask:
    """Return a task with a label renamed, merged or, without ``to``, dropped.

    Raises:
        ValueError: The new name is not valid, or the layer needs the label.
    """
    asked = task.layers[change.layer - 1].name
    layers = []
    for node, layer in enumerate(task.layers, start=1):
        if node == change.layer:
            layer = _relabel_layer(layer, change)
        if layer.show_if and layer.show_if.layer == asked and not change.question:
            layer = _relabel_condition(layer, change)
        layers.append(layer.model_dump())
    try:
        return LabelTask.model_validate({"layers": layers})
    except ValidationError as error:
        raise ValueError(describe_mistake(error)) from error


def _relabel_layer(layer: LabelLayer, change: LabelChange) -> LabelLayer:
    own = {} if change.question else {"labels": _change_labels(layer, change)}
    questions = tuple(_relabel_question(question, change) for question in layer.questions)
    return layer.model_copy(update={**own, "questions": questions})


def _relabel_question(asked: MarkQuestion, change: LabelChange) -> MarkQuestion:
    if asked.name == change.question:
        return asked.model_copy(update={"labels": _change_labels(asked, change)})
    depends = asked.show_if is not None and asked.show_if.question == change.question
    return _relabel_condition(asked, change) if depends else asked


def _relabel_condition(asked: _Asked, change: LabelChange) -> _Asked:
    """Return a layer or question with the label changed in its condition.

    Raises:
        ValueError: No other label shows it.
    """
    condition = asked.show_if
    if condition is None or not (labels := _rename_labels(condition.labels, change)):
        text = "“%(layer)s” is shown only if “%(label)s” is chosen; change its condition first"
        raise field_error("label", text, layer=asked.name, label=change.label)
    return asked.model_copy(update={"show_if": condition.model_copy(update={"labels": labels})})


def _change_labels(asked: Question, change: LabelChange) -> tuple[Any, ...]:
    is_gone = not change.to or change.to in asked.names
    # Labels inside one that goes move up to what holds it.
    above = next((label.parent for label in asked.labels if label.name == change.label), "")
    inside = {"parent": above if is_gone else change.to}
    labels = (
        label.model_copy(update=inside) if label.parent == change.label else label for label in asked.labels
    )
    if is_gone:
        return tuple(label for label in labels if label.name != change.label)
    return tuple(
        label.model_copy(update={"name": change.to}) if label.name == change.label else label
        for label in labels
    )


def _rename_labels(names: Iterable[str], change: LabelChange) -> tuple[str, ...]:
    """Return names with one renamed, or left out; each once."""
    renamed = (change.to if name == change.label else name for name in names)
    return tuple(dict.fromkeys(name for name in renamed if name))


def relabel_objects(
    objects: Sequence[Mapping[str, Any]], change: LabelChange, *, directed: bool = True
) -> tuple[list[Json], int]:
    """Return the objects of a layer with a label changed, and its uses.

    Answers and relations that become equal to another one are left out.
    """
    changed: list[Json] = []
    seen: set[tuple[object, ...]] = set()
    uses = 0
    for object_ in objects:
        after, used = _relabel_object(object_, change)
        uses += used
        key = _build_key(after, directed=directed)
        if key is None or key not in seen:
            changed.append(after)
        if key is not None:
            seen.add(key)
    return changed, uses


def _relabel_object(given: Mapping[str, Any], change: LabelChange) -> tuple[Json, int]:
    if change.question:
        answers = given.get("answers") or {}
        values = answers.get(change.question, ())
        if change.label not in values:
            return dict(given), 0
        renamed = list(dict.fromkeys(change.to if value == change.label else value for value in values))
        return {**given, "answers": {**answers, change.question: renamed}}, 1
    for name in ("value", "label"):
        if given.get(name) == change.label:
            return {**given, name: change.to}, 1
    return dict(given), 0


def _build_key(given: Mapping[str, Any], *, directed: bool) -> tuple[object, ...] | None:
    """Return what a layer has once: an answer or a relation; None for marks."""
    if "value" in given:
        return ("value", given["value"])
    if "ends" in given:
        ends = given["ends"] if directed else sorted(given["ends"])
        return (given.get("label"), *ends)
    return None


def relabel_document(stored: Mapping[str, Any], task: LabelTask, change: LabelChange) -> tuple[Json, int]:
    """Return a stored document with a label changed, and its uses."""
    layers = dict(stored.get("layers") or {})
    if (layer := layers.get(str(change.layer))) is None:
        return dict(stored), 0
    directed = task.layers[change.layer - 1].directed
    objects, uses = relabel_objects(layer.get("objects") or (), change, directed=directed)
    if not uses:
        return dict(stored), 0
    layers[str(change.layer)] = {**layer, "objects": objects}
    return {**stored, "layers": layers}, uses


def relabel_edit(edit: Mapping[str, Any], changes: Sequence[LabelChange]) -> Json:
    """Return an edit in the labels of today."""
    parts = [dict(edit), *({**part} for part in edit.get("also") or ())]
    for part in parts:
        for change in changes:
            if part.get("put") and part.get("node", 0) == change.layer:
                part["put"], _uses = relabel_objects(part["put"], change)
    return parts[0] | ({"also": parts[1:]} if edit.get("also") else {})


def remember_change(before: Sequence[LabelChange], new: LabelChange) -> list[LabelChange]:
    """Return the changes that edits made before them still need."""
    return [*drop_changes_of_names(before, new.layer, new.question, {new.to}), new]


def drop_changes_of_names(
    changes: Iterable[LabelChange], layer: int, question: str, names: Iterable[str]
) -> list[LabelChange]:
    """Return the changes without those of names that are labels again."""
    given = set(names)
    return [
        change
        for change in changes
        if (change.layer, change.question) != (layer, question) or change.label not in given
    ]


def relabel_record(record: ItemRecord, changes: Sequence[LabelChange]) -> ItemRecord:
    """Return an item of a file with its plain task in the labels of today."""
    task = LabelTask.model_validate_json(record.program)
    stored = record.model_dump(mode="json", include={"gold", "annotations"})
    holders = [stored, *stored["annotations"]]
    names = ["gold", *["document"] * len(stored["annotations"])]
    for change in changes:
        layer = task.layers[change.layer - 1] if change.layer <= len(task.layers) else None
        asked = layer and (layer.question(change.question) if change.question else layer)
        if asked is None or change.label not in asked.names:
            continue
        for holder, name in zip(holders, names, strict=True):
            if holder[name] is not None:
                holder[name], _uses = relabel_document(holder[name], task, change)
        task = relabel_task(task, change)
    return ItemRecord.model_validate({**record.model_dump(), **stored, "program": task.text})
