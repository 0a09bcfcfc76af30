"""Elements of JSON files: their values, and the lines of their parts."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from foundation.messages import value_error

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Element:
    """A value of a JSON file.

    Attributes:
        line: The line on which it begins, counted from 1.
        value: The value.
        text: The value as the file has it, from its first character on.
    """

    __slots__ = ("_parts", "line", "text", "value")

    def __init__(self, line: int, value: Any, text: str) -> None:
        self.line, self.value, self.text = line, value, text
        self._parts: dict[int, dict[str | int, int]] = {}

    def line_of(self, path: Sequence[str | int]) -> int:
        """Return the line of the part at a path of keys and positions.

        Parts that the element lacks are passed over: a missing field is on the line of its object.
        """
        at = 0
        for part in path:
            at = self._parts_at(at).get(part, at)
        return self.line + self.text.count("\n", 0, at)

    def _parts_at(self, at: int) -> dict[str | int, int]:
        """Return the positions of the parts of the value at a position.

        A cache holds them, so that a hundred findings in one list read it once.
        """
        if at not in self._parts:
            self._parts[at] = dict(_read_parts(self.text, at))
        return self._parts[at]


def reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs; a repeated key is an error.

    Other JSON readers keep the last of two values silently.
    """
    content = dict(pairs)
    if len(content) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise value_error("the key %(twice)r occurs twice in one object", twice=twice)
    return content


def _read_parts(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Yield key and position of each part of a list or an object."""
    opening = text[at]
    if opening not in "[{":
        return
    at, number = _skip_space(text, at + 1), 0
    while text[at] not in "]}":
        key: str | int = number
        if opening == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)  # past the colon
        yield key, at
        _value, at = _DECODER.raw_decode(text, at)
        at = _skip_space(text, at)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
        number += 1


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
