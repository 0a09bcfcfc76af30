"""Pretrained word vectors in the text form of GloVe.

Source: Pennington et al. 2014.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.io.errors import describe_os_error
from modelserver.inputs.features import Floats
from modelserver.wire.errors import UnreadableData


@dataclass(frozen=True)
class WordVectors:
    """Lower-cased words and their vectors, in the order of the file."""

    words: tuple[str, ...]
    table: Floats  # [words, size]


def read_vectors(path: Path, *, wanted: Collection[str], first: int) -> WordVectors:
    """Read the vectors of some words, and of the most frequent ones.

    A line is a word and its numbers, separated by single spaces; a word may
    itself contain spaces. A first line of two whole numbers, as fastText
    writes it, is skipped. Of spellings that differ in case alone the first
    counts. The file is streamed.

    Args:
        path: File to read.
        wanted: Words to keep wherever they stand.
        first: Lines from the top whose words to keep.

    Raises:
        UnreadableData: A line is malformed; names file and line.
    """
    vectors: dict[str, Floats] = {}
    size = 0
    for number, fields in _read_lines(path):
        if not size:
            size = len(fields) - 1
            if size < 1:
                raise UnreadableData(f"{path}: line {number}: a word and its numbers are expected")
        word = " ".join(fields[:-size]).lower()
        if not word:
            raise UnreadableData(f"{path}: line {number}: a word and {size} numbers are expected")
        if word not in vectors and (number <= first or word in wanted):
            vectors[word] = _parse_vector(fields[-size:], f"{path}: line {number}")
    if not vectors:
        raise UnreadableData(f"{path}: not one vector is of a word in the data")
    return WordVectors(tuple(vectors), np.stack(list(vectors.values())))


def _read_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number from 1 and fields of each line that holds a vector."""
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
        raise UnreadableData(f"{path}: {describe_os_error(error)}") from error


def _parse_vector(fields: list[str], where: str) -> Floats:
    try:
        vector = np.array(fields, dtype=np.float32)
    except ValueError as error:
        raise UnreadableData(f"{where}: {len(fields)} numbers are expected after the word") from error
    if not np.isfinite(vector).all():
        raise UnreadableData(f"{where}: a number is not finite")
    return vector
