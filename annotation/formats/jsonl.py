"""Read and write JSON lines: one `ItemRecord` a line, without loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.io.errors import describe_os_error
from annotation.content.schemas import ItemRecord
from annotation.formats.checks import check_record
from annotation.formats.source import Source
from annotation.formats.texts import tokenize
from annotation.formats.writing import write_file
from foundation.errors import BadFile
from foundation.imports.json_elements import reject_repeated_keys
from foundation.imports.text_files import refuse_utf_16, say_not_utf_8
from foundation.messages import say, value_error


def read_jsonl(source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a file in order.

    Only one line is in memory at a time, and the IDs. A passage without tokens is tokenized.

    Raises:
        BadFile: Names file, line and field of the first error, also for a repeated ID.
    """
    path, findings = source.path, source.findings
    for number, line in read_lines(path, empty=say("holds no items"), on_progress=source.on_progress):
        try:
            record = _parse_record(line)
            findings.note_entry(record.external_id, path, line=number, field="external_id")
        except ValueError as error:
            findings.refuse(error, path, line=number)
        else:
            yield record


def read_lines(
    path: Path, *, empty: str, on_progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each line of a file that is not blank.

    Raises:
        BadFile: The file cannot be read, has no such line, or one that is not UTF-8.
    """
    read, some = 0, False
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                read += len(line)
                if number == 1:
                    refuse_utf_16(path, line)
                    line = line.removeprefix(b"\xef\xbb\xbf")
                line.decode()
                if line.strip():
                    some = True
                    yield number, line
                if on_progress is not None and number % 256 == 0:
                    on_progress(read)
    except OSError as error:
        raise BadFile(path, say(describe_os_error(error))) from error
    except UnicodeDecodeError as error:
        raise BadFile(path, say_not_utf_8(error), line=number) from error
    if not some:
        raise BadFile(path, empty, line=1)


def read_objects(path: Path, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and content of each line that is an object."""
    findings = source.findings
    for number, line in read_lines(path, empty=say("holds no items"), on_progress=source.on_progress):
        try:
            value = json.loads(line, object_pairs_hook=reject_repeated_keys)
            if not isinstance(value, dict):
                raise value_error("expected an object with the fields of an item")
        except json.JSONDecodeError as error:
            reason = value_error("this is not JSON: %(problem)s", problem=error.msg)
            findings.refuse(reason, path, line=number)
        except RecursionError:
            findings.refuse(value_error("is nested too deeply"), path, line=number)
        except ValueError as error:
            findings.refuse(error, path, line=number)
        else:
            yield number, value


def _parse_record(line: bytes) -> ItemRecord:
    record = ItemRecord.model_validate_json(line)
    if record.passage and not record.tokens:
        record = record.model_copy(update={"tokens": tokenize(record.passage)})
    return check_record(record)


def write_jsonl(records: Iterable[ItemRecord], path: Path) -> None:
    """Write one item a line, without fields that have their default value."""
    with write_file(path) as file:
        for record in records:
            file.write(record.model_dump_json(exclude_defaults=True).encode())
            file.write(b"\n")
