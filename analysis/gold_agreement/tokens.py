"""Tokens that spans cover, for many people and nodes at once.

There is no cell for every token.
"""

import numpy as np

from ..faithfulness.overlap import Index
from ..stats.arrays import Array


def merge_spans(group: Index, start: Index, end: Index) -> tuple[Index, Index, Index]:
    """Join the spans of each group that overlap or touch.

    The result is group, start and end, sorted.

    Examples:
        >>> [part.tolist() for part in merge_spans(*np.array([[0, 0, 0, 1], [3, 0, 1, 0], [5, 2, 3, 1]]))]
        [[0, 1], [0, 0], [5, 1]]
    """
    order = np.lexsort((start, group))
    group, start, end = group[order], start[order], end[order]
    if not len(group):
        return group, start, end
    shift = group * (int(end.max()) + 1)  # groups lie one after the other, so that one running maximum does
    reach = np.maximum.accumulate(end + shift)
    opens = np.ones(len(group), dtype=bool)
    opens[1:] = (group[1:] != group[:-1]) | (start[1:] + shift[1:] > reach[:-1])
    closes = np.flatnonzero(np.append(opens[1:], True))
    return group[opens], start[opens], (reach - shift)[closes]


def count_covered_tokens(group: Index, start: Index, end: Index, groups: int) -> Index:
    """Count the tokens that the spans of each group cover."""
    group, start, end = merge_spans(group, start, end)
    return np.bincount(group, end - start, minlength=groups).astype(np.int64)


def sum_disagreement(unit: Index, start: Index, end: Index, raters: Index) -> Array:
    """Sum over a unit's tokens c (m − c) / (m − 1).

    c of the unit's m raters cover the token. unit, start, end: spans, those of one
    rater not overlapping. raters: of each unit, two or more.
    """
    position = np.concatenate([start, end])
    step = np.repeat([1, -1], len(start))
    of = np.concatenate([unit, unit])
    order = np.lexsort((position, of))
    position, of, marks = position[order], of[order], np.cumsum(step[order])
    length = np.where(of[1:] == of[:-1], np.diff(position), 0)
    m = raters[of[:-1]]
    sums = marks[:-1] * (m - marks[:-1]) / (m - 1) * length
    return np.bincount(of[:-1], sums, minlength=len(raters)).astype(float)
