"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from pydantic_core import to_json


def encoded(value: Any) -> bytes:
    """A value as JSON in UTF-8, on one line. Several times as fast as the standard library."""
    return to_json(value)


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when all went well and is removed when not."""
    partial = _partial(path)
    try:
        with partial.open("xb", buffering=1 << 20) as file:
            yield file
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def written_folder(path: Path) -> Iterator[Path]:
    """A folder to write in, which becomes ``path`` when all went well and is removed when not.

    Raises FileExistsError where ``path`` already holds something: nothing is overwritten or mixed.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} exists and is not an empty folder")
    partial = _partial(path)
    partial.mkdir()
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _partial(path: Path) -> Path:
    """A new name beside ``path``, on the same file system, so that renaming it is one act."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}-{uuid4().hex}.part")
