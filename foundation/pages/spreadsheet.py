"""CSV files for people, without formulas: analysis.io.spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from django.http import StreamingHttpResponse

from analysis.io.spreadsheet import escape_formula


class Writable(Protocol):
    """A text file, or what writes like one."""

    def write(self, text: str, /) -> object:
        """Write a text."""


class _Line:
    """A file that returns what is written to it."""

    def write(self, text: str) -> str:
        """Return the text."""
        return text


def format_csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a CSV file; None becomes an empty cell."""
    writer = csv.writer(_Line(), lineterminator="\n")
    yield writer.writerow(map(escape_formula, header))
    for row in rows:
        yield writer.writerow(map(escape_formula, row))


def write_csv(file: Writable, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write a CSV file for people; return its number of rows."""
    number = -1
    for line in format_csv_lines(header, rows):
        file.write(line)
        number += 1
    return number


def build_csv_download(
    name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> StreamingHttpResponse:
    """Return a CSV file as a download, which is written while it is sent."""
    response = StreamingHttpResponse(format_csv_lines(header, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
