"""Entries of other tools' files, and the items of plain tasks they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from annotation.content.labels import (
    ANSWERED,
    MARKS,
    MOST_QUESTIONS,
    LabelLayer,
    LabelTask,
    LayerType,
    MarkQuestion,
    Question,
    nest_labels,
)
from annotation.content.operations import build_relation_key
from annotation.content.schemas import (
    AnnotationRecord,
    Answer,
    Box,
    Document,
    Ellipse,
    Image,
    ItemRecord,
    KeyPoint,
    Layer,
    Object,
    Polygon,
    Relation,
    Span,
)
from annotation.formats.checks import check_record
from annotation.formats.label_studio.results import parse_span_result
from annotation.formats.labelled.documents import list_corners
from annotation.formats.labelled.mark_positions import MARK_ID, list_box_corners
from annotation.formats.source import Source
from annotation.formats.texts import Tokens, tokenize
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.messages import say, value_error

# Layers of formats that do not name theirs.
ENTITIES, OBJECTS, ELLIPSES, POINTS = "Entities", "Objects", "Ellipses", "Key points"
CLASS, RELATED = "Class", "Relations"
BARE_RELATION = "related to"  # the label of relations without one, in a file without others

NO_LABEL = "mark without a label, left out"
SEVERAL_LABELS = "mark with several labels, one mark for each"
RELATIONS = "relation, left out"
DANGLING = "relation without both of its marks, left out"
ABOUT_A_MARK = "answer about a single mark, left out"
TO_POLYGON = "box or ellipse, replaced by a polygon"
TO_BOX = "polygon or ellipse, replaced by the box around it"
ATTRIBUTES = "attribute, note or event of a mark, left out"
KEPT = "field that is kept, but not shown to annotators"


@dataclass(frozen=True)
class Related:
    """A relation as it stands in a file, by the IDs that marks have there.

    ``layer`` is the name of its layer; ``both`` says that it has no direction.
    """

    ends: tuple[str, str]
    label: str = ""
    layer: str = RELATED
    both: bool = False
    name: str = ""


@dataclass(frozen=True)
class AboutMark:
    """An answer about one mark, by the ID that the mark has in the file.

    ``type`` is None if the file does not say what kind of question it answers.
    """

    mark: str
    question: str
    type: LayerType | None
    value: str | int


def parse_stated_answer(mark: str, question: str, kind: str, value: str) -> AboutMark | None:
    """Return an answer as our files hold it; None if it makes no sense."""
    if kind not in ANSWERED or (kind == "rating" and not value.isdecimal()):
        return None
    return AboutMark(mark, question, cast(LayerType, kind), int(value) if kind == "rating" else value)


@dataclass
class Labelling:
    """The marks and answers of one author in an entry.

    Attributes:
        annotator: None for the gold.
        marks: Name of the layer, and box or span with its label.
        answers: Name and type of the layer, and value.
        relations: Relations between the marks.
        about: Answers about single marks.
        fields: Fields of an `AnnotationRecord`.
        layers: States and notes by the name of the layer, if the file has them.
    """

    annotator: str | None = None
    marks: list[tuple[str, Box | Span]] = field(default_factory=list)
    answers: list[tuple[str, LayerType, str | int]] = field(default_factory=list)
    relations: list[Related] = field(default_factory=list)
    about: list[AboutMark] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    layers: dict[str, Layer] = field(default_factory=dict)


@dataclass
class Entry:
    """A text or images with their labellings, as they stand in a file.

    ``declared`` has layers that the file lists besides their use; ``location`` says where the entry stands,
    in the arguments of `Findings.refuse`.
    """

    external_id: str
    title: str = ""
    passage: str = ""
    tokens: Tokens | None = None
    images: Sequence[Image] = ()
    labellings: list[Labelling] = field(default_factory=list)
    declared: Sequence[LabelLayer] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    location: dict[str, Any] = field(default_factory=dict)


Reader = Callable[[Source], Iterator[Entry]]


def read_labelled(reader: Reader, source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a file of another tool.

    Without a task of the project, the file is read twice: first for its labels.

    Raises:
        BadFile: The file cannot be read, or holds no labels.
    """
    first = replace(source, findings=Findings(collect=True), on_progress=None)
    task = LabelTask.model_validate_json(source.task) if source.task else _infer_task(first, reader)
    some = False
    for entry in _read_entries(source, reader):
        some = True
        if task is None:
            continue
        try:
            record = check_record(_build_record(entry, task, source.findings))
            path = entry.location.get("path", source.path)
            where = {name: value for name, value in entry.location.items() if name not in ("path", "entry")}
            source.findings.note_entry(record.external_id, path, field="id", **where)
        except (ValueError, BadFile) as error:
            path = entry.location.get("path", source.path)
            where = {name: value for name, value in entry.location.items() if name != "path"}
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


def _read_entries(source: Source, reader: Reader) -> Iterator[Entry]:
    """Yield the entries of a file, up to a part that cannot be read on."""
    try:
        yield from reader(source)
    except ValueError as error:  # such as labels that no configuration can have
        source.findings.refuse(error, source.path)


@dataclass
class _Layer:
    """A layer of the configuration that a file implies."""

    type: LayerType
    declared: LabelLayer | None = None
    labels: dict[str, None] = field(default_factory=dict)
    ratings: set[int] = field(default_factory=set)
    directed: bool = False
    questions: dict[str, _Layer] = field(default_factory=dict)

    def declare(self, layer: LabelLayer) -> None:
        """Add the labels of another entry's declaration of this layer."""
        if self.declared is None or layer == self.declared:
            self.declared = layer
            return
        parents = {label.name: label.parent for label in self.declared.labels}
        for label in layer.labels:
            if parents.setdefault(label.name, label.parent) != label.parent:
                text = "“%(label)s” stands inside “%(parent)s” and elsewhere; a label has one place"
                raise value_error(text, label=label.name, parent=label.parent)
        self.declared = LabelLayer.model_validate(
            {**self.declared.model_dump(), "labels": nest_labels(parents)}
        )

    def layer(self, name: str) -> LabelLayer:
        questions = tuple(asked.question(name) for name, asked in self.questions.items())[:MOST_QUESTIONS]
        if self.declared is not None and not self.labels.keys() - set(self.declared.names):
            return self.declared.model_copy(update={"type": self.type, "questions": questions})
        return LabelLayer.model_validate({**self._build_fields(name), "questions": questions})

    def question(self, name: str) -> MarkQuestion:
        """Return the question; a file does not say that all marks need it."""
        return MarkQuestion.model_validate({**self._build_fields(name), "required": False})

    def _build_fields(self, name: str) -> dict[str, Any]:
        given: dict[str, Any] = {"type": self.type, "name": name, "required": self.type in (*MARKS, "choice")}
        if self.type == "rating":
            given |= {"lowest": min(self.ratings | {1}), "highest": max(self.ratings | {5})}
        elif self.type != "text":
            names = dict.fromkeys(self.declared.names if self.declared else ())
            given["labels"] = tuple(names | self.labels)
        if self.type == "relations":
            given["directed"] = self.directed
        if self.type == "choice" and len(given["labels"]) < 2:
            given["type"] = "choices"  # one class is a box to tick
        return given


def _infer_task(source: Source, reader: Reader) -> LabelTask | None:
    """Return the label configuration that a file implies, if it has labels.

    Raises:
        BadFile: There cannot be such a configuration.
    """
    layers: dict[str, _Layer] = {}
    try:
        with suppress(BadFile):  # the second reading says so
            for entry in _read_entries(source, reader):
                for layer in entry.declared:
                    layers.setdefault(layer.name, _Layer(layer.type, layer)).declare(layer)
                for labelling in entry.labellings:
                    _note_labels(layers, labelling)
        if not layers:
            return None
        return LabelTask(layers=tuple(layer.layer(name) for name, layer in layers.items()))
    except ValueError as error:
        Findings().refuse(error, source.path)
        raise


def _note_labels(layers: dict[str, _Layer], labelling: Labelling) -> None:
    for name, mark in labelling.marks:
        kind = find_mark_type(mark)
        layer = layers.setdefault(name, _Layer(kind))
        if layer.type != kind and {layer.type, kind} <= {"boxes", "polygons", "ellipses"}:
            layer.type = "polygons"  # which all of them can become
        layer.labels.setdefault(mark.label.strip())
    several: Counter[str] = Counter()
    for name, kind, value in labelling.answers:
        several[name] += 1
        _note_answer(layers.setdefault(name, _Layer(kind)), kind, value, several[name])
    owners = {mark.id: name for name, mark in labelling.marks}
    about: Counter[tuple[str, str]] = Counter()
    for given in labelling.about:
        if given.mark in owners and given.type is not None:
            about[given.mark, given.question] += 1
            questions = layers[owners[given.mark]].questions
            question = questions.setdefault(given.question, _Layer(given.type))
            _note_answer(question, given.type, given.value, about[given.mark, given.question])
    for each in labelling.relations if labelling.marks else ():
        layer = layers.setdefault(each.layer, _Layer("relations"))
        layer.directed |= not each.both
        layer.labels.setdefault(each.label.strip() or BARE_RELATION)


def _note_answer(layer: _Layer, kind: LayerType, value: str | int, number: int) -> None:
    """Note the label or rating of a person's n-th answer to a question."""
    if kind == "choice" and number > 1:
        layer.type = "choices"
    if kind == "rating" and isinstance(value, int):
        layer.ratings.add(value)
    elif kind != "text":
        layer.labels.setdefault(str(value).strip())


def find_mark_type(mark: Box | Span) -> LayerType:
    """Return the type of the layers that hold such marks."""
    return _TYPES[type(mark)]


_TYPES: dict[type, LayerType] = {
    Span: "spans",
    Box: "boxes",
    Polygon: "polygons",
    Ellipse: "ellipses",
    KeyPoint: "points",
}


def can_hold_marks(source: Source, kind: LayerType) -> bool:
    """Return True if marks of a type have a place, or bring one with them."""
    return not source.task or any(
        layer.type == kind for layer in LabelTask.model_validate_json(source.task).layers
    )


def _build_record(entry: Entry, task: LabelTask, findings: Findings) -> ItemRecord:
    documents = [
        (each, build_labelled_document(each, task, findings, entry.external_id)) for each in entry.labellings
    ]
    golds = [document for each, document in documents if each.annotator is None]
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
            AnnotationRecord(annotator=each.annotator, document=document, **each.fields)
            for each, document in documents
            if each.annotator is not None
        ),
        extra=entry.extra,
    )


def tokenize_entry(entry: Entry) -> Tokens:
    """Return the tokens of the file, or those of our own."""
    if entry.tokens is None:
        entry.tokens = tokenize(entry.passage)
    return entry.tokens


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
            findings.mend(ABOUT_A_MARK, path)
    for index, each in _build_relations(labelling, task, names, findings, path):
        objects[index].append(
            each.model_copy(update={"id": _free(each.id, index, len(objects[index]), used)})
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
    for each in about:
        question = _find_question(each, layer)
        value = None if question is None else _convert_answer(question, each)
        if question is None or value is None:
            findings.mend(ABOUT_A_MARK, path)
        else:
            answers[question.name] = (*answers.get(question.name, ()), value)
    return answers


def _find_question(about: AboutMark, layer: LabelLayer) -> Question | None:
    """Return the question of that name, or the only one of that type."""
    kinds = {"choice", "choices"} if about.type in ("choice", "choices") else {about.type}
    fitting = [each for each in layer.questions if about.type is None or each.type in kinds]
    named = [each for each in fitting if each.name.casefold() == about.question.casefold()]
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
    for each in labelling.relations:
        if not any(layer.type == "relations" for layer in task.layers):
            findings.mend(RELATIONS, path)
            continue
        index = _find_layer_index(task, each.layer, {"relations"})
        layer = task.layers[index - 1]
        label = each.label.strip() or (layer.names[0] if len(layer.names) == 1 else BARE_RELATION)
        first, second = (names.get(end) for end in each.ends)
        if not first or not second or first == second:
            findings.mend(DANGLING, path)
            continue
        for ends in [(first, second), (second, first)][: 2 if each.both and layer.directed else 1]:
            relation = Relation(id=each.name if MARK_ID.fullmatch(each.name) else "m", ends=ends, label=label)
            key = (index, *build_relation_key(relation, layer))
            if key not in present:
                present.add(key)
                yield index, relation


def _convert_mark(mark: Box | Span, types: set[LayerType], findings: Findings, path: str) -> Box | Span:
    """Return a mark as one that a project takes, if it has a like one."""
    if isinstance(mark, Span | KeyPoint) or find_mark_type(mark) in types:
        return mark
    if "polygons" in types:
        findings.mend(TO_POLYGON, path)
        polygon = list_corners(mark) or list_box_corners(mark.box)
        return Polygon(**_collect_kept_fields(mark), polygon=tuple(polygon))
    if "boxes" in types:
        findings.mend(TO_BOX, path)
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


def build_entry_span(
    entry: Entry,
    start: int,
    end: int,
    label: str,
    findings: Findings,
    *,
    quote: str | None = None,
    name: str = "",
) -> Span:
    """Return the span of code points; its quote may show that they are UTF-16.

    Raises:
        ValueError: It leaves the text, or the quote is not there.
    """
    result = {"value": {"start": start, "end": end, "text": quote}}
    name = name if MARK_ID.fullmatch(name) else "m"
    span = parse_span_result(result, name, entry.passage, tokenize_entry(entry), findings, entry.external_id)
    return span.model_copy(update={"label": label})


def list_files(source: Source, *suffixes: str) -> list[Path]:
    """Return the file, or the files of a folder that have one of the suffixes."""
    if not source.path.is_dir():
        return [source.path]
    return sorted(
        file for file in source.path.rglob("*") if file.is_file() and file.suffix.lower() in suffixes
    )


def make_entries(make: Callable[[], Iterable[Entry]]) -> Iterable[Entry]:
    """Return the entries of a function.

    Raises:
        ValueError: A value has another type or size than the format has there.
    """
    try:
        return make()
    except (AttributeError, LookupError, TypeError, ArithmeticError) as error:
        raise value_error("%(problem)s is not as expected", problem=repr(error)) from error


def make_entries_or_refuse(
    source: Source, location: dict[str, Any], make: Callable[[], Iterable[Entry]]
) -> Iterator[Entry]:
    """Yield the entries that a function makes, unless they are refused."""
    try:
        entries = list(make_entries(make))
    except (ValueError, BadFile) as error:
        where = {name: value for name, value in location.items() if name != "path"}
        source.findings.refuse(error, location.get("path", source.path), **where)
        return
    for entry in entries:
        entry.location = entry.location or location
        yield entry
