"""Which objects of two people are the same: one-to-one, most pairs first, then the largest overlap.

An object that overlaps only one of the other person's, which overlaps nothing else, is matched with it at
once. Only what is left, where somebody's object overlaps several, needs an optimal assignment.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ..faithfulness.overlap import Index, overlapping, ragged
from ..stats.arrays import Array
from .items import Layers


@dataclass(frozen=True)
class Overlaps:
    """All overlapping objects of all pairs of layers.

    pair: the pair; one, other: numbers of the objects, different for each pair and side; overlap: their
    intersection over union.
    """

    pair: Index
    one: Index
    other: Index
    overlap: Array


def overlaps_of(layers: Layers) -> Overlaps:
    """Every two objects of a pair of layers that overlap, in the same image."""
    counts, counts_ = layers.count[layers.first], layers.count[layers.second]
    pair, place = ragged(layers.start[layers.first], counts)
    starts = layers.start[layers.second]
    first_other = np.cumsum(counts_) - counts_
    found: list[tuple[Index, Index, Index, Array]] = []
    for one, there, overlap in overlapping(layers.boxes[place], layers.boxes, starts[pair], counts_[pair]):
        same = layers.image[place[one]] == layers.image[there]
        one, there, overlap = one[same], there[same], overlap[same]
        own = pair[one]
        found.append((own, one, first_other[own] + there - starts[own], overlap))
    if not found:
        nothing = np.zeros(0, dtype=np.int64)
        return Overlaps(nothing, nothing, nothing, np.zeros(0))
    own, ones, others, amounts = (np.concatenate(column) for column in zip(*found, strict=True))
    return Overlaps(own, ones, others, amounts)


def matched(overlaps: Overlaps, above: float) -> NDArray[np.bool_]:
    """Which of the overlapping pairs make up the best one-to-one matching among overlaps above a threshold.

    The best matching has the most pairs, and among those the largest sum of overlaps.
    """
    edges = np.flatnonzero(overlaps.overlap > above)
    one, other = overlaps.one[edges], overlaps.other[edges]
    alone = (_degree(one) == 1) & (_degree(other) == 1)
    chosen = np.zeros(len(overlaps.overlap), dtype=bool)
    chosen[edges[alone]] = True
    rest = edges[~alone]
    rest = rest[np.argsort(overlaps.pair[rest], kind="stable")]
    cuts = np.flatnonzero(np.diff(overlaps.pair[rest])) + 1
    for group in np.split(rest, cuts) if len(rest) else []:
        chosen[group[assign(overlaps.one[group], overlaps.other[group], overlaps.overlap[group])]] = True
    return chosen


def assign(one: Index, other: Index, overlap: Array) -> Index:
    """Places of the edges of the best matching of a graph given by its edges."""
    rows, row = np.unique(one, return_inverse=True)
    columns, column = np.unique(other, return_inverse=True)
    edge = np.full((len(rows), len(columns)), -1)
    edge[row, column] = np.arange(len(one))
    weight = np.zeros(edge.shape)
    weight[row, column] = min(edge.shape) + 1 + overlap  # one more pair outweighs any overlaps
    found = edge[linear_sum_assignment(weight, maximize=True)]
    return np.asarray(found[found >= 0])


def _degree(key: Index) -> Index:
    """How often each value occurs, by its places."""
    if not len(key):
        return key
    return np.bincount(key)[key]
