"""Read the items of plain tasks: JSON lines, CSV, Parquet or Arrow."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from annotation.content.schemas import Image, ItemRecord, Plain
from annotation.formats.checks import check_record
from annotation.formats.jsonl import read_objects
from annotation.formats.source import Source
from annotation.formats.texts import tokenize
from foundation.errors import BadFile
from foundation.imports.dataset_rows import has_rows, read_rows
from foundation.imports.text_files import open_text
from foundation.messages import field_error, say, value_error

FIELDS = ("id", "title", "text", "image")
CONTENT_COLUMNS = {"text", "image"}  # columns of a table, at least one of them
SEPARATORS = {",": "", ";": say("semicolons"), "\t": say("tabs")}  # some spreadsheets write no commas
UNSHOWN_FIELD = "field that annotators do not see, kept for the export"
BINARY_COLUMN = "column of bytes, left out"
ID_CHARACTERS = 16  # of the hash of the content, for items without an id


class _Entry(BaseModel):
    """An item as it stands in a file, with other fields for the export."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: Plain | int = ""
    title: Plain = ""
    text: Plain = ""
    images: Plain | list[Plain] = Field(default=[], validation_alias=AliasChoices("images", "image"))

    @field_validator("id", mode="before")
    @classmethod
    def _check_id(cls, given: object) -> object:
        """Refuse a truth value, which would become the number 1 or 0."""
        if isinstance(given, bool):
            raise value_error("must be a number or text")
        return given

    @property
    def names(self) -> list[str]:
        """The names of the images; an empty cell of a table is none."""
        names = [self.images] if isinstance(self.images, str) else self.images
        return [name for name in names if name]


def read_plain(source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a file in order.

    A file that ends in .csv is a table with a line of names. Parquet and Arrow files, and folders of
    datasets that the Hugging Face library saved, have a row for each item; any other has a JSON object in
    each line. An item has a ``text`` or an ``image`` (or ``images``), and may have an ``id`` and a ``title``;
    one without an id gets one from its content.

    Raises:
        BadFile: Names file, line and field of the first error, or there is no plain task.
    """
    path, findings = source.path, source.findings
    if not source.task:
        text = "needs a project with a label configuration; create one, and upload the file there"
        raise BadFile(path, say(text))
    for number, given in _read_source_rows(source):
        try:
            entry = _Entry.model_validate(given)
            for name in entry.model_extra or ():
                findings.note_repair(UNSHOWN_FIELD, name)
            record = check_record(_build_record(entry, source))
            findings.note_entry(record.external_id, path, line=number, field="id")
        except ValueError as error:
            findings.refuse(error, path, line=number)
        else:
            yield record


def _read_source_rows(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    if has_rows(source.path):
        return _read_dataset(source)
    if source.path.suffix.lower() == ".csv":
        return _read_table(source.path)
    return read_objects(source.path, source)


def _read_dataset(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a dataset; empty cells and columns of bytes go."""
    path, findings = source.path, source.findings
    for row in read_rows(path, on_progress=source.on_progress):
        binary = {name for name, value in row.value.items() if _has_bytes(value)}
        if binary & {"image", "images"}:
            text = "holds the images themselves; pack them into a zip file, and name them here"
            findings.refuse(field_error("image", text), path, line=row.line)
            continue
        for name in binary:
            findings.note_repair(BINARY_COLUMN, name)
        given = json.loads(row.text)
        yield (
            row.line,
            {name: value for name, value in given.items() if name not in binary and value is not None},
        )


def _has_bytes(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_bytes, value.values()))
    return any(map(_has_bytes, value)) if isinstance(value, list) else isinstance(value, bytes)


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a table by the names of its first line."""
    with open_text(path, newline="") as file:
        first_line = file.readline()
        rows = csv.DictReader(chain([first_line], file), strict=True)
        try:
            if separator := _find_other_separator(first_line):
                text = "the columns are separated by %(separator)s; separate them by commas"
                raise BadFile(path, say(text, separator=separator), line=1)
            names = rows.fieldnames or []
            if not CONTENT_COLUMNS & set(names):
                raise BadFile(path, say("the first line names no column text or image; add it"), line=1)
            if twice := next((name for name in names if name and names.count(name) > 1), None):
                text = "the first line names the column %(name)r twice"
                raise BadFile(path, say(text, name=twice), line=1)
            for row in rows:
                if None in row or None in row.values():
                    text = "has another number of columns than the first line, which has %(count)s"
                    raise BadFile(path, say(text, count=len(names)), line=rows.line_num)
                yield rows.line_num, {name: value for name, value in row.items() if value or name in FIELDS}
        except csv.Error as error:
            problem = say("this is not CSV: %(problem)s", problem=str(error))
            raise BadFile(path, problem, line=rows.line_num + 1) from error


def _find_other_separator(first_line: str) -> str:
    """Return what separates the columns in place of commas; "" if nothing."""
    separators = (
        name
        for sign, name in SEPARATORS.items()
        if CONTENT_COLUMNS & set(*csv.reader([first_line], delimiter=sign))
    )
    return next(separators, "")


def _build_record(entry: _Entry, source: Source) -> ItemRecord:
    """Return the item of an entry.

    Raises:
        ValueError: Names the field that is missing or too much.
    """
    names, kind, folder = entry.names, source.kind, source.images
    if kind == "spans" and not entry.text.strip():
        raise field_error("text", "is missing or empty; this project annotates texts")
    if kind == "spans" and names:
        text = "this project annotates texts; remove the image, or use a project for images"
        raise field_error("image", text)
    if kind == "boxes" and not names:
        raise field_error("image", "is missing; this project annotates images")
    shown = [entry.title, entry.text if kind == "boxes" else ""]
    return ItemRecord(
        external_id=str(entry.id) or _compute_id(entry),
        kind=kind,
        program=source.task,
        text=" – ".join(part for part in shown if part),
        passage=entry.text if kind == "spans" else "",
        tokens=tokenize(entry.text) if kind == "spans" else (),
        images=tuple(Image(name=name) if folder is None else folder.find(name) for name in names),
        extra={"fields": entry.model_extra} if entry.model_extra else {},
    )


def _compute_id(entry: _Entry) -> str:
    content = json.dumps([entry.title, entry.text, entry.names], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:ID_CHARACTERS]
