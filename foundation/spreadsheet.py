"""CSV for spreadsheet programs, which take some texts for formulas.

A text that starts with one of `STARTS` gets an apostrophe before it: what a participant types must not run
anything on a researcher's machine. Numbers stay as they are.

References:
    1. OWASP, CSV Injection.
"""

import csv
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

STARTS = ("=", "+", "-", "@", "\t", "\r")


class Writable(Protocol):
    """A text file, or what writes like one."""

    def write(self, text: str, /) -> object:
        """Write a text."""


def plain_cell(value: Any) -> Any:
    """Return a value that no spreadsheet program takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(STARTS) else value


def write_csv(file: Writable, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write a CSV file for people; return its number of rows.

    None becomes an empty cell.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(plain_cell, header))
    number = 0
    for row in rows:
        writer.writerow(map(plain_cell, row))
        number += 1
    return number
