"""Read a large JSON file value by value: array, object or JSON Lines.

Memory holds one block of the file and one value at a time, so a file may have any size.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from analysis.io.json_window import JsonWindow
from foundation.errors import BadFile
from foundation.imports.json_elements import Element, reject_repeated_keys
from foundation.imports.text_files import open_text
from foundation.messages import extract_message, say

# Called with the number of bytes read so far.
OnProgress = Callable[[int], None]
OnError = Callable[[BadFile], None]


def read_values(
    path: Path, *, on_progress: OnProgress | None = None, on_error: OnError | None = None
) -> Iterator[Element]:
    """Yield each value of a file.

    Args:
        path: The file.
        on_progress: Called after each block with the number of bytes read so far.
        on_error: Takes the error of a broken line of JSON Lines; the next object is read then.

    Raises:
        BadFile: The file cannot be read or is not JSON in UTF-8; names the line. Values yielded before that
            were well formed.
    """
    with open_text(path) as file:
        yield from _parse_values(_Window(path, file, on_progress), on_error)


def read_members(path: Path, *, on_progress: OnProgress | None = None) -> Iterator[tuple[str, Element]]:
    """Yield key and value of each member of the one object in a file.

    Arguments and errors are those of `read_values`. A repeated key is an error too: other JSON readers keep
    the last one silently.
    """
    with open_text(path) as file:
        yield from _parse_members(_Window(path, file, on_progress))


def read_document(path: Path) -> Element:
    """Return the one value of a file, which is held in memory whole.

    Raises:
        BadFile: As `read_values`.
    """
    with open_text(path) as file:
        window = _Window(path, file, None, block=-1)
        if not window.peek():
            raise window.error(say("holds no JSON"))
        element = window.element()
        window.require_end(say("the JSON document"))
        return element


def _parse_values(window: "_Window", on_error: OnError | None) -> Iterator[Element]:
    if window.peek() == "[":
        window.take()
        yield from _parse_array(window)
        return
    while window.peek():
        try:
            element = window.element()
        except BadFile as error:
            if on_error is None or not window.seek_object():
                raise
            on_error(error)
        else:
            yield element


def _parse_array(window: "_Window") -> Iterator[Element]:
    if window.peek() != "]":
        while True:
            yield window.element()
            if window.peek() != ",":
                break
            window.take()
    if window.peek() != "]":
        raise window.error(say("expected a comma, or ] at the end of the list"))
    window.take()
    window.require_end(say("the list"))


def _parse_members(window: "_Window") -> Iterator[tuple[str, Element]]:
    if window.peek() != "{":
        raise window.error(say("expected an object"))
    window.take()
    seen: set[str] = set()
    while window.peek() != "}" or seen:
        if window.peek() != '"':
            raise window.error(say("expected a key in quotes"))
        key = window.element().value
        if key in seen:
            raise window.error(say("the key %(key)r occurs twice", key=key))
        seen.add(key)
        if window.peek() != ":":
            raise window.error(say("expected a colon after the key"))
        window.take()
        yield key, window.element()
        if window.peek() != ",":
            break
        window.take()
    if window.peek() != "}":
        raise window.error(say("expected a comma, or } at the end of the object"))
    window.take()
    window.require_end(say("the object"))


class _Window(JsonWindow):
    """A window whose errors name file and line."""

    def __init__(self, path: Path, file: TextIO, on_progress: OnProgress | None, *, block: int = 0) -> None:
        super().__init__(file, block=block, on_progress=on_progress, hook=reject_repeated_keys)
        self.path = path

    def require_end(self, of: str) -> None:
        """Check that nothing but spaces follows."""
        if self.peek():
            raise self.error(say("text after the end of %(of)s", of=of))

    def element(self) -> Element:
        """Decode the next value."""
        try:
            return Element(*self.value())
        except json.JSONDecodeError as error:
            problem = say("not JSON: %(problem)s", problem=say(error.msg))
            raise self.error(problem, at=error.pos) from error
        except RecursionError as error:
            raise self.error(say("is nested too deeply")) from error
        except ValueError as error:
            raise self.error(
                say("not JSON that can be read: %(problem)s", problem=extract_message(error))
            ) from error

    def error(self, message: str, *, at: int | None = None) -> BadFile:
        """Return an error at the present position, or at ``at`` in the block."""
        position = self.at if at is None else at
        if position >= len(self.text):
            message = say("%(problem)s (the file ends here)", problem=message)
        line = self.line + self.text.count("\n", self.at, position)
        if line != self.line:
            message = say(
                "%(problem)s, in the value that begins on line %(line)s", problem=message, line=self.line
            )
        return BadFile(self.path, message, line=line)
