"""Reads proposed verdicts: CSV of question, answer, proposal and by.

Pure: no Django.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from foundation.errors import BadFile
from foundation.messages import say

COLUMNS = ("question", "answer", "proposal", "by")
VERDICTS = {"correct": True, "wrong": False}
MOST_ROWS = 50_000
LONGEST_NAME = 100


class Proposal(NamedTuple):
    """A row of the file: a verdict that somebody proposes for an answer."""

    line: int
    question: str
    answer: str
    is_correct: bool
    by: str


def read_proposals(text: str, name: str) -> list[Proposal]:
    """Read all rows.

    Args:
        text: The content of the file.
        name: The name by which messages call the file.

    Raises:
        BadFile: Names line and column of the first problem.
    """
    path = Path(name)
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        header = next(reader, [])
        if tuple(header) != COLUMNS:
            raise BadFile(path, say("the columns must be %(names)s", names=", ".join(COLUMNS)), line=1)
        rows = list(_parse_rows(reader, path))
    except csv.Error as error:
        raise BadFile(path, str(error), line=reader.line_num) from error
    if not rows:
        raise BadFile(path, say("holds no proposal"))
    return rows


def _parse_rows(reader: Any, path: Path) -> Iterator[Proposal]:
    seen = set()
    for number, row in enumerate(reader, start=1):
        line = reader.line_num
        if not row:
            continue
        if number > MOST_ROWS:
            raise BadFile(path, say("has more than %(most)s rows", most=MOST_ROWS), line=line)
        if len(row) != len(COLUMNS):
            raise BadFile(
                path,
                say("has %(count)s columns, not %(columns)s", count=len(row), columns=len(COLUMNS)),
                line=line,
            )
        if bad := next((field for field, cell in zip(COLUMNS, row, strict=True) if "\0" in cell), ""):
            raise BadFile(path, say("holds the character NUL, which cannot be stored"), line=line, field=bad)
        question, answer, proposal, by = row
        if proposal not in VERDICTS:
            raise BadFile(
                path,
                say(
                    "%(proposal)r is not one of %(names)s", proposal=proposal[:40], names=", ".join(VERDICTS)
                ),
                line=line,
                field="proposal",
            )
        if not 0 < len(by.strip()) <= LONGEST_NAME:
            raise BadFile(
                path,
                say("must have 1 to %(most)s characters", most=LONGEST_NAME),
                line=line,
                field="by",
            )
        if (question, answer, by) in seen:
            raise BadFile(path, say("proposes a verdict for this answer twice"), line=line, field="answer")
        seen.add((question, answer, by))
        yield Proposal(line, question, answer, VERDICTS[proposal], by.strip())
