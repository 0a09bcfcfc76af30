"""Spatial relations of two things: yes, no, or too close to call (None).

A claim about a pair that is too close to call is never made, so that two people cannot read it
differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from modelserver.world.scenes.things import CLEAR_GAP, OVERLAP_DEPTH, SIZES, TOUCHING_GAP, Outline, Thing

SIDEWAYS_DISTANCE = 24.0  # centres so far apart make one thing lie to the left of the other
VERTICAL_TOLERANCE = 10.0  # centres at most so far from one vertical are straight above each other


def measure_gap(first: Thing, second: Thing) -> float:
    """Return the smallest distance between the outlines.

    Boxes and flags count as filled rectangles.
    """
    if not first.is_shape:
        first, second = second, first
    if not second.is_shape:
        return _to_rectangle(first.outline, second.bounds)
    if math.hypot(first.x - second.x, first.y - second.y) > _reach(first) + _reach(second) + CLEAR_GAP:
        return CLEAR_GAP
    return _measure_distance(first.outline, second.outline)


def classify_contact(first: Thing, second: Thing) -> str | None:
    """Return ``apart``, ``touching`` or ``overlapping``, None if unclear."""
    distance = measure_gap(first, second)
    if distance >= CLEAR_GAP:
        nested = abs(first.x - second.x) + abs(first.y - second.y) < SIZES["small"] / 2
        return None if nested else "apart"
    if distance > TOUCHING_GAP:
        return None
    within = [_shrink_outline(thing) for thing in (first, second)]
    return "overlapping" if _measure_distance(*within) <= TOUCHING_GAP else "touching"


def is_inside(first: Thing, second: Thing) -> bool:
    """Return True if the outline is in the other's rectangle, off its edge."""
    left, top, right, bottom = second.bounds
    x, y = first.outline[:, 0], first.outline[:, 1]
    return bool(min(x.min() - left, right - x.max(), y.min() - top, bottom - y.max()) >= CLEAR_GAP)


def compute_visible_shares(below: Thing, above: Thing) -> tuple[float, float]:
    """Return the free share of the lower outline, and of its rectangle.

    The second is the share of the rectangle that the free part spans.
    """
    free = below.outline[~_find_points_inside(below.outline, above.outline)]
    if len(free) < 2:
        return 0.0, 0.0
    span = np.ptp(free, axis=0) / np.ptp(below.outline, axis=0)
    return len(free) / len(below.outline), float(span[0] * span[1])


def _reach(thing: Thing) -> float:
    return SIZES[thing.size] * 0.62


def _measure_distance(first: Outline, second: Outline) -> float:
    return float(scipy.spatial.distance.cdist(first, second).min())


def _to_rectangle(points: Outline, bounds: tuple[float, float, float, float]) -> float:
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    outside = np.maximum(np.maximum(low - points, points - high), 0)
    return float(np.hypot(outside[:, 0], outside[:, 1]).min())


def _shrink_outline(thing: Thing) -> Outline:
    centre = np.array((thing.x, thing.y))
    return (thing.outline - centre) * (1 - 2 * OVERLAP_DEPTH / SIZES[thing.size]) + centre


def _find_points_inside(points: Outline, outline: Outline) -> np.ndarray:
    """Return which points lie inside the outline.

    Counts the crossings of a ray to the right.
    """
    start, end = outline, np.roll(outline, -1, axis=0)
    x, y = points[:, :1], points[:, 1:]
    spans = (start[:, 1] > y) != (end[:, 1] > y)
    rise = np.where(end[:, 1] == start[:, 1], 1.0, end[:, 1] - start[:, 1])
    crossing = start[:, 0] + (y - start[:, 1]) / rise * (end[:, 0] - start[:, 0])
    return np.asarray(((spans & (x < crossing)).sum(axis=1) % 2) == 1)


def _is_left_of(first: Thing, second: Thing) -> bool | None:
    distance = second.x - first.x
    return True if distance >= SIDEWAYS_DISTANCE else False if distance <= 2 else None


def _is_directly_above(first: Thing, second: Thing) -> bool | None:
    sideways, half = abs(first.x - second.x), (SIZES[first.size] + SIZES[second.size]) / 2
    if first.y >= second.y or sideways >= half:
        return False
    return True if sideways <= VERTICAL_TOLERANCE and first.bounds[3] <= second.bounds[1] + 4 else None


def _make_contact_check(kind: str) -> Callable[[Thing, Thing], bool | None]:
    def is_in_contact(first: Thing, second: Thing) -> bool | None:
        contact_kind = classify_contact(first, second)
        return contact_kind == kind if contact_kind in (kind, "apart") else None

    return is_in_contact


def _is_held(first: Thing, second: Thing) -> bool:
    return first.holder == second.number


RELATIONS: dict[str, Callable[[Thing, Thing], bool | None]] = {
    "left of": _is_left_of,
    "right of": lambda first, second: _is_left_of(second, first),
    "directly above": _is_directly_above,
    "directly below": lambda first, second: _is_directly_above(second, first),
    "touching": _make_contact_check("touching"),
    "overlapping": _make_contact_check("overlapping"),
    "inside": _is_held,
    "with": lambda first, second: _is_held(second, first),
}
"""Relations that `with-relation` may ask about, by the words of the sentence; the two things differ."""


def check_relation(relation: str, first: Thing, second: Thing) -> bool | None:
    """Return True if the relation holds, None if unclear.

    Things of different images are in none.
    """
    if first.image != second.image or first.number == second.number:
        return False
    return RELATIONS[relation](first, second)
