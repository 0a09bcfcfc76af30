"""Entries of other tools' files: texts and images with marks and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from annotation.content.labels import ANSWERED, LabelLayer, LabelTask, LayerType
from annotation.content.schemas import Box, Ellipse, Image, KeyPoint, Layer, Polygon, Span
from annotation.formats.label_studio.results import parse_span_result
from annotation.formats.labelled.mark_positions import MARK_ID
from annotation.formats.source import Source
from annotation.formats.texts import Tokens, tokenize
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.messages import value_error

# Layers of formats that do not name theirs.
ENTITIES, OBJECTS, ELLIPSES, POINTS = "Entities", "Objects", "Ellipses", "Key points"
CLASS, RELATED = "Class", "Relations"
BARE_RELATION = "related to"  # the label of relations without one, in a file without others

NO_LABEL = "mark without a label, left out"
SEVERAL_LABELS = "mark with several labels, one mark for each"
RELATIONS = "relation, left out"
ABOUT_A_MARK = "answer about a single mark, left out"
ATTRIBUTES = "attribute, note or event of a mark, left out"
UNSHOWN_FIELD = "field that annotators do not see, kept for the export"


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


def read_entries(source: Source, reader: Reader) -> Iterator[Entry]:
    """Yield the entries of a file, up to a part that cannot be read on."""
    try:
        yield from reader(source)
    except ValueError as error:  # such as labels that no configuration can have
        source.findings.refuse(error, source.path)


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


def tokenize_entry(entry: Entry) -> Tokens:
    """Return the tokens of the file, or those of our own."""
    if entry.tokens is None:
        entry.tokens = tokenize(entry.passage)
    return entry.tokens


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
    """Yield the entries that a function makes, or note their refusal."""
    try:
        entries = list(make_entries(make))
    except (ValueError, BadFile) as error:
        where = {name: value for name, value in location.items() if name != "path"}
        source.findings.refuse(error, location.get("path", source.path), **where)
        return
    for entry in entries:
        entry.location = entry.location or location
        yield entry
