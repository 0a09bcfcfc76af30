"""Read and write JSON lines: one `ItemRecord` a line, without loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from annotation.formats.checks import check_record
from annotation.formats.report import Report
from annotation.formats.texts import tokenize
from annotation.formats.writing import written
from annotation.schemas import ItemRecord
from foundation.errors import BadFile
from foundation.import_fields import message_of


def read_jsonl(
    path: Path, *, report: Report | None = None, on_progress: Callable[[int], None] | None = None
) -> Iterator[ItemRecord]:
    """Yield the items of a file in order.

    Only one line is in memory at a time, and the IDs. A passage without tokens is tokenized.

    Args:
        path: The file.
        report: Collects what is refused.
        on_progress: Called with the number of bytes read so far.

    Raises:
        BadFile: Names file, line and field of the first error, also for a repeated ID.
    """
    report = report if report is not None else Report()
    seen: dict[str, int] = {}
    read = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                read += len(line)
                if line.strip():
                    try:
                        record = _record(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                        first = seen.setdefault(record.external_id, number)
                        if first != number:
                            raise ValueError(f"external_id: {record.external_id!r} is that of line {first}")
                    except ValueError as error:
                        report.refuse(BadFile(path, message_of(error), line=number))
                    else:
                        yield record
                if on_progress is not None and number % 256 == 0:
                    on_progress(read)
    except OSError as error:
        raise BadFile(path, error.strerror or str(error)) from error
    if not seen and not report.refused:
        raise BadFile(path, "holds no items")


def _record(line: bytes) -> ItemRecord:
    record = ItemRecord.model_validate_json(line)
    if record.passage and not record.tokens:
        record = record.model_copy(update={"tokens": tokenize(record.passage)})
    return check_record(record)


def write_jsonl(records: Iterable[ItemRecord], path: Path) -> None:
    """Write one item a line, without fields that have their default value."""
    with written(path) as file:
        for record in records:
            file.write(record.model_dump_json(exclude_defaults=True).encode())
            file.write(b"\n")
