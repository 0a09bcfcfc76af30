"""doccano's and Prodigy's JSON lines, and ERASER's rationales."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from annotation.content.schemas import AnnotationRecord, Box, Document, ItemRecord, Polygon, Span
from annotation.formats.jsonl import read_objects
from annotation.formats.labelled.documents import (
    list_answers,
    list_boxes,
    list_classes,
    list_labellings,
    list_spans,
    require_item_image_size,
    require_kind,
)
from annotation.formats.labelled.entries import (
    CLASS,
    ENTITIES,
    NO_LABEL,
    OBJECTS,
    RELATIONS,
    UNSHOWN_FIELD,
    Entry,
    Labelling,
    build_entry_span,
    list_files,
    make_entries_or_refuse,
)
from annotation.formats.labelled.mark_positions import (
    OTHER_SHAPES,
    build_box_from_pixels,
    build_polygon,
    find_image,
    require_image_size,
)
from annotation.formats.source import Source
from annotation.formats.writing import encode_json, write_file, write_folder
from foundation.errors import BadFile
from foundation.imports.text_files import open_text
from foundation.messages import field_error, say

UNDECIDED_LINE = "line that its annotator rejected or ignored, kept without its labels"
EVIDENCE_ELSEWHERE = "evidence in a document that the item does not show, left out"
PASSAGE_KEYS = ("text", "data")

Line = dict[str, Any]


def _read_each(source: Source, make: Callable[[Source, Line], Entry]) -> Iterator[Entry]:
    for path in list_files(source, ".jsonl", ".json"):
        for number, line in read_objects(path, source):
            yield from make_entries_or_refuse(
                source, {"path": path, "line": number}, partial(_make_line_entry, make, source, line)
            )


def _make_line_entry(make: Callable[[Source, Line], Entry], source: Source, line: Line) -> list[Entry]:
    return [make(source, line)]


def _hash_content(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:16]


def _find_text(line: Line, keys: Iterable[str]) -> str:
    for key in keys:
        if isinstance(line.get(key), str) and line[key].strip():
            return str(line[key])
    raise field_error("text", "is missing or empty; this project annotates texts")


def _keep(source: Source, entry: Entry, line: Line, taken: set[str]) -> None:
    """Keep the fields that items have no place for, and say so."""
    rest = {name: value for name, value in line.items() if name not in taken and not name.startswith("_")}
    for name in rest:
        source.findings.note_repair(UNSHOWN_FIELD, name)
    entry.extra = {"fields": rest} if rest else {}


def read_doccano(source: Source) -> Iterator[Entry]:
    """Yield the lines of a doccano export of texts or images."""
    return _read_each(source, _read_doccano_entry)


def _read_doccano_entry(source: Source, line: Line) -> Entry:
    picture = line.get("filename") or line.get("image")
    passage = "" if picture else _find_text(line, PASSAGE_KEYS)
    images = (find_image(source, str(picture)),) if picture else ()
    entry = Entry(str(line.get("id", _hash_content(passage, picture))), passage=passage, images=images)
    _keep(
        source,
        entry,
        line,
        {
            "id",
            "text",
            "data",
            "filename",
            "image",
            "label",
            "labels",
            "entities",
            "cats",
            "relations",
            "Comments",
        },
    )
    gold = Labelling()
    given = [name for name in ("label", "labels", "entities", "cats") if name in line]
    for name in given:
        value = line[name] if isinstance(line[name], list) else [line[name]]
        for annotation in value:
            if isinstance(annotation, str):
                gold.answers.append((CLASS, "choice", annotation))
            elif (isinstance(annotation, dict) and "bbox" in annotation) or picture:
                source.findings.note_repair(OTHER_SHAPES, entry.external_id)
            else:
                start, end, label = (
                    (annotation["start_offset"], annotation["end_offset"], annotation["label"])
                    if isinstance(annotation, dict)
                    else annotation
                )
                gold.marks.append(
                    (ENTITIES, build_entry_span(entry, start, end, str(label), source.findings))
                )
    if line.get("relations"):
        source.findings.note_repair(RELATIONS, entry.external_id, len(line["relations"]))
    entry.labellings = (
        [gold]
        if given and (gold.marks or gold.answers or "entities" in given or line[given[0]] == [])
        else []
    )
    return entry


def write_doccano(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold of each item; doccano's files name no authors."""
    with write_file(path) as file:
        for record in records:
            require_kind(record, "spans", "doccano")
            line: Line = {"id": record.external_id, "text": record.passage}
            chosen, drawn = list_classes(record, record.gold), list(list_spans(record, record.gold))
            marks = [[*span.span, span.label] for _layer, span in drawn]
            if record.gold is not None and marks and chosen:
                line["entities"] = [
                    {
                        "id": index,
                        "label": span.label,
                        "start_offset": span.span[0],
                        "end_offset": span.span[1],
                    }
                    for index, (_layer, span) in enumerate(drawn)
                ]
                line["cats"] = chosen
            elif record.gold is not None:
                line["label"] = marks or chosen
            file.write(encode_json({**record.extra.get("fields", {}), **line}) + b"\n")


def read_prodigy(source: Source) -> Iterator[Entry]:
    """Yield the tasks of a Prodigy dataset, with the answers of all people.

    The lines of one task may stand anywhere, so the file is held in memory.
    """
    entries: dict[str, Entry] = {}
    for path in list_files(source, ".jsonl"):
        for number, line in read_objects(path, source):
            location = {"path": path, "line": number}
            for entry in make_entries_or_refuse(
                source, location, partial(_make_line_entry, _read_prodigy_entry, source, line)
            ):
                labelling = entry.labellings
                first = entries.setdefault(entry.external_id, entry)
                if first is not entry:
                    first.labellings += labelling
    yield from entries.values()


def _read_prodigy_entry(source: Source, line: Line) -> Entry:
    picture = line.get("path") or line.get("image")
    passage = "" if picture else _find_text(line, PASSAGE_KEYS)
    images = (find_image(source, str(picture), line.get("width"), line.get("height")),) if picture else ()
    name = line.get("id", line.get("_input_hash", _hash_content(passage, picture)))
    title = str(line.get("title") or (line.get("text") or "" if picture else ""))
    entry = Entry(str(name), title=title, passage=passage, images=images)
    taken = {
        "id",
        "title",
        "text",
        "path",
        "image",
        "width",
        "height",
        "spans",
        "tokens",
        "label",
        "options",
        "accept",
        "answer",
        "relations",
        "ratings",
        "texts",
    }
    _keep(source, entry, line, taken)
    if isinstance(line.get("tokens"), list) and line["tokens"]:
        entry.tokens = tuple((token["start"], token["end"]) for token in line["tokens"])
    if line.get("answer", "accept") != "accept":
        source.findings.note_repair(UNDECIDED_LINE, entry.external_id)
        return entry
    author = line.get("_annotator_id") or line.get("_session_id")
    labelling = Labelling(annotator=str(author) if author else None)
    for span in line.get("spans") or []:
        _take_prodigy(source, entry, labelling, span)
    names = {str(option["id"]): str(option.get("text", option["id"])) for option in line.get("options") or []}
    for chosen in line.get("accept") or (
        [line["label"]] if line.get("label") and not line.get("spans") else []
    ):
        labelling.answers.append((CLASS, "choice", names.get(str(chosen), str(chosen))))
    if line.get("relations"):
        source.findings.note_repair(RELATIONS, entry.external_id, len(line["relations"]))
    if {"spans", "accept", "label"} & line.keys():
        entry.labellings = [labelling]
    return entry


def _take_prodigy(source: Source, entry: Entry, labelling: Labelling, mark: Line) -> None:
    label = str(mark.get("label") or "")
    if not label:
        source.findings.note_repair(NO_LABEL, entry.external_id)
    elif not entry.images:
        span = build_entry_span(
            entry, mark["start"], mark["end"], label, source.findings, quote=mark.get("text")
        )
        labelling.marks.append((ENTITIES, span))
    elif mark.get("type") in ("polygon", "freehand"):
        width, height = require_image_size(entry.images[0])
        corners = [(x / width, y / height) for x, y in mark["points"]]
        polygon = build_polygon(corners, label, source.findings, entry.external_id)
        labelling.marks += [(OBJECTS, polygon)] if polygon else []
    elif mark.get("type", "rect") != "rect" or not {"x", "y", "width", "height"} <= mark.keys():
        source.findings.note_repair(OTHER_SHAPES, entry.external_id)
    else:
        edges = (mark["x"], mark["y"], mark["x"] + mark["width"], mark["y"] + mark["height"])
        box = build_box_from_pixels(edges, label, entry.images[0], source.findings, entry.external_id)
        if box is not None:
            labelling.marks.append((OBJECTS, box))


def write_prodigy(records: Iterable[ItemRecord], path: Path) -> None:
    """Write a line for the gold and for each annotation of an item."""
    with write_file(path) as file:
        for record in records:
            sources: list[tuple[AnnotationRecord | None, Document | None]] = list(list_labellings(record))
            for author, document in sources or [(None, None)]:
                file.write(encode_json(_build_prodigy_line(record, author, document)) + b"\n")


def _build_prodigy_line(
    record: ItemRecord, author: AnnotationRecord | None, document: Document | None
) -> Line:
    line: Line = {**record.extra.get("fields", {}), "id": record.external_id}
    line |= {"title": record.text} if record.text else {}
    if record.kind == "spans":
        line["text"] = record.passage
        line["tokens"] = [
            {"text": record.passage[start:end], "start": start, "end": end, "id": index}
            for index, (start, end) in enumerate(record.tokens)
        ]
    else:
        if len(record.images) != 1:
            raise field_error(record.external_id, "Prodigy files hold items of one image only")
        line["image"] = record.images[0].name
        line |= {
            name: size
            for name, size in zip(
                ("width", "height"), (record.images[0].width, record.images[0].height), strict=True
            )
            if size
        }
    line["_input_hash"] = zlib.crc32(record.external_id.encode())
    if document is None:
        return line
    line["answer"] = "accept"
    line |= {"_annotator_id": author.annotator, "_session_id": author.annotator} if author else {}
    line["spans"] = [_build_prodigy_span(span) for _layer, span in list_spans(record, document)]
    line["spans"] += [_build_prodigy_box(record, box) for _layer, box in list_boxes(record, document)]
    if chosen := list_classes(record, document):
        options = [name for layer, _values in list_answers(record, document) for name in layer.names]
        line |= {"options": [{"id": name, "text": name} for name in options], "accept": chosen}
    return line


def _build_prodigy_span(span: Span) -> Line:
    (start, end), (first, beyond) = span.span, span.tokens
    return {"start": start, "end": end, "token_start": first, "token_end": beyond - 1, "label": span.label}


def _build_prodigy_box(record: ItemRecord, box: Box) -> Line:
    width, height = require_item_image_size(record, box.image)
    if isinstance(box, Polygon):
        corners = [[x * width, y * height] for x, y in box.polygon]
        return {"type": "polygon", "label": box.label, "points": corners}
    left, top, right, bottom = box.box
    x, y, wide, high = left * width, top * height, (right - left) * width, (bottom - top) * height
    points = [[x, y], [x, y + high], [x + wide, y + high], [x + wide, y]]
    return {
        "type": "rect",
        "label": box.label,
        "x": x,
        "y": y,
        "width": wide,
        "height": high,
        "points": points,
    }


def read_eraser(source: Source) -> Iterator[Entry]:
    """Yield the annotations of an ERASER folder: ``.jsonl`` and ``docs``.

    Raises:
        BadFile: There is no folder of documents.
    """
    folder = source.path / "docs"
    if source.path.is_dir():
        folder = next(
            (candidate for candidate in sorted(source.path.rglob("docs")) if candidate.is_dir()), folder
        )
    if not folder.is_dir():
        text = "has no folder docs; ERASER's annotations and documents belong into one folder or zip file"
        raise BadFile(source.path, say(text))
    texts = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for path in list_files(source, ".jsonl"):
        for number, line in read_objects(path, source):
            make = partial(_read_eraser_entry, texts)
            yield from make_entries_or_refuse(
                source, {"path": path, "line": number}, partial(_make_line_entry, make, source, line)
            )


def _read_eraser_entry(texts: dict[str, Path], source: Source, line: Line) -> Entry:
    evidences = [evidence for group in line.get("evidences") or [] for evidence in group]
    named = [
        *(line.get("docids") or []),
        *(evidence["docid"] for evidence in evidences),
        line["annotation_id"],
    ]
    document = str(named[0])
    path = texts.get(document) or texts.get(f"{document}.txt")
    if path is None:
        raise field_error("docids", "there is no document docs/%(name)s", name=document)
    with open_text(path, newline="") as file:
        passage = file.read()
    entry = Entry(str(line["annotation_id"]), title=str(line.get("query") or ""), passage=passage)
    entry.tokens = tuple(match.span() for match in re.finditer(r"\S+", passage))
    gold = Labelling()
    for evidence in evidences:
        first, beyond = evidence["start_token"], evidence["end_token"]
        if str(evidence["docid"]) != document:
            source.findings.note_repair(EVIDENCE_ELSEWHERE, entry.external_id)
        elif not 0 <= first < beyond <= len(entry.tokens):
            text = "%(first)s to %(beyond)s is outside the document of %(number)s tokens"
            numbers = {"first": first, "beyond": beyond, "number": len(entry.tokens)}
            raise field_error("evidences", text, **numbers)
        else:
            start, end = entry.tokens[first][0], entry.tokens[beyond - 1][1]
            label = str(evidence.get("label") or "Evidence")
            gold.marks.append(("Rationale", build_entry_span(entry, start, end, label, source.findings)))
    if line.get("classification"):
        gold.answers.append((CLASS, "choice", str(line["classification"])))
    if gold.marks or gold.answers:
        entry.labellings = [gold]
    return entry


def write_eraser(records: Iterable[ItemRecord], path: Path) -> None:
    """Write ``annotations.jsonl`` with the gold, and documents in ``docs``."""
    with write_folder(path) as folder, (folder / "annotations.jsonl").open("wb") as file:
        (folder / "docs").mkdir()
        for record in records:
            require_kind(record, "spans", "ERASER")
            name = _hash_content(record.external_id)
            (folder / "docs" / name).write_bytes(_join_tokens(record).encode())
            evidences = [
                [_build_evidence(record, name, span)] for _layer, span in list_spans(record, record.gold)
            ]
            chosen = list_classes(record, record.gold)
            line = {
                "annotation_id": record.external_id,
                "docids": [name],
                "query": record.text,
                "evidences": evidences,
            }
            file.write(encode_json(line | ({"classification": chosen[0]} if chosen else {})) + b"\n")


def _build_evidence(record: ItemRecord, document: str, span: Span) -> Line:
    first, beyond = span.tokens
    words = [record.passage[start:end] for start, end in record.tokens[first:beyond]]
    return {
        "docid": document,
        "start_token": first,
        "end_token": beyond,
        "start_sentence": -1,
        "end_sentence": -1,
        "text": " ".join(words),
        "label": span.label,
    }


def _join_tokens(record: ItemRecord) -> str:
    """Return the passage with a space between tokens, or its line break."""
    parts: list[str] = []
    before = 0
    for start, end in record.tokens:
        between = record.passage[before:start]
        parts.append(("\n" if "\n" in between else " ") if parts else "")
        parts.append(record.passage[start:end])
        before = end
    return "".join(parts)
