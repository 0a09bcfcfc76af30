"""Word vectors made elsewhere, read from a file in the text form of GloVe (Pennington et al. 2014)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modelserver.inputs.features import Floats
from modelserver.wire.errors import UnreadableData


@dataclass(frozen=True)
class WordVectors:
    """Lower-cased words and their vectors, in the order of the file."""

    words: tuple[str, ...]
    table: Floats  # [words, size]


def read_vectors(path: Path, *, wanted: Collection[str], first: int) -> WordVectors:
    """Read the vectors of the ``wanted`` words, and of the ``first`` lines, which hold the most frequent.

    A line is a word and its numbers, parted by single spaces; a word may itself hold spaces. A first line of
    two whole numbers, as fastText writes it, is skipped. Of spellings that differ in case alone the first
    counts. The file is streamed; what is kept is in memory. Raises UnreadableData naming file and line.
    """
    found: dict[str, Floats] = {}
    size = 0
    for number, fields in _lines(path):
        if not size:
            size = len(fields) - 1
            if size < 1:
                raise UnreadableData(f"{path}: line {number}: a word and its numbers are expected")
        word = " ".join(fields[:-size]).lower()
        if not word:
            raise UnreadableData(f"{path}: line {number}: a word and {size} numbers are expected")
        if word not in found and (number <= first or word in wanted):
            found[word] = _vector(fields[-size:], f"{path}: line {number}")
    if not found:
        raise UnreadableData(f"{path}: not one vector is of a word in the data")
    return WordVectors(tuple(found), np.stack(list(found.values())))


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers from 1 and the fields of each line that is neither empty nor fastText's first."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    fields = line.decode().rstrip().split(" ")
                except UnicodeDecodeError as error:
                    raise UnreadableData(f"{path}: line {number}: not UTF-8") from error
                counts = number == 1 and len(fields) == 2 and all(map(str.isdecimal, fields))
                if fields != [""] and not counts:
                    yield number, fields
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error


def _vector(fields: list[str], where: str) -> Floats:
    try:
        vector = np.array(fields, dtype=np.float32)
    except ValueError as error:
        raise UnreadableData(f"{where}: {len(fields)} numbers are expected after the word") from error
    if not np.isfinite(vector).all():
        raise UnreadableData(f"{where}: a number is not finite")
    return vector
