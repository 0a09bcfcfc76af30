"""Texts of CSV files that spreadsheet programs would take for formulas.

A text that starts with one of the signs below gets an apostrophe before it: what a participant types must not
run anything on a researcher's machine. Readers take the apostrophe away again. A text that has apostrophes
before such a sign gets one more, so that every text comes back as it was. Numbers and single signs stay.

References:
    1. OWASP, CSV Injection.
"""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

# The signs also in the full width of East Asian texts, and what programs skip at the start of a cell.
ESCAPED = r"^'('*[=+\-@\t\r\n＝＋－＠])"
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_ESCAPED = re.compile(ESCAPED)
_HARMLESS = re.compile(r"[+-]|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def escape_formula(value: Any) -> Any:
    """Return a value that no spreadsheet program takes for a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _HARMLESS.fullmatch(value):
        return f"'{value}"
    return value


def unescape_formula(cell: str) -> str:
    """Return the text that `escape_formula` wrote as this cell."""
    return _ESCAPED.sub(r"\1", cell)


def format_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format CSV: None is empty, truth values are `true` and `false`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escape_formula, header))
    writer.writerows([_format_csv_value(value) for value in row] for row in rows)
    return text.getvalue()


def _format_csv_value(value: object) -> object:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else escape_formula(value)
