"""brat's standoff files, in and out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from annotation.content.labels import LabelLayer
from annotation.content.schemas import Document, ItemRecord, Span
from annotation.formats.flat.brat import format_offsets_and_text
from annotation.formats.labelled.documents import (
    list_labellings,
    list_mark_answers,
    list_relations,
    list_spans,
    require_kind,
)
from annotation.formats.labelled.entries import (
    ATTRIBUTES,
    ENTITIES,
    RELATED,
    AboutMark,
    Entry,
    Labelling,
    Related,
    build_entry_span,
    list_files,
    make_entries_or_refuse,
    parse_stated_answer,
)
from annotation.formats.source import Source
from annotation.formats.writing import quote_file_name, write_folder
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.json_stream import read_document
from foundation.imports.text_files import open_text
from foundation.messages import say, value_error

TYPES = "types.json"  # the layer and label of each type that we wrote, because types have letters only
ATTRIBUTE_TYPES = "attributes.json"  # likewise question, its type and the answer, of attributes and notes
SPLIT_SPAN = "span in several parts, replaced by the stretch around them"
GOLD, BY = "gold", "by-"
Meanings = dict[str, tuple[str, ...]]  # what each name in our files stands for
_MARK = re.compile(r"(T\S*)\t(\S+) ([\d; ]+)(?:\t(.*))?")
_RELATION = re.compile(r"R\S*\t(\S+) [^\s:]+:(\S+) [^\s:]+:(\S+)")
_ATTRIBUTE = re.compile(r"[AM]\S*\t(\S+) (T\S+)(?: (\S+))?")
_NOTE = re.compile(r"#\S*\t(\S+) (T\S+)\t(.*)")
_JOINED = re.compile(r"\*\t(\S+)((?: T\S+){2,})")


def read_brat(source: Source) -> Iterator[Entry]:
    """Yield the texts of brat folders with their ``.ann`` files.

    Files in folders ``by-NAME`` beside ``gold`` are people's annotations of the same texts.
    """
    if not source.path.is_dir():
        raise BadFile(source.path, say("brat needs its .txt and .ann files in one folder or zip file"))
    types = {name: (layer, label) for name, (layer, label) in _read_meanings(source, TYPES, 2).items()}
    attributes = _read_meanings(source, ATTRIBUTE_TYPES, 3)
    groups: dict[str, list[Path]] = {}
    for path in list_files(source, ".txt"):
        folder = path.parent.name
        key = (
            path.stem
            if folder == GOLD or folder.startswith(BY)
            else path.relative_to(source.path).with_suffix("").as_posix()
        )
        groups.setdefault(key, []).append(path)
    for key, paths in groups.items():
        yield from make_entries_or_refuse(
            source, {"path": paths[0]}, partial(_read_brat_entry, source, key, paths, types, attributes)
        )


def _read_meanings(source: Source, name: str, length: int) -> Meanings:
    """Return what the names in the files mean, from a file that we wrote."""
    for path in source.path.rglob(name):
        value = read_document(path).value
        if isinstance(value, dict) and all(
            isinstance(meaning, list) and len(meaning) == length for meaning in value.values()
        ):
            return {name: tuple(map(str, meaning)) for name, meaning in value.items()}
        raise BadFile(path, say("is not a list of %(length)s texts for each name", length=length))
    return {}


def _read_brat_entry(
    source: Source,
    key: str,
    paths: list[Path],
    types: dict[str, tuple[str, str]],
    attributes: Meanings,
) -> list[Entry]:
    with open_text(paths[0], newline="") as file:
        entry = Entry(unquote(key), passage=file.read())
    for path in paths:
        folder = path.parent.name
        author = unquote(folder.removeprefix(BY)) if folder.startswith(BY) else None
        marks = path.with_suffix(".ann")
        if marks.is_file():
            entry.labellings.append(_read_standoff(source, entry, marks, author, types, attributes))
    return [entry]


def _read_standoff(
    source: Source,
    entry: Entry,
    path: Path,
    author: str | None,
    types: dict[str, tuple[str, str]],
    attributes: Meanings,
) -> Labelling:
    labelling = Labelling(annotator=author)
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            match = _MARK.fullmatch(line.rstrip("\n"))
            if not line.strip():
                continue
            if match is None and line[0] == "T":
                text = "%(line)r is not a type with the numbers of its first and last character"
                raise BadFile(path, say(text, line=line.strip()[:80]), line=number)
            if match is None:
                related = list(_parse_brat_relations(line, types))
                labelling.relations += related
                answer = _parse_brat_answer(line.rstrip("\r\n"), attributes)
                labelling.about += [answer] if answer else []
                if not related and not answer:
                    source.findings.note_repair(ATTRIBUTES, f"{path.name}:{number}")
                continue
            layer, label = types.get(match[2], (ENTITIES, match[2]))
            try:
                span = _parse_brat_span(entry, match, label, source.findings, f"{path.name}:{number}")
            except ValueError as error:
                raise BadFile(path, str(error), line=number) from error
            labelling.marks.append((layer, span))
    return labelling


def _parse_brat_span(entry: Entry, match: re.Match[str], label: str, findings: Findings, where: str) -> Span:
    parts = [[int(number) for number in part.split()] for part in match[3].split(";")]
    if any(len(part) != 2 for part in parts):
        raise value_error("each part needs the numbers of its first and last character")
    start, end = min(part[0] for part in parts), max(part[1] for part in parts)
    between = pairwise(parts)
    # brat cuts spans at line breaks; such parts are one span of ours.
    if any(entry.passage[before[1] : after[0]].strip() for before, after in between):
        findings.note_repair(SPLIT_SPAN, where)
    quoted = match[4] if len(parts) == 1 else None
    return build_entry_span(entry, start, end, label, findings, quote=quoted, name=match[1])


def _parse_brat_relations(line: str, types: dict[str, tuple[str, str]]) -> Iterator[Related]:
    """Yield the relations of a line; equal marks are related in turn."""
    if match := _RELATION.fullmatch(line.rstrip("\r\n\t ")):
        layer, label = types.get(match[1], (RELATED, match[1]))
        yield Related((match[2], match[3]), label, layer)
    elif match := _JOINED.fullmatch(line.rstrip("\r\n\t ")):
        layer, label = types.get(match[1], (RELATED, match[1]))
        for ends in pairwise(match[2].split()):
            yield Related(ends, label, layer, both=True)


def _parse_brat_answer(line: str, attributes: Meanings) -> AboutMark | None:
    """Return what an attribute or note says about a mark."""
    if match := _ATTRIBUTE.fullmatch(line.rstrip()):
        name, mark, value = match.groups()
        if meanings := attributes.get(f"{name} {value}" if value else name):
            return parse_stated_answer(mark, *meanings)
        return AboutMark(mark, name, None, value or name)
    if (match := _NOTE.fullmatch(line)) and (meanings := attributes.get(match[1])):
        return parse_stated_answer(match[2], meanings[0], meanings[1], match[3])
    return None


def write_brat(records: Iterable[ItemRecord], path: Path) -> None:
    """Write spans and relations to folders ``gold`` and ``by-ANNOTATOR``."""
    types: Meanings = {}
    attributes: Meanings = {}
    joining: dict[str, None] = {}  # the types of relations
    with write_folder(path) as folder:
        for record in records:
            require_kind(record, "spans", "brat")
            name = quote_file_name(record.external_id)
            for author, document in list_labellings(record):
                inner = folder / (f"{BY}{quote_file_name(author.annotator)}" if author else GOLD)
                inner.mkdir(exist_ok=True)
                # Bytes, so that line ends stay as they are: offsets count them.
                (inner / f"{name}.txt").write_bytes(record.passage.encode())
                lines = _format_brat_lines(record, document, types, attributes, joining)
                (inner / f"{name}.ann").write_bytes("".join(lines).encode())
        for name, meanings in ((TYPES, types), (ATTRIBUTE_TYPES, attributes)):
            (folder / name).write_text(json.dumps(meanings, ensure_ascii=False), encoding="utf-8")
        entities = "".join(f"{name}\n" for name in types if name not in joining)
        joined = "".join(f"{name}\tArg1:<ENTITY>, Arg2:<ENTITY>\n" for name in joining)
        declared = "".join(_declare_attributes(attributes))
        text = f"[entities]\n{entities}\n[relations]\n{joined}\n[events]\n\n[attributes]\n{declared}"
        (folder / "annotation.conf").write_text(text, encoding="utf-8")


def _format_brat_lines(
    record: ItemRecord, document: Document, types: Meanings, attributes: Meanings, joining: dict[str, None]
) -> Iterator[str]:
    """Yield the lines of spans, relations, and attributes and notes."""
    marked = list(list_spans(record, document))
    for number, (layer, span) in enumerate(marked, start=1):
        yield _format_span_line(record, number, layer.name, span, types)
    names = {span.id: f"T{number}" for number, (_layer, span) in enumerate(marked, start=1)}
    for number, (layer, relation) in enumerate(list_relations(record, document), start=1):
        kind = _assign_brat_type(layer.name, relation.label, types)
        joining.setdefault(kind)
        first, second = (names[end] for end in relation.ends)
        yield (
            f"R{number}\t{kind} Arg1:{first} Arg2:{second}\n"
            if layer.directed
            else f"*\t{kind} {first} {second}\n"
        )
    about = (
        (span, *given) for layer, span in marked for given in _list_brat_attributes(layer, span, attributes)
    )
    for number, (span, key, text) in enumerate(about, start=1):
        kind, *value = key.split(" ")
        about_mark = " ".join([kind, names[span.id], *value])
        yield f"A{number}\t{about_mark}\n" if text is None else f"#{number}\t{about_mark}\t{text}\n"


def _declare_attributes(attributes: Meanings) -> Iterator[str]:
    """Yield the lines of the configuration: attributes and their values."""
    valued: dict[str, list[str]] = {}
    for key, (_question, kind, _value) in attributes.items():
        if kind != "text":
            name, *value = key.split(" ")
            valued.setdefault(name, []).extend(value)
    for name, values in valued.items():
        yield f"{name}\tArg:<ENTITY>{', Value:' if values else ''}{'|'.join(values)}\n"


def _list_brat_attributes(
    layer: LabelLayer, span: Span, attributes: Meanings
) -> Iterator[tuple[str, str | None]]:
    """Yield the name and value of each attribute; of a note, name and text."""
    for question, values in list_mark_answers(layer, span):
        name = _clean_name(question.name)
        for value in map(str, values):
            if question.type == "text":
                meaning = (question.name, "text", "")
                yield _assign_brat_key(name, meaning, attributes), re.sub(r"\s+", " ", value)
            else:
                joint = "_" if question.type == "choices" else " "
                meaning = (question.name, question.type, value)
                yield _assign_brat_key(f"{name}{joint}{_clean_name(value)}", meaning, attributes), None


def _format_span_line(record: ItemRecord, number: int, layer: str, span: Span, types: Meanings) -> str:
    label = _assign_brat_type(layer, span.label, types)
    return f"T{number}\t{label} {format_offsets_and_text(record.passage, span)}\n"


def _assign_brat_type(layer: str, label: str, types: Meanings) -> str:
    return _assign_brat_key(_clean_name(label), (layer, label), types)


def _clean_name(name: str) -> str:
    """Return a name with letters, digits, - and _ only."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _assign_brat_key(base: str, meaning: tuple[str, ...], meanings: Meanings) -> str:
    """Return the name of a meaning: the base, or it with a number."""
    key, more = base, 2
    while meanings.setdefault(key, meaning) != meaning:
        key, more = f"{base}-{more}", more + 1
    return key
