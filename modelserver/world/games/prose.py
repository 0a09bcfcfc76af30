"""Build a text piece by piece and track its spans and tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Marks, joiners, variation selectors and skin tones stay with the character before them.
_EXTEND = "[\u0300-\u036f\u0900-\u0903\u093a-\u094f\u200d\ufe0f\U0001f3fb-\U0001f3ff]*+"
_LETTER = rf"[^\W_]{_EXTEND}"
_TOKEN = re.compile(
    rf"\d+(?:[.,:]\d+)+|(?:{_LETTER})+(?:['’](?:{_LETTER})+)*|[\U0001f1e6-\U0001f1ff]{{2}}"
    rf"|\S{_EXTEND}(?:(?<=\u200d)[^\s\w]{_EXTEND})*"
)
_PIECE = re.compile(r"\{(\w+)\}|<(/?)(\w+)>")

Place = tuple[int, int]  # start and end in code points, end exclusive


def tokenise(text: str) -> list[Place]:
    """Return the span of every token: a word, a number, or a character.

    Words include their combining characters.
    """
    return [found.span() for found in _TOKEN.finditer(text)]


def choose_article(number: int) -> str:
    """Return the article before a number in digits: ``an 18-yard run``."""
    return "an" if str(number)[0] == "8" or number in (11, 18) else "a"


@dataclass(frozen=True)
class Span:
    """A stretch of the finished text."""

    place: Place  # words: allow - the `Place` of a span
    quote: str


class Prose:
    """A growing text; ``{slots}`` are filled, ``<name>…</name>`` is tracked."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, template: str, **words: object) -> dict[str, Span]:
        """Append a filled template; return the spans of its slots and marks."""
        spans: dict[str, Span] = {}
        opened: dict[str, int] = {}
        at = 0
        for piece in _PIECE.finditer(template):
            self.text += template[at : piece.start()]
            at = piece.end()
            slot, closing, mark = piece.groups()
            if slot:
                opened[slot] = len(self.text)
                self.text += str(words[slot])
                spans[slot] = self._span(opened[slot])
            elif closing:
                spans[mark] = self._span(opened[mark])
            else:
                opened[mark] = len(self.text)
        self.text += template[at:]
        return spans

    def _span(self, start: int) -> Span:
        return Span((start, len(self.text)), self.text[start:])
