"""Parse the two tables: rows of boxes (CSV) and rows of programs (TSV).

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

from analysis.io.spreadsheet import unescape_formula
from analysis.programs import Program, parse_lines
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.text_files import open_text
from foundation.messages import extract_message, field_error, prefix_field, say

BOX_COLUMNS = ["Incorrect program", "Example No.", "identifier", "module_identifier", "module", "annotation"]
PROGRAM_COLUMNS = ["sentence", "annotation", "tokens", "all", "simple_count"]
# Python's csv module stops at 131,072 characters, but a cell may have thousands of boxes.
LONGEST_CELL = 50_000_000

_PLACE = re.compile(r"q(\d+)-m(\d+)-([01])")
_PLAIN_TOKEN = re.compile(r"(?:^|, )(?=\d+: )")


class Cell(NamedTuple):
    """The cell that a box row fills."""

    node: int
    image: int


@dataclass(frozen=True)
class BoxRow:
    """A row of the CSV: its number (from 1), all its texts, and its line."""

    number: int
    cells: tuple[str, ...]
    line: int = 0

    @property
    def flag(self) -> str:
        """Return the flag, "1" for unusable examples."""
        return self.cells[0]

    @property
    def identifier(self) -> str:
        """Return the example's identifier."""
        return self.cells[2]

    @property
    def module(self) -> str:
        """Return the module with its argument."""
        return self.cells[4]

    @property
    def text(self) -> str:
        """Return the boxes as JSON, or the empty text."""
        return self.cells[5]

    @property
    def cell(self) -> Cell:
        """Return the cell."""
        match = _PLACE.fullmatch(self.cells[3])
        assert match is not None  # `read_box_rows` checked it
        return Cell(int(match[2]), int(match[3]))


def read_box_rows(path: Path, findings: Findings) -> Iterator[BoxRow]:
    """Yield every row; those without an identifier name no cell.

    Raises:
        BadFile: Names line and column.
    """
    for number, line, cells in _read_rows(path, BOX_COLUMNS, findings, delimiter=","):
        row = BoxRow(number, tuple(cells), line)
        match = _PLACE.fullmatch(cells[3])
        problem = ""
        if not row.identifier:
            problem = prefix_field("identifier", say("is missing; add it")) if any(cells[2:]) else ""
        elif match is None:
            problem = prefix_field(
                "module_identifier", say("expected the form q50-m16-0, found %(found)r", found=cells[3])
            )
        elif match[1] != cells[1]:
            problem = prefix_field(
                "module_identifier",
                say("%(id)r is not of example %(example)r", id=cells[3], example=cells[1]),
            )
        if problem:
            findings.refuse(ValueError(problem), path, line=line)
        else:
            yield row


@dataclass(frozen=True)
class ProgramRow:
    """A row of the TSV: its number (from 1), its texts, and its line."""

    number: int
    cells: tuple[str, ...]
    line: int = 0

    @property
    def key(self) -> str:
        """Return the sentence in lower case, which examples are joined by."""
        return self.cells[0].strip().lower()

    @cached_property
    def tokens(self) -> list[str]:
        """Return the words that arguments point to."""
        return parse_tokens(self.cells[2])

    def program(self) -> Program:
        """Return the program of words.

        Raises:
            ProgramError: It is ill-typed or not a statement.
        """
        return parse_lines(self.cells[1], kind="boxes", tokens=self.tokens, root="truth")

    def labels(self) -> list[str]:
        """Return each line as box rows name it: ``find[golden,retriever]``.

        Raises:
            ValueError: A position is out of range.
        """
        return [_format_label(line, self.tokens) for line in self.cells[1].split("\n")]


def read_program_rows(path: Path, findings: Findings) -> Iterator[ProgramRow]:
    """Yield every row; tokens are parsed on access.

    Raises:
        BadFile: Names line and column.
    """
    for number, line, cells in _read_rows(path, PROGRAM_COLUMNS, findings, delimiter="\t"):
        yield ProgramRow(number, tuple(cells), line)


def parse_tokens(text: str) -> list[str]:
    """Parse the words of a cell such as ``{0: 'two', 1: 'dogs'}``.

    In the release, 231 cells lack the quotes.

    Raises:
        ValueError: The cell has another form.
    """
    try:
        words = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if not (text.startswith("{") and text.endswith("}")):
            raise field_error("tokens", "expected {0: word, 1: word, …}") from None
        pairs = (part.partition(": ") for part in _PLAIN_TOKEN.split(text[1:-1]) if part)
        words = {int(number): word for number, colon, word in pairs if colon and number.isdecimal()}
    if not isinstance(words, dict) or list(words) != list(range(len(words))):
        raise field_error("tokens", "expected positions from 0 upwards, each with its word")
    return [str(word) for word in words.values()]


def _format_label(line: str, tokens: list[str]) -> str:
    name, bracket, argument = line.lstrip(".").partition("[")
    if not bracket:
        return name
    positions = argument.removesuffix("]").split(",")
    if not all(position.isdecimal() and int(position) < len(tokens) for position in positions):
        raise field_error("annotation", "%(line)r does not point to tokens", line=line)
    return f"{name}[{','.join(tokens[int(position)] for position in positions)}]"


def _read_rows(
    path: Path, columns: list[str], findings: Findings, *, delimiter: str
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield number (from 1), line and cells of the rows after the header.

    Extra cells are accepted if they are empty.
    """
    csv.field_size_limit(LONGEST_CELL)
    with open_text(path, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        number = line = 0
        while True:
            first = line + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                findings.refuse(
                    BadFile(
                        path, say("not a table: %(problem)s", problem=extract_message(error)), line=first
                    ),
                    path,
                )
                continue
            finally:
                line = reader.line_num
            if first == 1:
                if [name for name in cells if name] != columns:
                    raise BadFile(
                        path, say("expected the columns %(names)s", names=", ".join(columns)), line=1
                    )
                continue
            number += 1
            if len(cells) < len(columns) or any(cells[len(columns) :]):
                message = say(
                    "expected %(number)s columns, found %(found)s", number=len(columns), found=len(cells)
                )
                findings.refuse(BadFile(path, message, line=first), path)
            else:
                yield number, first, [unescape_formula(cell) for cell in cells]
