"""Items of plain tasks, made of the entries of other tools' files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from annotation.content.labels import ANSWERED, LabelLayer, LabelTask, LayerType, Question
from annotation.content.operations import build_relation_key
from annotation.content.schemas import (
    AnnotationRecord,
    Answer,
    Box,
    Document,
    ItemRecord,
    KeyPoint,
    Layer,
    Object,
    Polygon,
    Relation,
    Span,
)
from annotation.formats.checks import check_record
from annotation.formats.labelled.documents import list_corners
from annotation.formats.labelled.entries import (
    ABOUT_A_MARK,
    BARE_RELATION,
    RELATIONS,
    AboutMark,
    Entry,
    Labelling,
    Reader,
    find_mark_type,
    read_entries,
    tokenize_entry,
)
from annotation.formats.labelled.inferred_task import infer_task
from annotation.formats.labelled.mark_positions import MARK_ID, list_box_corners
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.messages import say, value_error

DANGLING_RELATION = "relation without both of its marks, left out"
TO_POLYGON = "box or ellipse, replaced by a polygon"
TO_BOX = "polygon or ellipse, replaced by the box around it"


def read_labelled(reader: Reader, source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a file of another tool.

    Without a task of the project, the file is read twice: first for its labels.

    Raises:
        BadFile: The file cannot be read, or holds no labels.
    """
    first = replace(source, findings=Findings(collect=True), on_progress=None)
    task = LabelTask.model_validate_json(source.task) if source.task else infer_task(first, reader)
    some = False
    for entry in read_entries(source, reader):
        some = True
        if task is None:
            continue
        where = {"path": source.path, **entry.location}
        path = where.pop("path")
        try:
            record = check_record(_build_record(entry, task, source.findings))
            line = {name: value for name, value in where.items() if name != "entry"}
            source.findings.note_entry(record.external_id, path, field="id", **line)
        except (ValueError, BadFile) as error:
            source.findings.refuse(error, path, **where)
        else:
            yield record
    if source.findings.refused_count == 0:
        first_line = 1 if source.path.is_file() else None
        if not some:
            raise BadFile(source.path, say("holds no items"), line=first_line)
        if task is None:
            text = "holds no labels; create a project with a label configuration, and upload the file there"
            raise BadFile(source.path, say(text), line=first_line)


def _build_record(entry: Entry, task: LabelTask, findings: Findings) -> ItemRecord:
    documents = [
        (labelling, build_labelled_document(labelling, task, findings, entry.external_id))
        for labelling in entry.labellings
    ]
    golds = [document for labelling, document in documents if labelling.annotator is None]
    return ItemRecord(
        external_id=entry.external_id,
        kind="boxes" if entry.images else "spans",
        program=task.text,
        text=entry.title,
        passage="" if entry.images else entry.passage,
        tokens=() if entry.images else tuple(tokenize_entry(entry)),
        images=tuple(entry.images),
        gold=golds[0] if golds else None,
        annotations=tuple(
            AnnotationRecord(annotator=labelling.annotator, document=document, **labelling.fields)
            for labelling, document in documents
            if labelling.annotator is not None
        ),
        extra=entry.extra,
    )


def build_labelled_document(labelling: Labelling, task: LabelTask, findings: Findings, path: str) -> Document:
    """Return a labelling by the layers of a task.

    Raises:
        ValueError: The task has no layer for a mark or answer.
    """
    objects: dict[int, list[Object]] = {index: [] for index in range(1, len(task.layers) + 1)}
    used: set[str] = set()
    names: dict[str, str] = {}  # the ID of each mark in the file, and its own
    about: dict[str, list[AboutMark]] = {}
    for answer in labelling.about:
        about.setdefault(answer.mark, []).append(answer)
    for name, given in labelling.marks:
        mark = _convert_mark(given, {layer.type for layer in task.layers}, findings, path)
        index = _find_layer_index(task, name, {find_mark_type(mark)})
        own = _free(mark.id, index, len(objects[index]), used)
        names.setdefault(given.id, own)
        answers = _match_answers(about.get(given.id, ()), task.layers[index - 1], findings, path)
        changed = {"id": own, "label": mark.label.strip(), "answers": answers}
        objects[index].append(mark.model_copy(update=changed))
    for answer in labelling.about:
        if answer.mark not in names:
            findings.note_repair(ABOUT_A_MARK, path)
    for index, relation in _build_relations(labelling, task, names, findings, path):
        objects[index].append(
            relation.model_copy(update={"id": _free(relation.id, index, len(objects[index]), used)})
        )
    for name, kind, value in labelling.answers:
        index = _find_layer_index(
            task, name, {"choice", "choices"} if kind in ("choice", "choices") else {kind}
        )
        chosen = value.strip() if isinstance(value, str) and kind in ("choice", "choices") else value
        objects[index].append(Answer(id=_free("", index, len(objects[index]), used), value=chosen))
    states = {_find_layer_index(task, name, None): layer for name, layer in labelling.layers.items()}
    layers = {}
    for index, inside in objects.items():
        asked = task.layers[index - 1].type in ANSWERED and task.layers[index - 1].required
        implied = Layer(state="done" if inside else "open" if asked else "nothing")
        layers[index] = states.get(index, implied).model_copy(update={"objects": tuple(inside)})
    return Document(layers=layers)


def _match_answers(
    about: Iterable[AboutMark], layer: LabelLayer, findings: Findings, path: str
) -> dict[str, tuple[str | int, ...]]:
    """Return the answers about a mark by the questions of its layer."""
    answers: dict[str, tuple[str | int, ...]] = {}
    for answer in about:
        question = _find_question(answer, layer)
        value = None if question is None else _convert_answer(question, answer)
        if question is None or value is None:
            findings.note_repair(ABOUT_A_MARK, path)
        else:
            answers[question.name] = (*answers.get(question.name, ()), value)
    return answers


def _find_question(about: AboutMark, layer: LabelLayer) -> Question | None:
    """Return the question of that name, or the only one of that type."""
    kinds = {"choice", "choices"} if about.type in ("choice", "choices") else {about.type}
    fitting = [question for question in layer.questions if about.type is None or question.type in kinds]
    named = [question for question in fitting if question.name.casefold() == about.question.casefold()]
    if not named and (about.type is None or len(fitting) != 1):
        return None
    return (named or fitting)[0]


def _convert_answer(question: Question, about: AboutMark) -> str | int | None:
    """Return an answer as its question takes it.

    None if it does not fit a question that has only its name in common with the answer.
    """
    value = about.value
    if question.type == "rating" and isinstance(value, str):
        value = int(value) if value.strip().isdecimal() else -1
    elif question.type != "rating":
        value = str(value) if question.type == "text" else str(value).strip()
    if about.type is None and isinstance(value, int):
        return value if question.lowest <= value <= question.highest else None
    return None if about.type is None and question.labels and value not in question.names else value


def _build_relations(
    labelling: Labelling, task: LabelTask, names: dict[str, str], findings: Findings, path: str
) -> Iterator[tuple[int, Relation]]:
    """Yield the relations of a labelling with the nodes of their layers."""
    present: set[tuple[object, ...]] = set()
    for related in labelling.relations:
        if not any(layer.type == "relations" for layer in task.layers):
            findings.note_repair(RELATIONS, path)
            continue
        index = _find_layer_index(task, related.layer, {"relations"})
        layer = task.layers[index - 1]
        label = related.label.strip() or (layer.names[0] if len(layer.names) == 1 else BARE_RELATION)
        first, second = (names.get(end) for end in related.ends)
        if not first or not second or first == second:
            findings.note_repair(DANGLING_RELATION, path)
            continue
        for ends in [(first, second), (second, first)][: 2 if related.both and layer.directed else 1]:
            relation = Relation(
                id=related.name if MARK_ID.fullmatch(related.name) else "m", ends=ends, label=label
            )
            key = (index, *build_relation_key(relation, layer))
            if key not in present:
                present.add(key)
                yield index, relation


def _convert_mark(mark: Box | Span, types: set[LayerType], findings: Findings, path: str) -> Box | Span:
    """Return a mark as one that a project takes, if it has a like one."""
    if isinstance(mark, Span | KeyPoint) or find_mark_type(mark) in types:
        return mark
    if "polygons" in types:
        findings.note_repair(TO_POLYGON, path)
        polygon = list_corners(mark) or list_box_corners(mark.box)
        return Polygon(**_collect_kept_fields(mark), polygon=tuple(polygon))
    if "boxes" in types:
        findings.note_repair(TO_BOX, path)
        return Box(**_collect_kept_fields(mark), box=mark.box)
    return mark


_KEPT_FIELDS = ("id", "suggested", "links", "reason", "label", "answers", "image")


def _collect_kept_fields(mark: Box) -> dict[str, Any]:
    return {name: getattr(mark, name) for name in _KEPT_FIELDS}


def _free(given: str, index: int, number: int, used: set[str]) -> str:
    name = given if MARK_ID.fullmatch(given) and given not in used else f"m{index}-{number}"
    while name in used:
        name = f"{name[:60]}.{len(used)}"
    used.add(name)
    return name


def _find_layer_index(task: LabelTask, name: str, kinds: set[LayerType] | None) -> int:
    """Return the node of the layer of that name, or the only one that fits."""
    fitting = {
        index: layer
        for index, layer in enumerate(task.layers, start=1)
        if kinds is None or layer.type in kinds
    }
    named = [index for index, layer in fitting.items() if layer.name.casefold() == name.casefold()]
    if named or len(fitting) == 1:
        return (named or list(fitting))[0]
    kind = " or ".join(sorted(kinds or ()))
    layers = ", ".join(f"“{layer.name}”" for layer in task.layers)
    text = "the project has no layer “%(name)s” of type %(kind)s; it has %(layers)s"
    raise value_error(text, name=name, kind=kind or "any", layers=layers)
