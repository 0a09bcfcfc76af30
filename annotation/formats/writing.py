"""Write files and folders that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from pydantic_core import to_json

from analysis.io.whole_files import write_whole


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8 on one line, faster than `json`."""
    return to_json(value)


def quote_file_name(name: str) -> str:
    """Quote a name as a safe and reversible name of a file."""
    return quote(name, safe=" ()=+,").replace(".", "%2E")


def format_moment(moment: datetime | None) -> str | None:
    """Return a moment as other tools write it, with Z for UTC."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


@contextmanager
def write_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` on success, and is removed on error."""
    with write_whole(path) as part, part.open("xb", buffering=1 << 20) as file:
        yield file


def write_list(path: Path, entries: Iterable[Any], head: bytes = b"[", tail: bytes = b"]\n") -> None:
    """Write a JSON list, an entry a line, between ``head`` and ``tail``."""
    with write_file(path) as file:
        file.write(head)
        for number, entry in enumerate(entries):
            file.write((b",\n" if number else b"\n") + encode_json(entry))
        file.write(b"\n" + tail)


@contextmanager
def write_folder(path: Path) -> Iterator[Path]:
    """Open a folder that becomes ``path`` on success, else is removed.

    Raises:
        FileExistsError: ``path`` exists and is not an empty folder.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} exists and is not an empty folder")
    with write_whole(path) as part:
        part.mkdir()
        yield part
