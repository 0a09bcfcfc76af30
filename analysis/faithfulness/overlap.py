"""Overlap of the boxes of two lists: many pairs at once."""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..stats.arrays import Array, split_into_chunks

Index = NDArray[np.int64]
PAIRS_PER_CHUNK = 12_288  # pairs looked at at once: their arrays stay in the processor's cache
ROUNDING = 1e-9  # relative; no pair at a threshold may be lost to it


def list_range_members(starts: Index, counts: Index) -> tuple[Index, Index]:
    """List all members of many ranges, one range after the other.

    Range i is starts[i], …, starts[i] + counts[i] − 1. Returns the range and the value of each member.

    Examples:
        >>> [part.tolist() for part in list_range_members(np.array([5, 0]), np.array([2, 1]))]
        [[0, 0, 1], [5, 6, 0]]
    """
    owner = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) + np.repeat(starts - before, counts)


def find_overlaps(
    first: Array, second: Array, starts: Index, counts: Index, *, least: float = 0.0
) -> Iterator[tuple[Index, Index, Array]]:
    """Yield pairs of boxes that share an area, in chunks.

    Each chunk has the indices in first and second, and the intersections over
    union. A box without width or height overlaps nothing.

    first: n × 4, left, top, right, bottom. second: m × 4. Box i of the first is
    compared with the boxes starts[i], …, starts[i] + counts[i] − 1 of the second.
    least: pairs that overlap less may be left out.
    """
    ours, theirs = _build_columns(first), _build_columns(second)
    for count in map(int, np.unique(counts[counts > 0])):
        rows = np.flatnonzero(counts == count)
        windows = sliding_window_view(theirs, count, axis=1)
        for chunk in split_into_chunks(len(rows), PAIRS_PER_CHUNK // count):
            i = rows[chunk]
            shared, both = _compute_areas(ours[:, i, None], windows[:, starts[i]])
            kept = np.flatnonzero((1 + least) * shared > (least * (1 - ROUNDING)) * both)
            row, shared, both = i[kept // count], shared.ravel()[kept], both.ravel()[kept]
            yield row, starts[row] + kept % count, shared / (both - shared)


def _build_columns(boxes: Array) -> Array:
    """Return left, top, right, bottom and area: 5 × n."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return np.stack([*boxes.T, width * height])


def _compute_areas(ours: Array, theirs: Array) -> tuple[Array, Array]:
    """Return the area that boxes share, and the sum of their areas.

    5 × rows × 1 with 5 × rows × count give rows × count. The shared area is not
    above 0 if there is none.
    """
    left, top, right, bottom, area = ours
    left_, top_, right_, bottom_, area_ = theirs
    width, height = np.minimum(right, right_), np.minimum(bottom, bottom_)
    width -= np.maximum(left, left_)
    height -= np.maximum(top, top_)
    height *= np.maximum(width, 0, out=width)
    return height, area + area_
