"""Names, dates and numbers in a sentence, found and typed by rule.

A rule of thumb instead of a trained recogniser: names are runs of capitalised words, and the words in and
before them determine their type. Its mistakes are those of a quick reader, which the `heuristic` system is
meant to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

MentionType = Literal["person", "place", "organisation", "date", "number"]
TYPES: tuple[MentionType, ...] = get_args(MentionType)

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_COUNT = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million"
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*"
_MENTION = re.compile(
    rf"(?P<date>(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}})?,? \d{{4}}|(?<![\d.,])1\d{{3}}(?![\d.,]*\d)"
    r"|(?<![\d.,])20\d\d(?![\d.,]*\d))"
    rf"|(?P<number>\d+(?:[.,]\d+)*|\b(?:{_COUNT})\b)"
    rf"|(?P<name>\b{_CAPITAL}(?: (?:(?:of|de|van|von|la) (?:the )?)?{_CAPITAL})*)"
)
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        """
        the a an in at on of for from to by with and but or if when while after before as since until his
        her he she they it its their there this that these those who which what where born
        """,
    )
)
_GROUP = re.compile(
    r"\b(?:University|College|School|Institute|Company|Corporation|Records|Studios?|Pictures|Press|Publish\w*"
    r"|Books|Band|Party|Club|Association|Society|Museum|Bank|Prize|Award|Medal)\b"
)
_WHERE = re.compile(r"\b(?:in|at|from|near|to|through|around|across)(?: the)? $", re.IGNORECASE)


@dataclass(frozen=True)
class Mention:
    """A stretch of text that names something, in code points, end exclusive."""

    start: int
    end: int
    type: MentionType


def find_mentions(text: str) -> list[Mention]:
    """Return the mentions in the order of the text.

    >>> [text.type for text in find_mentions("Ann Lee, born in Oslo on 3 May 1950, has two sons.")]
    ['person', 'place', 'date', 'number']
    """
    mentioned = []
    for match in _MENTION.finditer(text):
        start, end = match.span()
        if match["date"]:
            mentioned.append(Mention(start, end, "date"))
        elif match["number"]:
            mentioned.append(Mention(start, end, "number"))
        else:
            start = _skip_openers(text, start, end)
            if start < end:
                mentioned.append(Mention(start, end, _classify_mention(text, start, end)))
    return mentioned


def find_mention_type(text: str, answer: str) -> MentionType | None:
    """Return the type of the first mention that the answer names, or None."""
    start = text.find(answer)
    if start < 0 or not answer:
        return None
    last = start + len(answer)
    touching = (mention for mention in find_mentions(text) if mention.start < last and start < mention.end)
    return next((mention.type for mention in touching), None)


def _skip_openers(text: str, start: int, end: int) -> int:
    """Leave out words that have their capital from the start of a sentence."""
    while start < end:
        first = text[start:end].split(" ", 1)[0]
        if first.lower() not in _OPENERS:
            break
        start = min(end, start + len(first) + 1)
    return start


def _classify_mention(text: str, start: int, end: int) -> MentionType:
    if _GROUP.search(text, start, end):
        return "organisation"
    return "place" if _WHERE.search(text[:start]) else "person"
