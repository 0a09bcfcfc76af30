"""How two things of one image lie to each other: yes, no, or too close to call (None).

A claim about a pair that is too close to call is never made, so that two people cannot read it differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from modelserver.world.scenes.things import APART, DEEP, SIZES, TOGETHER, Outline, Thing

SIDEWAYS = 24.0  # centres so far apart make one thing lie to the left of the other
STRAIGHT = 10.0  # centres at most so far from one vertical are straight above each other


def gap(one: Thing, other: Thing) -> float:
    """Return the smallest distance between the outlines; boxes and flags count as filled rectangles."""
    if not one.is_shape:
        one, other = other, one
    if not other.is_shape:
        return _to_rectangle(one.outline, other.bounds)
    if math.hypot(one.x - other.x, one.y - other.y) > _reach(one) + _reach(other) + APART:
        return APART
    return _distance(one.outline, other.outline)


def contact(one: Thing, other: Thing) -> str | None:
    """Say how two shapes lie: ``apart``, ``touching``, ``overlapping``, or None where one cannot tell."""
    distance = gap(one, other)
    if distance >= APART:
        nested = abs(one.x - other.x) + abs(one.y - other.y) < SIZES["small"] / 2
        return None if nested else "apart"
    if distance > TOGETHER:
        return None
    within = [_drawn_in(thing) for thing in (one, other)]
    return "overlapping" if _distance(*within) <= TOGETHER else "touching"


def inside(one: Thing, other: Thing) -> bool:
    """Whether the outline lies within the rectangle of the other, away from its edge."""
    left, top, right, bottom = other.bounds
    x, y = one.outline[:, 0], one.outline[:, 1]
    return bool(
        x.min() - left >= APART
        and right - x.max() >= APART
        and y.min() - top >= APART
        and bottom - y.max() >= APART
    )


def still_seen(below: Thing, above: Thing) -> tuple[float, float]:
    """Return which share of the lower outline is free, and which share of its rectangle that spans."""
    free = below.outline[~_within(below.outline, above.outline)]
    if len(free) < 2:
        return 0.0, 0.0
    span = np.ptp(free, axis=0) / np.ptp(below.outline, axis=0)
    return len(free) / len(below.outline), float(span[0] * span[1])


def _reach(thing: Thing) -> float:
    return SIZES[thing.size] * 0.62


def _distance(one: Outline, other: Outline) -> float:
    return float(cdist(one, other).min())


def _to_rectangle(points: Outline, bounds: tuple[float, float, float, float]) -> float:
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    outside = np.maximum(np.maximum(low - points, points - high), 0)
    return float(np.hypot(outside[:, 0], outside[:, 1]).min())


def _drawn_in(thing: Thing) -> Outline:
    centre = np.array((thing.x, thing.y))
    return (thing.outline - centre) * (1 - 2 * DEEP / SIZES[thing.size]) + centre


def _within(points: Outline, outline: Outline) -> np.ndarray:
    """Tell for each point whether it lies inside the outline (crossings of a ray to the right)."""
    start, end = outline, np.roll(outline, -1, axis=0)
    x, y = points[:, :1], points[:, 1:]
    spans = (start[:, 1] > y) != (end[:, 1] > y)
    rise = np.where(end[:, 1] == start[:, 1], 1.0, end[:, 1] - start[:, 1])
    crossing = start[:, 0] + (y - start[:, 1]) / rise * (end[:, 0] - start[:, 0])
    return np.asarray(((spans & (x < crossing)).sum(axis=1) % 2) == 1)


def _left_of(one: Thing, other: Thing) -> bool | None:
    distance = other.x - one.x
    return True if distance >= SIDEWAYS else False if distance <= 2 else None


def _directly_above(one: Thing, other: Thing) -> bool | None:
    sideways, half = abs(one.x - other.x), (SIZES[one.size] + SIZES[other.size]) / 2
    if one.y >= other.y or sideways >= half:
        return False
    return True if sideways <= STRAIGHT and one.bounds[3] <= other.bounds[1] + 4 else None


def _in_contact(kind: str) -> Callable[[Thing, Thing], bool | None]:
    def related(one: Thing, other: Thing) -> bool | None:
        found = contact(one, other)
        return found == kind if found in (kind, "apart") else None

    return related


def _held(one: Thing, other: Thing) -> bool:
    return one.holder == other.number


RELATIONS: dict[str, Callable[[Thing, Thing], bool | None]] = {
    "left of": _left_of,
    "right of": lambda one, other: _left_of(other, one),
    "directly above": _directly_above,
    "directly below": lambda one, other: _directly_above(other, one),
    "touching": _in_contact("touching"),
    "overlapping": _in_contact("overlapping"),
    "inside": _held,
    "with": lambda one, other: _held(other, one),
}
"""What `with-relation` may be asked about, by the words of the sentence; first and second thing differ."""


def holds(relation: str, one: Thing, other: Thing) -> bool | None:
    """Say whether the relation holds between two things; things of different images are in none."""
    if one.image != other.image or one.number == other.number:
        return False
    return RELATIONS[relation](one, other)
