"""Read JSON files of data; errors name the file, and the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from modelserver.wire.errors import InvalidRequest, UnreadableData

Record = TypeVar("Record")


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises UnreadableData if the file is missing, or is not JSON in UTF-8.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not JSON in UTF-8: {error}") from error


def read_records(path: Path, parse: Callable[[Any], Record], *, most: int | None = None) -> list[Record]:
    """Return the parsed records of a file with one JSON value a line.

    Raises UnreadableData if the file is missing or ``parse`` refuses a line; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[:most]
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(parse(json.loads(line)))
        except (ValueError, KeyError, TypeError, OSError, InvalidRequest) as error:
            raise UnreadableData(f"{path}, line {number}: {error}") from error
    return records
