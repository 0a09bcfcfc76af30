"""Streams in batches, so that memory is bounded.

Pure: no Django.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Row = TypeVar("Row")


def cut_batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Cut a stream into lists of a size; the last may be shorter.

    >>> list(cut_batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    stream = iter(rows)
    while batch := list(islice(stream, size)):
        yield batch
