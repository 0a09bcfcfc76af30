"""Rename labels, merge them and delete unused ones while a project runs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, QuerySet

from accounts.models import User
from annotation.actions import audit
from annotation.actions.projects import lock
from annotation.content.label_changes import (
    LabelChange,
    find_question,
    relabel_document,
    relabel_objects,
    relabel_task,
    remember_change,
)
from annotation.content.labels import LabelTask
from annotation.errors import Conflict, conflict_at
from annotation.models import Gold, Project, SystemOutput
from annotation.parsed_items import label_changes_of
from foundation.messages import extract_message, say

BATCH = 500  # rows that are read and written at once


class Uses(NamedTuple):
    """Counts of a label's uses."""

    annotations: int
    gold: int
    suggestions: int


@transaction.atomic
def rename_label(
    *, project: Project, layer: str, label: str, new_name: str, by: User | None, question: str = ""
) -> Uses:
    """Rename a label, and what people marked and answered with it.

    Edits that name the old label, such as those of browsers that were offline, get the new one. With a
    ``question``, it is a label of that question about the marks of the layer.

    Raises:
        Conflict: The project has no such label, or another one of that name, or the name is not valid.
    """
    held, task, node = _lock_and_find_label(project, layer, question, label)
    change = LabelChange(layer=node, question=question, label=label, to=new_name.strip())
    if change.to in _list_names(task, layer, question):
        text = "“%(layer)s” has the label “%(label)s” already; merge them instead"
        raise conflict_at("new_name", text, layer=question or layer, label=change.to)
    if not change.to:
        raise conflict_at("new_name", "is missing")
    return _carry_over(held, task, change, "label_renamed", by)


@transaction.atomic
def remove_label(
    *, project: Project, layer: str, label: str, by: User | None, into: str = "", question: str = ""
) -> Uses:
    """Delete a label that nothing uses, or merge it ``into`` another label.

    With a ``question``, they are labels of that question about the marks of the layer.

    Raises:
        Conflict: It is used, or the project has no such labels, or cannot do without it.
    """
    held, task, node = _lock_and_find_label(project, layer, question, label)
    if into and (into == label or into not in _list_names(task, layer, question)):
        text = "“%(layer)s” has no other label “%(label)s”"
        raise conflict_at("into", text, layer=question or layer, label=into)
    change = LabelChange(layer=node, question=question, label=label, to=into)
    if into:
        return _carry_over(held, task, change, "label_merged", by)
    uses = _rewrite(held, task, change, store=False)
    if any(uses):
        text = (
            "“%(label)s” is used %(annotations)s times in annotations, %(gold)s times in gold and "
            "%(suggestions)s times in suggestions; merge it into another label"
        )
        raise conflict_at("label", text, label=label, **uses._asdict())
    _store_task(held, _relabel_or_refuse(task, change))
    audit.record(project=held, kind="label_removed", by=by, data=_describe_label(layer, question, label))
    return uses


def _lock_and_find_label(
    project: Project, layer: str, question: str, label: str
) -> tuple[Project, LabelTask, int]:
    """Lock a project, and find a label in it.

    Raises:
        Conflict: It has no such label.
    """
    held = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if not held.labels:
        raise Conflict(say("the items of the project have programs, so it takes no labels"))
    task = LabelTask.model_validate(held.labels)
    try:
        node, asked = find_question(task, layer, question)
    except ValueError as error:
        raise Conflict(extract_message(error)) from error
    if label not in asked.names:
        text = "“%(layer)s” has no label “%(label)s”"
        raise conflict_at("label", text, layer=asked.name, label=label)
    return held, task, node


def _list_names(task: LabelTask, layer: str, question: str) -> tuple[str, ...]:
    return find_question(task, layer, question)[1].names


def _relabel_or_refuse(task: LabelTask, change: LabelChange) -> LabelTask:
    try:
        return relabel_task(task, change)
    except ValueError as error:
        raise Conflict(extract_message(error)) from error


def _describe_label(layer: str, question: str, label: str) -> dict[str, Any]:
    return {"layer": layer, "label": label} | ({"question": question} if question else {})


def _carry_over(project: Project, task: LabelTask, change: LabelChange, kind: str, by: User | None) -> Uses:
    changed = _relabel_or_refuse(task, change)
    uses = _rewrite(project, task, change, store=True)
    changes = remember_change(label_changes_of(project), change)
    project.label_changes = [label_change.model_dump(mode="json") for label_change in changes]
    _store_task(project, changed)
    data = _describe_label(task.layers[change.layer - 1].name, change.question, change.label)
    audit.record(
        project=project, kind=kind, by=by, data={**data, "to": change.to, "annotations": uses.annotations}
    )
    return uses


def _store_task(project: Project, task: LabelTask) -> None:
    project.labels = task.model_dump(mode="json")
    project.save(update_fields=["labels", "label_changes"])
    lock(project.items.all()).update(program=task.text)
    # A save that waited for its annotation checked the labels of before; now it is stale and made again.
    project.annotations.update(revision=F("revision") + 1)


def _rewrite(project: Project, task: LabelTask, change: LabelChange, *, store: bool) -> Uses:
    """Change a label in all that is stored, or count it; return its uses.

    Annotations are locked first and items last, in the order in which a submission locks them.
    """

    def document(stored: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        return relabel_document(stored or {}, task, change)

    def marks(stored: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        node = str(change.layer)
        objects, uses = relabel_objects(stored.get(node, ()), change)
        return ({**stored, node: objects}, uses) if uses else (dict(stored), 0)

    annotations = project.annotations.select_for_update(of=("self",), no_key=True)
    golds = Gold.objects.filter(item__project=project)
    outputs = SystemOutput.objects.filter(item__project=project)
    return Uses(
        _rewrite_rows(annotations, "document", document, store=store),
        _rewrite_rows(golds if store else golds.filter(current=True), "document", document, store=store),
        _rewrite_rows(outputs, "marks", marks, store=store),
    )


def _rewrite_rows(
    rows: QuerySet[Any], column: str, change: Callable[[Any], tuple[dict[str, Any], int]], *, store: bool
) -> int:
    total = 0
    for batch in _read_batches(rows.only("pk", column)):
        changed = []
        for row in batch:
            value, uses = change(getattr(row, column))
            total += uses
            if uses:
                setattr(row, column, value)
                changed.append(row)
        if store:
            rows.model._default_manager.bulk_update(changed, [column])
    return total


def _read_batches(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    """Yield rows by key, so that writing some does not disturb reading."""
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield batch
        last = batch[-1].pk
