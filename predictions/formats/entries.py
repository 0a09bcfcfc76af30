"""Turn the entries of a question file into records, one by one.

The import refuses a wrong entry with its place, and reads the others.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from foundation.errors import BadFile
from foundation.imports.dataset_rows import has_rows, read_rows
from foundation.imports.findings import Findings
from foundation.imports.import_fields import describe_value
from foundation.imports.json_elements import Element
from foundation.imports.json_stream import OnError, OnProgress, read_values
from foundation.messages import say
from predictions.formats.records import QuestionRecord

MakeRecord = Callable[[dict[str, Any]], QuestionRecord | None]


def read_elements(
    path: Path, *, on_progress: OnProgress | None = None, on_error: OnError | None = None
) -> Iterator[Element]:
    """Yield each value of a JSON list or JSON Lines, or each row of a dataset.

    Arguments and errors are those of `read_values` and `read_rows`.
    """
    if has_rows(path):
        return read_rows(path, on_progress=on_progress)
    return read_values(path, on_progress=on_progress, on_error=on_error)


def read_entries(
    path: Path,
    make_record: MakeRecord,
    *,
    on_progress: OnProgress | None = None,
    findings: Findings | None = None,
    id_field: str = "id",
) -> Iterator[QuestionRecord]:
    """Yield the records of a JSON list, JSON Lines, Parquet or Arrow.

    Arguments and errors are those of `build_records`.
    """
    findings = findings or Findings()
    values = read_elements(path, on_progress=on_progress, on_error=findings.on_error)
    entries = ((element, element.value) for element in values)
    yield from build_records(path, entries, make_record, findings=findings, id_fields=[id_field])


def build_records(
    path: Path,
    entries: Iterable[tuple[Element, Any]],
    make_record: MakeRecord,
    *,
    findings: Findings,
    id_fields: Sequence[str],
) -> Iterator[QuestionRecord]:
    """Yield the record of each entry.

    Args:
        path: The file of the entries.
        entries: Each entry with its place in the file.
        make_record: Returns the record, None to leave the entry out, or raises ValueError.
        findings: Takes refusals; if it does not collect, the first one is raised.
        id_fields: The fields of an ID, the usual one first.

    Raises:
        BadFile: An entry is wrong or repeats an ID, or there is none; names file, line, entry and field.
    """
    number = 0
    for number, (element, entry) in enumerate(entries, start=1):
        try:
            if not isinstance(entry, dict):
                raise ValueError(_describe_wrong_entry(entry))
            record = make_record(entry)
            if record is not None:
                findings.note_entry(record.external_id, path, line=element.line, field=id_fields[0])
        except ValueError as error:
            findings.refuse(error, path, element=element, entry=_name_entry(number, entry, id_fields))
        else:
            if record is not None:
                yield record
    if number == 0 and not findings.refused_count:
        raise BadFile(path, say("holds no questions"), line=1)


def _describe_wrong_entry(entry: object) -> str:
    return say("expected an object with the fields of a question, found %(name)s", name=describe_value(entry))


def _name_entry(number: int, entry: Any, id_fields: Sequence[str]) -> str:
    given = [entry.get(name) for name in id_fields] if isinstance(entry, dict) else []
    external_id = next((value for value in given if isinstance(value, str | int)), None)
    return f"entry {number}" if external_id is None else f"entry {number} ({str(external_id)[:40]})"
