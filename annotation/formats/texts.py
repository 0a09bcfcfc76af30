"""Positions in a text: code points, tokens, UTF-16 units, and spans.

A token is a word with its marks, a number with its separators, or a single other character as a person sees
it: combining marks, joiners, variation selectors and skin tones stay with their character.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from annotation.content.schemas import Span
from foundation.messages import value_error

Tokens = Sequence[tuple[int, int]]


def _build_extending_class() -> str:
    """Return a character class of characters that extend the one before.

    See Unicode TR 29, Extend and ZWJ.
    """
    planes = (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0))  # no marks stand elsewhere
    marks = (point for point in planes if unicodedata.category(chr(point))[0] == "M")
    points = sorted({*marks, 0x200C, 0x200D, *range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080)})
    runs: list[list[int]] = []
    for point in points:
        if runs and point == runs[-1][1] + 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in runs)


_EXTEND = f"[{_build_extending_class()}]*+"
_LETTER = rf"[^\W_]{_EXTEND}"
_NUMBER = r"\d+(?:[.,:]\d+)+"
_WORD = rf"(?:{_LETTER})+(?:['’](?:{_LETTER})+)*"
_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_OTHER = rf"\S{_EXTEND}(?:(?<=\u200d)[^\s\w]{_EXTEND})*"
_TOKEN = re.compile(f"{_NUMBER}|{_WORD}|{_FLAG}|{_OTHER}")


def tokenize(text: str) -> tuple[tuple[int, int], ...]:
    """Return start and end (exclusive, in code points) of every token.

    All characters but white space are in a token.
    """
    return tuple(match.span() for match in _TOKEN.finditer(text))


def find_touched_tokens(start: int, end: int, tokens: Tokens) -> tuple[int, int]:
    """Return the tokens that the code points touch, end exclusive.

    Raises:
        ValueError: They touch none.
    """
    first = bisect_right(tokens, start, key=lambda token: token[1])
    beyond = bisect_left(tokens, end, key=lambda token: token[0])
    if beyond <= first:
        raise value_error("characters %(start)s to %(end)s touch no token", start=start, end=end)
    return first, beyond


def build_span(name: str, start: int, end: int, passage: str, tokens: Tokens) -> Span:
    """Return the span of these code points.

    Raises:
        ValueError: It is empty, leaves the passage, or does not begin and end within tokens.
    """
    if not 0 <= start < end <= len(passage):
        raise value_error(
            "characters %(start)s to %(end)s are outside the passage of %(number)s",
            start=start,
            end=end,
            number=len(passage),
        )
    first, beyond = find_touched_tokens(start, end, tokens)
    if tokens[first][0] > start or tokens[beyond - 1][1] < end:
        raise value_error("characters %(start)s to %(end)s begin or end between tokens", start=start, end=end)
    return Span(id=name, span=(start, end), tokens=(first, beyond), quote=passage[start:end])


def trim_stretch(start: int, end: int, passage: str) -> tuple[int, int]:
    """Return the stretch without outer white space; possibly empty."""
    text = passage[start:end]
    start += len(text) - len(text.lstrip())
    return start, max(start, start + len(text.strip()))


def find_code_point(text: str, unit: int) -> int:
    """Return the code point at a UTF-16 unit.

    Raises:
        ValueError: It is within a surrogate pair or beyond the text.
    """
    before = text.encode("utf-16-le")[: 2 * unit]
    if len(before) != 2 * unit:
        raise value_error("the text has no UTF-16 unit %(unit)s", unit=unit)
    try:
        return len(before.decode("utf-16-le"))
    except UnicodeDecodeError as error:
        raise value_error("the UTF-16 unit %(unit)s lies within a character", unit=unit) from error
