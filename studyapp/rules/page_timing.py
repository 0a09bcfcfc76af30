"""Browser measurements of one page.

Pure: no Django.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from foundation.pages.whole_numbers import parse_whole_number

# The largest value of a 32-bit integer column: 24 days in milliseconds.
LARGEST = 2**31 - 1
_NAME = re.compile(r"[a-z0-9-]{1,40}")
MOST_OPENINGS = 100
_LONGEST = 8000  # characters of that many openings, with room to spare
Openings = list[tuple[str, int, int]]


@dataclass(frozen=True)
class PageTiming:
    """Browser clock of one page, in milliseconds except ``hidden_count``.

    A value is None if the browser did not send it.
    """

    client_total_ms: int | None = None
    client_visible_ms: int | None = None
    client_hidden_ms: int | None = None
    hidden_count: int | None = None
    first_interaction_ms: int | None = None

    @classmethod
    def parse(cls, data: Mapping[str, str]) -> Self:
        """Read the form fields of the same names.

        Garbage and what is negative or too large become None.
        """
        return cls(**{field.name: _parse_count(data.get(field.name, "")) for field in fields(cls)})


def parse_openings(sent: str) -> Openings | None:
    """Read the openings of an item's articles, in order of time.

    Returns:
        For each opening the name of the article, when it was opened and how long it was open, in milliseconds
        of the browser's clock; None if the browser sent nothing or garbage.
    """
    try:
        rows = json.loads(sent) if len(sent) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or len(rows) > MOST_OPENINGS:
        return None
    return [(*row,) for row in rows] if all(map(_is_opening, rows)) else None


def _is_opening(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 3
        and isinstance(row[0], str)
        and _NAME.fullmatch(row[0]) is not None
        and all(type(number) is int and 0 <= number <= LARGEST for number in row[1:])
    )


def _parse_count(sent: str) -> int | None:
    value = parse_whole_number(sent)
    return value if value is not None and value <= LARGEST else None
