"""CoNLL's columns and WebAnno's TSV: a token a line, with its labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from annotation.content.schemas import ItemRecord
from annotation.formats.labelled.documents import list_spans, require_kind
from annotation.formats.labelled.entries import (
    ATTRIBUTES,
    ENTITIES,
    RELATIONS,
    Entry,
    Labelling,
    build_entry_span,
    list_files,
    make_entries_or_refuse,
)
from annotation.formats.source import Source
from annotation.formats.texts import find_code_point
from annotation.formats.writing import quote_file_name, write_file, write_folder
from foundation.errors import BadFile
from foundation.imports.text_files import open_text
from foundation.messages import field_error, say, value_error

TABLES = (".conll", ".tsv", ".txt", ".iob", ".bio")  # as `registry.READ_FOLDERS`
MOST_GAP = 100_000  # UTF-16 units between two sentences, which become line breaks
WEBANNO = "#FORMAT=WebAnno TSV 3"
_COMMENT = re.compile(r"# (id|text|title) = (.*)")
_TAG = re.compile(r"([BIELSU])-(.+)")
_ROW = re.compile(r"(\d+)-(\d+)(?:\.(\d+))?")
_ESCAPE = re.compile(r"\\(.)")


@dataclass
class _Sentence:
    line: int
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)


def read_conll(source: Source) -> Iterator[Entry]:
    """Yield the sentences of a file: first column words, last column tags.

    Tags are IOB1, IOB2 or BIOES. Words are joined by spaces.
    """
    for path in list_files(source, *TABLES):
        for number, sentence in enumerate(_read_sentences(source, path), start=1):
            location = {"path": path, "line": sentence.line}
            yield from make_entries_or_refuse(
                source, location, partial(_build_sentence_entry, source, path, sentence, number)
            )


def _read_sentences(source: Source, path: Path) -> Iterator[_Sentence]:
    sentence = _Sentence(1)
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            comment = _COMMENT.fullmatch(line.rstrip("\n"))
            cells = line.split("\t") if "\t" in line else line.split(" ")
            cells = [cell.strip() for cell in cells if cell.strip()]
            if comment:
                sentence.about[comment[1]] = comment[2]
            elif not cells or cells[0] == "-DOCSTART-":
                if sentence.words:
                    yield sentence
                sentence = _Sentence(number + 1, about={} if sentence.words else sentence.about)
            elif len(cells) < 2 or not (cells[-1] == "O" or _TAG.fullmatch(cells[-1])):
                text = "%(line)r does not end in a tag such as O, B-Person or I-Person"
                source.findings.refuse(value_error(text, line=line.strip()[:80]), path, line=number)
            else:
                sentence.words.append(cells[0])
                sentence.tags.append(cells[-1])
        if sentence.words:
            yield sentence


def _build_sentence_entry(source: Source, path: Path, sentence: _Sentence, number: int) -> list[Entry]:
    passage = " ".join(sentence.words)
    name = sentence.about.get("id") or (str(number) if path == source.path else f"{path.stem}-{number}")
    entry = Entry(name, title=sentence.about.get("title", ""), passage=passage)
    ends, at = [], 0
    for word in sentence.words:
        ends.append((at, at + len(word)))
        at += len(word) + 1
    entry.tokens = tuple(ends)
    gold = Labelling()
    for first, beyond, label in _find_tag_runs(sentence.tags):
        start, end = ends[first][0], ends[beyond - 1][1]
        gold.marks.append((ENTITIES, build_entry_span(entry, start, end, label, source.findings)))
    entry.labellings = [gold]
    return [entry]


def _find_tag_runs(tags: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield first token, token after the last, and label of each run of tags."""
    start, label = 0, ""
    for index, tag in enumerate([*tags, "O"]):
        match = _TAG.fullmatch(tag)
        goes_on = match is not None and match[1] in "IEL" and match[2] == label
        if label and not goes_on:
            yield start, index, label
            label = ""
        if match and not goes_on:
            start, label = index, match[2]
        if match and match[1] in "ELSU":
            yield start, index + 1, label
            label = ""


def write_conll(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold in two columns, words and IOB2 tags.

    Raises:
        ValueError: An item has spans that overlap.
    """
    with write_file(path) as file:
        for record in records:
            require_kind(record, "spans", "CoNLL")
            if record.gold is None:
                continue  # without tags it would be one in which nothing is marked
            tags = ["O"] * len(record.tokens)
            for _layer, span in list_spans(record, record.gold):
                first, beyond = span.tokens
                if any(tag != "O" for tag in tags[first:beyond]):
                    text = "has spans that overlap at “%(quote)s”, which CoNLL cannot hold; use WebAnno TSV"
                    raise field_error(record.external_id, text, quote=span.quote)
                label = re.sub(r"\s", "_", span.label)
                tags[first:beyond] = [f"B-{label}", *[f"I-{label}"] * (beyond - first - 1)]
            words = (re.sub(r"\s", "_", record.passage[start:end]) for start, end in record.tokens)
            rows = "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True))
            title = f"# title = {' '.join(record.text.split())}\n" if record.text else ""
            file.write(f"# id = {' '.join(record.external_id.split())}\n{title}{rows}\n".encode())


@dataclass
class _Feature:
    """A column of a WebAnno file that becomes a layer, or is left out."""

    layer: str
    kept: bool


@dataclass
class _Open:
    """A span of a WebAnno file, which may go on in the next rows."""

    layer: str
    label: str
    start: int
    end: int


def read_webanno(source: Source) -> Iterator[Entry]:
    """Yield the documents of WebAnno TSV 3 files, as INCEpTION exports them."""
    for path in list_files(source, ".tsv"):
        yield from make_entries_or_refuse(source, {"path": path}, partial(_read_webanno_entry, source, path))


def _read_webanno_entry(source: Source, path: Path) -> list[Entry]:
    with open_text(path, newline="\n") as file:
        lines = file.read().split("\n")
    if not lines[0].startswith(WEBANNO):
        raise BadFile(path, say("is not WebAnno TSV 3; export that version"), line=1)
    features = _parse_features(source, path, lines)
    tokens: list[tuple[int, int]] = []
    texts: list[tuple[int, str]] = []
    pending: list[str] = []
    marked: dict[tuple[str, str], _Open] = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith("#Text="):
            pending.append(_unescape_text(line.removeprefix("#Text=").rstrip("\r")))
        if line.startswith("#") or not line.strip():
            continue
        cells = line.rstrip("\r").split("\t")
        match, offsets = (
            _ROW.fullmatch(cells[0]),
            re.fullmatch(r"(\d+)-(\d+)", cells[1] if len(cells) > 1 else ""),
        )
        if match is None or offsets is None or len(cells) < 3 + len(features):
            raise BadFile(
                path, say("has another number of columns than the layers above ask for"), line=number
            )
        start, end = int(offsets[1]), int(offsets[2])
        if pending:
            texts.append((start, "\n".join(pending)))
            pending = []
        if match[3] is None:
            tokens.append((start, end))
        _take_row(marked, features, cells, start, end)
    passage = _join_sentences(path, texts)
    entry = Entry(path.stem, passage=passage)
    entry.tokens = tuple(
        (find_code_point(passage, start), find_code_point(passage, end)) for start, end in tokens
    )
    gold = Labelling()
    for mark in marked.values():
        start, end = find_code_point(passage, mark.start), find_code_point(passage, mark.end)
        gold.marks.append((mark.layer, build_entry_span(entry, start, end, mark.label, source.findings)))
    entry.labellings = [gold]
    return [entry]


def _parse_features(source: Source, path: Path, lines: list[str]) -> list[_Feature]:
    """Return the columns after the tokens, by the lines before the first text."""
    features: list[_Feature] = []
    for line in lines:
        if line.startswith("#Text="):
            break
        if match := re.fullmatch(r"#T_(SP|RL|CH)=([^|]+)(?:\|(.*))?\r?", line):
            names = match[3].split("|") if match[3] else [""]
            label = names.index("value") if "value" in names else 0
            layer = match[2].rsplit(".", 1)[-1]
            features += [_Feature(layer, match[1] == "SP" and index == label) for index in range(len(names))]
            if match[1] != "SP":
                source.findings.note_repair(RELATIONS, f"{path.name}: {layer}")
            elif len(names) > 1:
                source.findings.note_repair(ATTRIBUTES, f"{path.name}: {layer}")
    return features


def _take_row(
    marked: dict[tuple[str, str], _Open], features: list[_Feature], cells: list[str], start: int, end: int
) -> None:
    for column, feature in enumerate(features):
        cell = cells[3 + column]
        if not feature.kept or cell == "_":
            continue
        for index, part in enumerate(re.split(r"(?<!\\)\|", cell)):
            match = re.fullmatch(r"(.*?)(?<!\\)\[(\d+)\]", part)
            label = match[1] if match else part
            key = f"#{match[2]}" if match else f"{cells[0]}.{index}"
            span = marked.setdefault((feature.layer, key), _Open(feature.layer, "", start, end))
            span.label = feature.layer if label == "*" else _unescape_text(label)
            span.start, span.end = min(span.start, start), max(span.end, end)


def _join_sentences(path: Path, texts: list[tuple[int, str]]) -> str:
    """Return the text, with each sentence at its UTF-16 unit."""
    passage, units = "", 0
    for start, text in texts:
        if start < units:
            raise BadFile(path, say("has a sentence that begins before the end of the one before"))
        if start - units > MOST_GAP:
            raise BadFile(path, say("has a sentence that begins too far behind the one before"))
        passage += "\n" * (start - units) + text
        units = start + len(text.encode("utf-16-le")) // 2
    return passage


def _unescape_text(text: str) -> str:
    special = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}
    return _ESCAPE.sub(lambda match: special.get(match[1], match[1]), text)


def _escape_text(text: str) -> str:
    text = re.sub(r"([\\\[\]|_>;*])", r"\\\1", text)
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def write_webanno(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold of each item as a file of a folder."""
    with write_folder(path) as folder:
        for record in records:
            require_kind(record, "spans", "WebAnno")
            if record.gold is None:
                continue
            (folder / f"{quote_file_name(record.external_id)}.tsv").write_bytes(
                _format_webanno(record).encode()
            )


def _format_webanno(record: ItemRecord) -> str:
    marked = list(list_spans(record, record.gold))
    layers = list(dict.fromkeys(layer.name for layer, _span in marked))
    head = [f"{WEBANNO}.3"]
    head += [f"#T_SP=custom.Span{re.sub(r'[^A-Za-z0-9]', '', name)}|value" for name in layers]
    first = record.tokens[0][0] if record.tokens else 0
    text = record.passage[first:].replace("\\", "\\\\")  # a sentence begins at its first token
    for character, letter in (("\n", "n"), ("\t", "t"), ("\r", "r")):
        text = text.replace(character, f"\\{letter}")
    rows = ["", "", f"#Text={text}"]
    for index, (start, end) in enumerate(record.tokens):
        columns = []
        for name in layers:
            here = [
                f"{_escape_text(span.label)}[{number}]"
                for number, (layer, span) in enumerate(marked, start=1)
                if layer.name == name and span.tokens[0] <= index < span.tokens[1]
            ]
            columns.append("|".join(here) or "_")
        units = [len(record.passage[:at].encode("utf-16-le")) // 2 for at in (start, end)]
        word = record.passage[start:end]
        rows.append("\t".join([f"1-{index + 1}", f"{units[0]}-{units[1]}", word, *columns, ""]))
    return "\n".join([*head, *rows, ""])
