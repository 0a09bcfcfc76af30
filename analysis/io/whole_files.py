"""Read and write whole files: JSON, JSON lines, hashes.

A file is written completely, or not at all.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from .errors import InputError, describe_os_error, find_first_problem

Model = TypeVar("Model", bound=BaseModel)
Record = TypeVar("Record")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Args:
        path: File in UTF-8.

    Returns:
        The value as dictionaries, lists, text and numbers.

    Raises:
        InputError: The file is missing, unreadable, or not JSON (with line and column).
    """
    return parse_json(path, read_text(path))


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Read a text file.

    Raises:
        InputError: The file is missing, unreadable, or not UTF-8.
    """
    try:
        return path.read_text(encoding)
    except OSError as error:
        raise InputError(path, describe_os_error(error)) from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"is not UTF-8 (byte {error.start})") from None


def parse_json(path: Path, text: str, lines_before: int = 0) -> Any:
    """Parse JSON from a file, in which some lines stand before it.

    Raises:
        InputError: The text is not JSON (with line and column).
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno + lines_before}, column {error.colno}"
        raise InputError(path, f"is not JSON: {error.msg}", where=where) from None


def parse_model(model: type[Model], data: Any, path: Path, *, where: str = "") -> Model:
    """Check values, or JSON as bytes, against a model.

    Raises:
        InputError: Names file, place and field of the first problem.
    """
    try:
        return model.model_validate_json(data) if isinstance(data, bytes) else model.model_validate(data)
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise InputError(path, problem, where=where, field=field) from None


def read_lines(path: Path, read: Callable[[int, bytes], Record], *, what: str) -> list[Record]:
    """Read every line that is not blank.

    Args:
        path: File of one record a line.
        read: Turns a line into a record; takes its number (from 1) and its bytes.
        what: Name of the records, for the error about an empty file.

    Returns:
        Records in the file's order.

    Raises:
        InputError: The file is missing, unreadable or empty.
    """
    try:
        with path.open("rb") as file:
            records = [read(number, line) for number, line in enumerate(file, 1) if line.strip()]
    except OSError as error:
        raise InputError(path, describe_os_error(error)) from None
    if not records:
        raise InputError(path, f"holds no {what}")
    return records


def format_json_lines(rows: Iterable[object]) -> str:
    """Format JSON lines, the same bytes for the same rows."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file as a hex digest.

    Raises:
        InputError: The file is missing or unreadable.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(path, describe_os_error(error)) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        replace_file(path, text)
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from None


def replace_file(path: Path, content: bytes | str) -> None:
    """Write a file whole or not at all, and its folders."""
    with write_whole(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a new path, whose file or folder becomes ``path`` on success.

    Several processes may write the same path at once: the last one to end leaves its content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}-{uuid4().hex}.part")  # beside it, so that renaming is atomic
    try:
        yield part
        part.replace(path)
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        part.unlink(missing_ok=True)
