"""Numbers and dates in a passage, found by rule, with their code points.

`analysis.programs.values` reads their values, so that a module and a hand-drawn span agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.programs import date_of, number_of
from analysis.programs.values import MONTH, SCALES, SMALL

_SMALL, _SCALE = "|".join(SMALL), "|".join(SCALES)
_NUMBER = re.compile(
    r"(?<![^\W_])(?<!\d[.,])(?:\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<!\d)\.\d+)"
    rf"(?![^\W_])(?:[ -](?:{_SCALE})\b)?"
    rf"|\b(?:{_SMALL})\b(?:(?:[ -]|[ -]and[ -])(?:{_SMALL}|{_SCALE})\b)*",
    re.IGNORECASE,
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b{_DAY} (?:of )?(?:{MONTH})\b\.?,? \d{{3,4}}(?!\d)"
    rf"|\b(?:{MONTH})\b\.? (?:{_DAY}(?: ?, ?| ))?\d{{3,4}}(?!\d)"
    r"|(?<![\d.,-])\d{4}-\d{1,2}(?:-\d{1,2})?(?![\d-])"
    r"|(?<!\d)\d{1,4} B\.?C\.?(?:E\.?)?(?![A-Za-z])"
    r"|(?<![^\W_])(?<![\d.,-])(?:1\d|20)\d\d(?![^\W_])(?![.,]\d)"
)


@dataclass(frozen=True)
class Quantity:
    """A number or a date (ISO 8601, may lack day or month), with its span.

    The span is in code points, end exclusive.
    """

    start: int
    end: int
    value: float | str


def find_dates(text: str) -> list[Quantity]:
    """Return the dates that name a year, in text order.

    Four digits alone are a year.

    >>> [date.value for date in find_dates("Founded on 3 May 1950, closed in 1961.")]
    ['1950-05-03', '1961']
    """
    matches = ((match.span(), date_of(match[0])) for match in _DATE.finditer(text))
    return [Quantity(start, end, value) for (start, end), value in matches if value is not None]


def find_numbers(text: str) -> list[Quantity]:
    """Return numbers in digits or English words, except inside longer dates.

    >>> [number.value for number in find_numbers("On 3 May 1950 he ran 1,200 yards in twenty-one games.")]
    [1200, 21]
    """
    inside = [date for date in find_dates(text) if not text[date.start : date.end].isdecimal()]
    quantities = []
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        value = number_of(match[0])
        if value is not None and not any(date.start < end and start < date.end for date in inside):
            quantities.append(Quantity(start, end, value))
    return quantities


def locate_quantities(
    quantities: Sequence[Quantity], words: Sequence[tuple[int, int]]
) -> list[tuple[Quantity, tuple[int, int]]]:
    """Return each quantity that touches words, with first and last word.

    The last is exclusive. ``words`` are code points in order, ends exclusive.
    """
    placed = []
    for quantity in quantities:
        touched = [i for i, (start, end) in enumerate(words) if start < quantity.end and quantity.start < end]
        if touched:
            placed.append((quantity, (touched[0], touched[-1] + 1)))
    return placed
