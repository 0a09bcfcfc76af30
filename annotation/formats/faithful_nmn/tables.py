"""The two tables as they lie in their files: rows of boxes (CSV) and rows of programs (TSV).

Box rows name one cell each: example, program line (0-based, in pre-order) and image (0 is left). A
program's arguments are positions in its list of tokens.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from analysis.programs import Program, parse_lines
from foundation.errors import BadFile

BOX_COLUMNS = ["Incorrect program", "Example No.", "identifier", "module_identifier", "module", "annotation"]
PROGRAM_COLUMNS = ["sentence", "annotation", "tokens", "all", "simple_count"]
# Python's csv module stops at 131,072 characters; a cell with some thousand boxes is longer.
LONGEST_CELL = 50_000_000

_PLACE = re.compile(r"q(\d+)-m(\d+)-([01])")
_PLAIN_TOKEN = re.compile(r"(?:^|, )(?=\d+: )")


class Cell(NamedTuple):
    """Which cell a box row fills."""

    node: int
    image: int


@dataclass(frozen=True)
class BoxRow:
    """A row of the CSV: its place among the rows (from 1), all its texts, and its line in the file."""

    number: int
    cells: tuple[str, ...]
    line: int = 0

    @property
    def flag(self) -> str:
        return self.cells[0]

    @property
    def identifier(self) -> str:
        return self.cells[2]

    @property
    def module(self) -> str:
        return self.cells[4]

    @property
    def text(self) -> str:
        """What was drawn, as JSON; empty where nothing was."""
        return self.cells[5]

    @property
    def cell(self) -> Cell:
        found = _PLACE.fullmatch(self.cells[3])
        assert found is not None  # checked when the row was read
        return Cell(int(found[2]), int(found[3]))


def read_box_rows(path: Path) -> Iterator[BoxRow]:
    """Yield every row; those without an identifier name no cell. Raises BadFile with line and column."""
    for number, line, cells in _rows(path, BOX_COLUMNS, delimiter=","):
        row = BoxRow(number, tuple(cells), line)
        if not row.identifier:
            if any(cells[2:]):
                raise BadFile(path, "identifier: is missing", line=row.line)
        else:
            found = _PLACE.fullmatch(cells[3])
            if found is None:
                message = f"module_identifier: expected the form q50-m16-0, found {cells[3]!r}"
                raise BadFile(path, message, line=row.line)
            if found[1] != cells[1]:
                message = f"module_identifier: {cells[3]!r} is not of example {cells[1]!r}"
                raise BadFile(path, message, line=row.line)
        yield row


@dataclass(frozen=True)
class ProgramRow:
    """A row of the TSV: its place among the rows (from 1), its texts, and the line where it begins."""

    number: int
    cells: tuple[str, ...]
    line: int = 0

    @property
    def key(self) -> str:
        """The sentence as examples are joined to it: the table's is in lower case."""
        return self.cells[0].strip().lower()

    @cached_property
    def tokens(self) -> list[str]:
        """The words that arguments point to."""
        return parse_tokens(self.cells[2])

    def program(self) -> Program:
        """The program of words. Raises ProgramError where it does not fit together or is no statement."""
        return parse_lines(self.cells[1], kind="boxes", tokens=self.tokens, root="truth")

    def labels(self) -> list[str]:
        """Each line as box rows name it: ``find[golden,retriever]``. Raises ValueError for bad positions."""
        return [_label(line, self.tokens) for line in self.cells[1].split("\n")]


def read_program_rows(path: Path) -> Iterator[ProgramRow]:
    """Yield every row; tokens are read when they are asked for. Raises BadFile with line and column."""
    for number, line, cells in _rows(path, PROGRAM_COLUMNS, delimiter="\t"):
        yield ProgramRow(number, tuple(cells), line)


def parse_tokens(text: str) -> list[str]:
    """The words of a cell such as ``{0: 'two', 1: 'dogs'}``; 231 of the release lack the quotes.

    Raises ValueError where it has another form.
    """
    try:
        words = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if not (text.startswith("{") and text.endswith("}")):
            raise ValueError("tokens: expected {0: word, 1: word, …}") from None
        pairs = (part.partition(": ") for part in _PLAIN_TOKEN.split(text[1:-1]) if part)
        words = {int(number): word for number, colon, word in pairs if colon and number.isdecimal()}
    if not isinstance(words, dict) or list(words) != list(range(len(words))):
        raise ValueError("tokens: expected positions from 0 upwards, each with its word")
    return [str(word) for word in words.values()]


def _label(line: str, tokens: list[str]) -> str:
    name, bracket, argument = line.lstrip(".").partition("[")
    if not bracket:
        return name
    positions = argument.removesuffix("]").split(",")
    if not all(position.isdecimal() and int(position) < len(tokens) for position in positions):
        raise ValueError(f"annotation: {line!r} does not point to tokens")
    return f"{name}[{','.join(tokens[int(position)] for position in positions)}]"


def _rows(path: Path, columns: list[str], *, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Rows after the header: number (from 1), line, cells. More cells than columns are taken if empty."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(reader, [])
            if [name for name in header if name] != columns:
                raise BadFile(path, f"expected the columns {', '.join(columns)}", line=1)
            line = reader.line_num
            for number, cells in enumerate(reader, start=1):
                first, line = line + 1, reader.line_num
                if len(cells) < len(columns) or any(cells[len(columns) :]):
                    message = f"expected {len(columns)} columns, found {len(cells)}"
                    raise BadFile(path, message, line=first)
                yield number, first, cells
    except OSError as error:
        raise BadFile(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise BadFile(path, f"not UTF-8 text: {error.reason}") from error
    except csv.Error as error:
        raise BadFile(path, str(error), line=reader.line_num) from error
