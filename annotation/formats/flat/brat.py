"""Write brat standoff files: a folder for the gold and for each person.

Each item has a text and an annotation file. Offsets are code points, end exclusive. A span over line ends
is written as its parts, as brat asks; links and choices are relations, reasons are notes. States, values,
times and revisions, which standoff files cannot hold, are in ``annotations.jsonl``, a line for each item and
person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.content.schemas import Chosen, ItemRecord, Span
from annotation.formats.flat.statements import Source, dump_without_objects, list_sources, list_statements
from annotation.formats.writing import encode_json, quote_file_name, write_folder
from foundation.messages import field_error

GOLD = "gold"
_LINE = re.compile(
    r"[^\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+"
)  # every character that readers may take for a line end


def write_brat(records: Iterable[ItemRecord], path: Path) -> None:
    """Write folders of ``.txt`` and ``.ann`` files and a configuration.

    The folders below ``path`` are ``gold`` and ``by-ANNOTATOR``.

    Raises:
        ValueError: An item has no passage.
        FileExistsError: The folder is not empty.
    """
    types: set[str] = set()
    with write_folder(path) as folder, (folder / "annotations.jsonl").open("wb") as annotations:
        for record in records:
            if record.kind != "spans":
                raise field_error(record.external_id, "brat files hold spans in passages only")
            name = quote_file_name(record.external_id)
            for source in list_sources(record):
                inner = folder / (f"by-{quote_file_name(source.annotator)}" if source.annotation else GOLD)
                inner.mkdir(exist_ok=True)
                if (inner / f"{name}.txt").exists():
                    who = source.annotator or "the gold"
                    raise field_error(record.external_id, "has two annotations by %(who)s", who=who)
                # Bytes, so that line ends stay as they are: offsets count them.
                (inner / f"{name}.txt").write_bytes(record.passage.encode())
                lines = list(_format_lines(record, source, types))
                text = "".join(f"{line}\n" for line in lines)
                (inner / f"{name}.ann").write_bytes(text.encode())
                annotations.write(encode_json(_build_annotation(record, source)) + b"\n")
        (folder / "annotation.conf").write_bytes(_format_configuration(sorted(types)).encode())


def _format_lines(record: ItemRecord, source: Source, types: set[str]) -> Iterator[str]:
    """Yield spans (T), relations (R) and notes (#) of one document."""
    names: dict[str, str] = {}
    related: list[tuple[str, str, str]] = []
    notes: list[tuple[str, str]] = []
    for number, statement in enumerate(list_statements(record, source.document), start=1):
        drawn, name = statement.object, f"T{number}"
        assert isinstance(statement.shape, Span)
        names[drawn.id] = name
        kind = f"m{statement.node.index}-{statement.node.module}"
        types.add(kind)
        yield f"{name}\t{kind} {format_offsets_and_text(record.passage, statement.shape)}"
        if isinstance(drawn, Chosen):
            related.append(("chosen", drawn.id, drawn.ref))
        else:
            related.extend(("link", drawn.id, other) for other in drawn.links)
            if drawn.reason:
                notes.append((name, f"reason: {drawn.reason}"))
    for number, (kind, one_id, other) in enumerate(related, start=1):
        yield f"R{number}\t{kind} Arg1:{names[one_id]} Arg2:{names[other]}"
    for number, (name, note) in enumerate(notes, start=1):
        yield f"#{number}\tAnnotatorNotes {name}\t{' '.join(note.split())}"


def format_offsets_and_text(passage: str, span: Span) -> str:
    """Return ``start end`` of each line's part, and the text on one line."""
    start, end = span.span
    parts = [(line.start() + start, line.end() + start) for line in _LINE.finditer(passage[start:end])]
    text = " ".join(passage[first:last] for first, last in parts)
    offsets = ";".join(f"{first} {last}" for first, last in parts)
    return f"{offsets}\t{text.replace(chr(9), ' ')}"


def _build_annotation(record: ItemRecord, source: Source) -> dict[str, Any]:
    annotation = source.annotation
    about = {} if annotation is None else annotation.model_dump(mode="json", exclude={"document"})
    return {
        "item": record.external_id,
        "gold": annotation is None,
        **about,
        **dump_without_objects(source.document),
    }


def _format_configuration(types: list[str]) -> str:
    """Return brat's configuration."""
    entities = "".join(f"{kind}\n" for kind in types)
    relations = "".join(f"{kind}\tArg1:<ENTITY>, Arg2:<ENTITY>\n" for kind in ("chosen", "link"))
    return f"[entities]\n{entities}\n[relations]\n{relations}\n[events]\n\n[attributes]\n"
