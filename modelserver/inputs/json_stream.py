"""Read a large JSON object or list entry by entry, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.io.errors import describe_os_error
from analysis.io.json_window import JsonWindow
from modelserver.wire.errors import UnreadableData


def read_entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield key and value of each member of an object, or of a list.

    The key of a list's value is its number, from 1 on. Memory holds one
    block of the file and one value at a time.

    Raises:
        UnreadableData: The file is missing, or is neither in JSON.
    """
    try:
        with path.open(encoding="utf-8") as file:
            yield from _read_entries(_Window(file))
    except OSError as error:
        raise UnreadableData(f"{path}: {describe_os_error(error)}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not JSON in UTF-8: {error}") from error


def _read_entries(window: _Window) -> Iterator[tuple[str, Any]]:
    end = {"{": "}", "[": "]"}.get(window.take())
    if end is None:
        raise ValueError("expected an object or a list")
    number = 0
    if window.peek() == end:
        return
    while True:
        number += 1
        key = str(number)
        if end == "}":
            key = str(window.value()[1])
            window.expect(":")
        yield key, window.value()[1]
        if window.peek() == end:
            return
        window.expect(",")


class _Window(JsonWindow):
    """A window on one value, within which the file must not end."""

    def peek(self) -> str:
        if not (character := super().peek()):
            raise ValueError("the file ends within a value")
        return character

    def expect(self, character: str) -> None:
        """Read a character. Raises ValueError if it is another one."""
        if (other := self.take()) != character:
            raise ValueError(f"expected {character!r}, not {other!r}")
