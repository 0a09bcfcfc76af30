"""One-to-one matching of two people's objects.

The matching has most pairs, then the largest overlap. An object that overlaps
only one of the other person's, which overlaps nothing else, is matched with it
at once. Only what is left, where an object overlaps several, needs an optimal
assignment.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from ..faithfulness.overlap import Index, find_overlaps, list_range_members
from ..stats.arrays import Array
from .items import Layers
from .outlines import compute_likeness


@dataclass(frozen=True)
class Overlaps:
    """All overlapping objects of all pairs of layers.

    pair: the pair; first, second: numbers of the objects, different for each pair
    and side; overlap: their intersection over union.
    """

    pair: Index
    first: Index
    second: Index
    overlap: Array


def find_layer_overlaps(layers: Layers) -> Overlaps:
    """Find overlapping objects of each pair of layers, in the same image."""
    counts, counts_ = layers.count[layers.first], layers.count[layers.second]
    pair, row = list_range_members(layers.start[layers.first], counts)
    starts = layers.start[layers.second]
    first_other = np.cumsum(counts_) - counts_
    chunks: list[tuple[Index, Index, Index, Array]] = []
    for first, there, overlap in find_overlaps(layers.boxes[row], layers.boxes, starts[pair], counts_[pair]):
        same = layers.image[row[first]] == layers.image[there]
        first, there, overlap = first[same], there[same], overlap[same]
        own = pair[first]
        if layers.outlines:
            overlap = _refine_overlaps(layers, row[first], there, overlap)
        chunks.append((own, first, first_other[own] + there - starts[own], overlap))
    if not chunks:
        nothing = np.zeros(0, dtype=np.int64)
        return Overlaps(nothing, nothing, nothing, np.zeros(0))
    own, ones, others, amounts = (np.concatenate(column) for column in zip(*chunks, strict=True))
    return Overlaps(own, ones, others, amounts)


def _refine_overlaps(layers: Layers, first: Index, second: Index, overlap: Array) -> Array:
    """Return the overlaps with those of outlines in place of their boxes'."""
    outlines = layers.outlines
    exact = overlap.copy()
    for index, (own, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        if own in outlines and other in outlines:
            exact[index] = compute_likeness(outlines[own], outlines[other])
    return exact


def mark_best_matching(overlaps: Overlaps, above: float) -> NDArray[np.bool_]:
    """Mark the best one-to-one matching among overlaps above a threshold.

    The best matching has the most pairs, and among those the largest sum of
    overlaps.
    """
    edges = np.flatnonzero(overlaps.overlap > above)
    first, second = overlaps.first[edges], overlaps.second[edges]
    alone = (_count_occurrences(first) == 1) & (_count_occurrences(second) == 1)
    chosen = np.zeros(len(overlaps.overlap), dtype=bool)
    chosen[edges[alone]] = True
    rest = edges[~alone]
    rest = rest[np.argsort(overlaps.pair[rest], kind="stable")]
    cuts = np.flatnonzero(np.diff(overlaps.pair[rest])) + 1
    for group in np.split(rest, cuts) if len(rest) else []:
        chosen[group[assign(overlaps.first[group], overlaps.second[group], overlaps.overlap[group])]] = True
    return chosen


def assign(first: Index, second: Index, overlap: Array) -> Index:
    """Return the edges of the best matching of a graph given by its edges."""
    rows, row = np.unique(first, return_inverse=True)
    columns, column = np.unique(second, return_inverse=True)
    edge = np.full((len(rows), len(columns)), -1)
    edge[row, column] = np.arange(len(first))
    weight = np.zeros(edge.shape)
    weight[row, column] = min(edge.shape) + 1 + overlap  # one more pair outweighs any overlaps
    best = edge[scipy.optimize.linear_sum_assignment(weight, maximize=True)]
    return np.asarray(best[best >= 0])


def _count_occurrences(key: Index) -> Index:
    """Count how often each value occurs, at its positions."""
    if not len(key):
        return key
    return np.bincount(key)[key]
