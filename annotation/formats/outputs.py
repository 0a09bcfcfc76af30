"""Read model outputs from a file: one `schemas.SystemRecord` a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from annotation.content.schemas import SystemRecord
from annotation.formats.jsonl import read_lines
from foundation.imports.findings import Findings
from foundation.messages import say


def read_outputs(
    path: Path, *, findings: Findings | None = None, on_progress: Callable[[int], None] | None = None
) -> Iterator[SystemRecord]:
    """Yield the outputs of a file in order, one line in memory at a time.

    Args:
        path: The file.
        findings: Takes refusals; without it the first one is raised.
        on_progress: Called with the number of bytes read so far.

    Raises:
        BadFile: Names file, line and field.
    """
    findings = findings if findings is not None else Findings()
    for number, line in read_lines(path, empty=say("holds no outputs"), on_progress=on_progress):
        try:
            record = SystemRecord.model_validate_json(line)
            findings.note_entry(record.id, path, line=number, field="id")
        except ValueError as error:
            findings.refuse(error, path, line=number)
        else:
            yield record
