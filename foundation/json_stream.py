"""Read a large JSON file value by value: array, object or JSON Lines.

Memory holds one block of the file and one value at a time, so a file may have any size.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from foundation.errors import BadFile

BLOCK = 1 << 20  # characters
LONGEST_TOKEN = 16  # characters; an error nearer to the end of a block may be a token cut in two

# Called with the number of bytes read so far.
OnProgress = Callable[[int], None]


def read_values(path: Path, *, on_progress: OnProgress | None = None) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) for each value of a file.

    Args:
        path: The file.
        on_progress: Called after each block with the number of bytes read so far.

    Yields:
        The line on which the value begins, counted from 1, and the value.

    Raises:
        BadFile: The file cannot be read or is not JSON in UTF-8; names the line. Values yielded before that
            were well formed.
    """
    with _opened(path) as file:
        yield from _values(_Window(path, file, on_progress))


def read_members(path: Path, *, on_progress: OnProgress | None = None) -> Iterator[tuple[int, str, Any]]:
    """Yield (line, key, value) for each member of the one object in a file.

    Arguments and errors are those of `read_values`. A repeated key is an error too: other JSON readers keep
    the last one silently.
    """
    with _opened(path) as file:
        yield from _members(_Window(path, file, on_progress))


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Open the file. Raise BadFile for errors of the operating system."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield file
    except OSError as error:
        raise BadFile(path, error.strerror or str(error)) from error


def _values(window: "_Window") -> Iterator[tuple[int, Any]]:
    if window.peek() == "[":
        window.take()
        yield from _array(window)
    else:
        while window.peek():
            yield window.line, window.value()


def _array(window: "_Window") -> Iterator[tuple[int, Any]]:
    if window.peek() != "]":
        while True:
            window.peek()
            yield window.line, window.value()
            if window.peek() != ",":
                break
            window.take()
    if window.peek() != "]":
        raise window.error("expected a comma, or ] at the end of the list")
    window.take()
    if window.peek():
        raise window.error("text after the end of the list")


def _members(window: "_Window") -> Iterator[tuple[int, str, Any]]:
    if window.peek() != "{":
        raise window.error("expected an object")
    window.take()
    seen: set[str] = set()
    while window.peek() != "}" or seen:
        if window.peek() != '"':
            raise window.error("expected a key in quotes")
        line, key = window.line, window.value()
        if key in seen:
            raise window.error(f"the key {key!r} occurs twice")
        seen.add(key)
        if window.peek() != ":":
            raise window.error("expected a colon after the key")
        window.take()
        window.peek()
        yield line, key, window.value()
        if window.peek() != ",":
            break
        window.take()
    if window.peek() != "}":
        raise window.error("expected a comma, or } at the end of the object")
    window.take()
    if window.peek():
        raise window.error("text after the end of the object")


class _Window:
    """The current block of a file, the position in it, and its line."""

    def __init__(self, path: Path, file: TextIO, on_progress: OnProgress | None) -> None:
        self.path = path
        self.line = 1
        self._file = file
        self._on_progress = on_progress
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next non-space character, or "" at the end of the file."""
        while True:
            rest = len(self._text)
            start = next((i for i in range(self._at, rest) if self._text[i] not in " \t\r\n"), rest)
            self._go(start)
            if start < rest:
                return self._text[start]
            if not self._more():
                return ""

    def take(self) -> None:
        """Move past the character that ``peek`` returned."""
        self._go(self._at + 1)

    def value(self) -> Any:
        """Decode the value at the position. Call ``peek`` first to skip spaces."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - LONGEST_TOKEN
                if cut and self._more():
                    continue
                raise self.error(f"not JSON: {error.msg}", at=error.pos) from error
            except (ValueError, RecursionError) as error:
                raise self.error(f"not JSON that can be read: {error}") from error
            closed = self._text[end - 1] in '}]"' or self._text[end : end + 1] in tuple(" \t\r\n,]}:")
            if not closed and end > len(self._text) - LONGEST_TOKEN and self._more():
                continue  # a number may go on in the next block
            self._go(end)
            return value

    def error(self, message: str, *, at: int | None = None) -> BadFile:
        """Return an error at the present position, or at ``at`` in the block."""
        position = self._at if at is None else at
        if position >= len(self._text):
            message += " (the file ends here)"
        return BadFile(self.path, message, line=self.line + self._text.count("\n", self._at, position))

    def _go(self, position: int) -> None:
        self.line += self._text.count("\n", self._at, position)
        self._at = position

    def _more(self) -> bool:
        """Add the next block and return whether there was one."""
        # A block is at least as long as the rest, so that a long value is decoded only a few times.
        left = self._text[self._at :]
        try:
            block = self._file.read(max(BLOCK, len(left)))
        except UnicodeDecodeError as error:
            raise BadFile(self.path, f"not UTF-8 text: {error.reason}", line=self.line) from error
        self._text, self._at = left + block, 0
        if self._on_progress is not None:
            self._on_progress(self._file.buffer.tell())
        return bool(block)
