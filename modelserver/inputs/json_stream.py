"""Read a large JSON object or list entry by entry, in bounded memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from modelserver.wire.errors import UnreadableData

BLOCK = 1 << 20  # characters
_SPACE = re.compile(r"[ \t\r\n]*")


def read_entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield key and value of each member of an object, or of a list.

    The key of a list's value is its number, from 1 on. Memory holds one
    block of the file and one value at a time.

    Raises:
        UnreadableData: The file is missing, or is neither in JSON.
    """
    try:
        with path.open(encoding="utf-8") as file:
            yield from _entries(_Window(file))
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not JSON in UTF-8: {error}") from error


def _entries(window: _Window) -> Iterator[tuple[str, Any]]:
    end = {"{": "}", "[": "]"}.get(window.sign())
    if end is None:
        raise ValueError("expected an object or a list")
    number = 0
    if window.peek() == end:
        return
    while True:
        number += 1
        key = str(number)
        if end == "}":
            key = str(window.value())
            window.expect(":")
        yield key, window.value()
        if window.peek() == end:
            return
        window.expect(",")


class _Window:
    """The part of a file that is in memory."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.place = file, "", 0
        self.decode = json.JSONDecoder().raw_decode

    def peek(self) -> str:
        """Return the next character that is no white space."""
        while True:
            space = _SPACE.match(self.text, self.place)
            assert space is not None  # it also matches nothing
            self.place = space.end()
            if self.place < len(self.text):
                return self.text[self.place]
            if not self._more():
                raise ValueError("the file ends within a value")

    def sign(self) -> str:
        """Read the next character that is no white space."""
        sign = self.peek()
        self.place += 1
        return sign

    def expect(self, sign: str) -> None:
        """Read a character. Raises ValueError if it is another one."""
        if (other := self.sign()) != sign:
            raise ValueError(f"expected {sign!r}, not {other!r}")

    def value(self) -> Any:
        """Read a value."""
        self.peek()
        while True:
            try:
                value, end = self.decode(self.text, self.place)
            except ValueError:
                if not self._more():
                    raise
                continue
            if end < len(self.text) or not self._more():  # else a number may go on in the next block
                self.place = end
                return value

    def _more(self) -> bool:
        block = self.file.read(max(BLOCK, len(self.text)))  # doubled, so that a long value takes linear time
        self.text, self.place = self.text[self.place :] + block, 0
        return bool(block)
