"""Read JSON files of data; errors name the file, and the line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from analysis.io.errors import describe_os_error
from modelserver.wire.errors import InvalidRequest, UnreadableData

Record = TypeVar("Record")


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises UnreadableData if the file is missing, or is not JSON in UTF-8.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableData(f"{path}: {describe_os_error(error)}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not JSON in UTF-8: {error}") from error


def read_records(path: Path, parse: Callable[[Any], Record], *, most: int | None = None) -> list[Record]:
    """Return the parsed records of a file with one JSON object a line.

    Raises UnreadableData if the file is missing or ``parse`` refuses a line; names the line.
    """
    records = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(islice(file, most), 1):
                try:
                    record = json.loads(line)
                    if not isinstance(record, dict):
                        raise ValueError("each line must hold a JSON object")
                    records.append(parse(record))
                except KeyError as error:
                    raise UnreadableData(f"{path}, line {number}: {error.args[0]} is missing") from error
                except (ValueError, TypeError, OSError, InvalidRequest) as error:
                    raise UnreadableData(f"{path}, line {number}: {error}") from error
    except OSError as error:
        raise UnreadableData(f"{path}: {describe_os_error(error)}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not in UTF-8: {error}") from error
    return records


def require_unique_ids(path: Path, ids: Iterable[str]) -> None:
    """Raise UnreadableData if an entry has the ``_id`` of one before it."""
    seen: set[str] = set()
    for number, entry_id in enumerate(ids, start=1):
        if entry_id in seen:
            raise UnreadableData(f"{path}: entry {number}: _id: {entry_id!r} occurs a second time")
        seen.add(entry_id)
