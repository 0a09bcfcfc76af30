"""Clusters of several people's objects that mean the same, with medians."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

import numpy as np

from ..faithfulness.overlap import find_overlaps
from ..stats.arrays import Array
from .items import Box, Span, reach_of
from .outlines import Outline, compute_likeness

Object = TypeVar("Object", Box, Span)


@dataclass(frozen=True)
class Cluster(Generic[Object]):
    """Objects that belong together, at most one of each person.

    Attributes:
        members: Annotator to the index of the object in what they gave.
        median: Of boxes the median of each side; of spans the one that most people chose.
    """

    members: Mapping[str, int]
    median: Object


def _check_extents(rows: Sequence[object], boxes: Array) -> None:
    for row, (left, top, right, bottom) in zip(rows, boxes, strict=True):
        if not (left < right and top < bottom):
            raise ValueError(f"objects must cover something, unlike {row!r}")


def _check_overlap(above: float) -> None:
    if not 0 <= above <= 1:
        raise ValueError(f"above must be from 0 to 1, not {above}")


def box_clusters(objects: Mapping[str, Sequence[Box]], *, above: float = 0.5) -> list[Cluster[Box]]:
    """Group the boxes of several people at a node.

    The two that overlap most, of different people and in one image, are joined first; two groups are joined
    if they share no person and their members overlap by more than `above` on average. Every box is in one
    cluster, alone if need be. Clusters do not depend on the order of the people.

    Args:
        objects: Annotator to their boxes, (image, (left, top, right, bottom)), with an outline as a third
            part if there is one.
        above: Overlap (intersection over union) that the members must exceed on average, from 0 to 1.

    Returns:
        Clusters by image, then from top to bottom and left to right; medians in the unit of the boxes.

    Raises:
        ValueError: `above` is not from 0 to 1, or an object covers nothing.

    Examples:
        >>> box = (0, (0.1, 0.1, 0.5, 0.5))
        >>> [cluster.members for cluster in box_clusters({"ada": [box], "ben": [box]})]
        [{'ada': 0, 'ben': 0}]
    """
    _check_overlap(above)
    people, indices, rows = _list_objects(objects)
    boxes = np.array([row[1] for row in rows], dtype=float).reshape(-1, 4)
    images = np.array([row[0] for row in rows])
    reach = np.array([reach_of(row) for row in rows]).reshape(-1, 4)
    _check_extents(rows, reach)
    table = _compute_overlaps(reach, images)
    outlines = {index: row[2] for index, row in enumerate(rows) if len(row) == 3}
    if outlines:
        table = _refine_overlaps(table, outlines)
    clusters = []
    for group in _join_groups(people, table, above):
        left, top, right, bottom = map(float, np.median(boxes[group], axis=0))
        median: Box = (int(images[group[0]]), (left, top, right, bottom))
        if group[0] in outlines:
            median = _choose_middle_outline(group, rows, table, median)
        clusters.append(Cluster({people[member]: indices[member] for member in group}, median))
    return sorted(
        clusters,
        key=lambda cluster: (
            cluster.median[0],
            cluster.median[1][1],
            cluster.median[1][0],
            cluster.median[1],
        ),
    )


def span_clusters(objects: Mapping[str, Sequence[Span]], *, above: float = 0.0) -> list[Cluster[Span]]:
    """Group the spans of several people at a node, as `box_clusters` does.

    A cluster's median is the span that most chose; of several the one that overlaps the others most, then the
    earliest and shortest.

    Args:
        objects: Annotator to their spans, (start, end) in tokens, end exclusive.
        above: Overlap (intersection over union of tokens) that the members must exceed on average, from 0 to
            1.

    Returns:
        Clusters in the order of the text.

    Raises:
        ValueError: `above` is not from 0 to 1, or an object covers nothing.
    """
    _check_overlap(above)
    people, indices, rows = _list_objects(objects)
    boxes = np.array([(start, 0, end, 1) for start, end in rows], dtype=float).reshape(-1, 4)
    _check_extents(rows, boxes)
    table = _compute_overlaps(boxes, np.zeros(len(rows)))
    clusters = []
    for group in _join_groups(people, table, above):
        spans = [tuple(rows[member]) for member in group]
        shared = table[np.ix_(group, group)].sum(axis=1)
        best = min(
            range(len(group)),
            key=lambda member: (-spans.count(spans[member]), -round(shared[member], 9), spans[member]),
        )
        clusters.append(Cluster({people[member]: indices[member] for member in group}, rows[group[best]]))
    return sorted(clusters, key=lambda cluster: cluster.median)


def _list_objects(objects: Mapping[str, Sequence[Object]]) -> tuple[list[str], list[int], list[Object]]:
    """List all objects with people and positions, in an order of their own.

    The order does not depend on the mapping's.
    """
    listed = [(who, index, mark) for who in sorted(objects) for index, mark in enumerate(objects[who])]
    return [who for who, _, _ in listed], [index for _, index, _ in listed], [mark for _, _, mark in listed]


def _compute_overlaps(boxes: Array, images: Array) -> Array:
    """Compute the overlap of every two boxes; 0 between images."""
    count = len(boxes)
    table = np.zeros((count, count))
    nothing = np.zeros(count, dtype=np.int64)
    for first, second, overlap in find_overlaps(boxes, boxes, nothing, nothing + count):
        table[first, second] = np.where(images[first] == images[second], overlap, 0.0)
    return table


def _refine_overlaps(table: Array, outlines: Mapping[int, Outline]) -> Array:
    """Return the overlaps with those of outlines in place of their boxes'."""
    exact = table.copy()
    for first, second in np.argwhere(np.triu(table, 1) > 0).tolist():
        if first in outlines and second in outlines:
            exact[first, second] = exact[second, first] = compute_likeness(outlines[first], outlines[second])
    return exact


def _choose_middle_outline(group: Sequence[int], rows: Sequence[Box], table: Array, median: Box) -> Box:
    """Return the median of points, or the polygon most like the others."""
    image, (left, top, _right, _bottom) = median[:2]
    if len(rows[group[0]][-1]) == 1:
        return image, (left, top, left, top), ((left, top),)
    shared = table[np.ix_(group, group)].sum(axis=1)
    return rows[group[int(np.argmax(np.round(shared, 9)))]]


def _join_groups(people: Sequence[str], table: Array, above: float) -> list[list[int]]:
    """Join groups of objects from the largest overlap down."""
    group = {left: [left] for left in range(len(people))}
    candidates = [
        (left, right) for left, right in combinations(range(len(people)), 2) if table[left, right] > above
    ]
    for left, right in sorted(candidates, key=lambda pair: -table[pair]):
        first, second = group[left], group[right]
        if {people[member] for member in first} & {people[member] for member in second}:
            continue
        if table[np.ix_(first, second)].mean() > above:
            merged = sorted(first + second)
            group.update(dict.fromkeys(merged, merged))
    return [members for member, members in group.items() if members[0] == member]
