"""Objects of several people that mean the same thing, with the object that stands in their middle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

import numpy as np

from ..faithfulness.overlap import overlapping
from ..stats.arrays import Array
from .items import Box, Span

Object = TypeVar("Object", Box, Span)


@dataclass(frozen=True)
class Cluster(Generic[Object]):
    """Objects that belong together, at most one of each person.

    members: annotator to the place of the object in what they gave. median: of boxes the median of each
    side; of spans the one that most people chose.
    """

    members: Mapping[str, int]
    median: Object


def box_clusters(objects: Mapping[str, Sequence[Box]], *, above: float = 0.5) -> list[Cluster[Box]]:
    """Groups the boxes of several people at one node.

    The two that overlap most, of different people and in one image, are joined first; two groups are joined
    where they share no person and their members overlap by more than `above` on average. Every box is in one
    cluster, alone if need be. The order is by image, then from top to bottom and left to right.

    objects: annotator to their boxes, (image, (left, top, right, bottom)). Who comes first does not matter.
    """
    people, places, rows = _listed(objects)
    boxes = np.array([sides for _, sides in rows], dtype=float).reshape(-1, 4)
    images = np.array([image for image, _ in rows])
    found = []
    for group in _joined(people, _table(boxes, images), above):
        left, top, right, bottom = map(float, np.median(boxes[group], axis=0))
        median = (int(images[group[0]]), (left, top, right, bottom))
        found.append(Cluster({people[one]: places[one] for one in group}, median))
    return sorted(found, key=lambda one: (one.median[0], one.median[1][1], one.median[1][0], one.median[1]))


def span_clusters(objects: Mapping[str, Sequence[Span]], *, above: float = 0.0) -> list[Cluster[Span]]:
    """Groups the spans of several people at one node, as `box_clusters` does; overlap is that of tokens.

    A cluster's median is the span that most chose; of several the one that overlaps the others most, then
    the earliest and shortest. The order is that of the text.
    """
    people, places, rows = _listed(objects)
    boxes = np.array([(start, 0, end, 1) for start, end in rows], dtype=float).reshape(-1, 4)
    table = _table(boxes, np.zeros(len(rows)))
    found = []
    for group in _joined(people, table, above):
        spans = [tuple(rows[one]) for one in group]
        shared = table[np.ix_(group, group)].sum(axis=1)
        best = min(
            range(len(group)), key=lambda one: (-spans.count(spans[one]), -round(shared[one], 9), spans[one])
        )
        found.append(Cluster({people[one]: places[one] for one in group}, rows[group[best]]))
    return sorted(found, key=lambda one: one.median)


def _listed(objects: Mapping[str, Sequence[Object]]) -> tuple[list[str], list[int], list[Object]]:
    """All objects with their people and places, in an order that does not depend on the mapping's."""
    listed = [(who, place, one) for who in sorted(objects) for place, one in enumerate(objects[who])]
    return [who for who, _, _ in listed], [place for _, place, _ in listed], [one for _, _, one in listed]


def _table(boxes: Array, images: Array) -> Array:
    """Overlap of every two boxes; 0 between images."""
    count = len(boxes)
    table = np.zeros((count, count))
    nothing = np.zeros(count, dtype=np.int64)
    for one, other, overlap in overlapping(boxes, boxes, nothing, nothing + count):
        table[one, other] = np.where(images[one] == images[other], overlap, 0.0)
    return table


def _joined(people: Sequence[str], table: Array, above: float) -> list[list[int]]:
    """Groups of objects, joined from the largest overlap down."""
    group = {one: [one] for one in range(len(people))}
    candidates = [
        (one, other) for one, other in combinations(range(len(people)), 2) if table[one, other] > above
    ]
    for one, other in sorted(candidates, key=lambda pair: -table[pair]):
        first, second = group[one], group[other]
        if {people[place] for place in first} & {people[place] for place in second}:
            continue
        if table[np.ix_(first, second)].mean() > above:
            merged = sorted(first + second)
            group.update(dict.fromkeys(merged, merged))
    return [members for place, members in group.items() if members[0] == place]
