"""Read model outputs from a file: one `schemas.SystemRecord` a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from annotation.schemas import SystemRecord
from foundation.errors import BadFile
from foundation.import_fields import first_error


def read_outputs(path: Path, *, on_progress: Callable[[int], None] | None = None) -> Iterator[SystemRecord]:
    """Yield the outputs of a file in order, one line in memory at a time.

    Args:
        path: The file.
        on_progress: Called with the number of bytes read so far.

    Raises:
        BadFile: Names file, line and field.
    """
    read, some = 0, False
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                read += len(line)
                if line.strip():
                    some = True
                    yield _record(path, number, line)
                if on_progress is not None:
                    on_progress(read)
    except OSError as error:
        raise BadFile(path, error.strerror or str(error)) from error
    if not some:
        raise BadFile(path, "holds no outputs")


def _record(path: Path, number: int, line: bytes) -> SystemRecord:
    try:
        return SystemRecord.model_validate_json(line)
    except ValidationError as error:
        raise BadFile(path, first_error(error), line=number) from error
