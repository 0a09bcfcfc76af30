"""Overlap of polygons, and closeness of points.

Outlines are fractions of an image, left to right and top to bottom. One point is a key point, three or more
are the corners of a polygon.
"""

from collections.abc import Sequence

import numpy as np

from ..stats.arrays import Array

Outline = Sequence[tuple[float, float]]
"""The corners (x, y) of a polygon, or one key point, as fractions of the image's width and height."""

REACH = 0.1  # of an image's sides: points farther apart have nothing in common
MOST_CORNERS = 256  # of a polygon with more, evenly spaced ones count
BEYOND = 2.0  # right of all images
ELLIPSE_CORNERS = 64  # of the polygon that stands for an ellipse: its area is 0.2 % too small


def ellipse_outline(box: tuple[float, float, float, float]) -> Outline:
    """Return a polygon for the ellipse within a box.

    Args:
        box: Left, top, right and bottom.

    Returns:
        64 corners (x, y), in the unit of the box.
    """
    left, top, right, bottom = box
    turn = np.linspace(0, 2 * np.pi, ELLIPSE_CORNERS, endpoint=False)
    across = (left + right) / 2 + np.cos(turn) * (right - left) / 2
    down = (top + bottom) / 2 + np.sin(turn) * (bottom - top) / 2
    return [(float(x), float(y)) for x, y in zip(across, down, strict=True)]


def compute_likeness(first: Outline, second: Outline) -> float:
    """Return how far two outlines are the same, from 0 to 1.

    Of two polygons it is the intersection over union. Of two points it falls with their distance (as
    fractions of the image's sides) from 1 to 0 at `REACH`, so that it is above one half below half of that.

    Examples:
        >>> compute_likeness([(0.5, 0.5)], [(0.5, 0.5)])
        1.0
        >>> square = [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]
        >>> round(compute_likeness(square, [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5)]), 6)
        0.5
    """
    if len(first) == 1 or len(second) == 1:
        if len(first) != len(second):
            return 0.0
        apart = np.hypot(*np.subtract(first[0], second[0]))
        return max(0.0, 1.0 - float(apart) / REACH)
    shared, both = _compute_areas(_thin_outline(first), _thin_outline(second))
    return shared / both if both > 0 else 0.0


def _thin_outline(outline: Outline) -> Array:
    step = -(-len(outline) // MOST_CORNERS)
    return np.asarray(outline, dtype=float)[::step]


def _compute_areas(first: Array, second: Array) -> tuple[float, float]:
    """Return the areas of intersection and union of two polygons.

    Each is what an odd number of its edges surround, as SVG's even-odd rule has it. Between two heights at
    which an edge ends or two edges cross, all edges are straight and in one order; so the width of what is
    shared at the middle, times the height, is its area there, without rounding to pixels.

    Args:
        first: Corners × 2.
        second: Corners × 2.
    """
    edges = np.concatenate([_build_edges(first), _build_edges(second)])
    owner = np.repeat([0, 1], [len(first), len(second)])
    heights = np.unique(np.concatenate([edges[:, [1, 3]].ravel(), _find_crossings(edges)]))
    middle, thick = (heights[1:, None] + heights[:-1, None]) / 2, np.diff(heights)
    left, top, right, bottom = edges.T
    hit = (top <= middle) & (middle < bottom)  # strips by edges
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(hit, left + (middle - top) / (bottom - top) * (right - left), BEYOND)
    order = np.argsort(at, axis=1, kind="stable")
    widths = np.diff(np.take_along_axis(at, order, axis=1), axis=1)
    crossed = np.take_along_axis(hit, order, axis=1)
    within = [np.cumsum(crossed & (owner[order] == side), axis=1)[:, :-1] % 2 == 1 for side in (0, 1)]
    shared, both = (widths * (within[0] & within[1]), widths * (within[0] | within[1]))
    return float(thick @ shared.sum(axis=1)), float(thick @ both.sum(axis=1))


def _build_edges(corners: Array) -> Array:
    """Return the edges of a polygon, each from its upper end: n × 4."""
    edges = np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)
    down = edges[:, 1] > edges[:, 3]
    edges[down] = edges[down][:, [2, 3, 0, 1]]
    return edges


def _find_crossings(edges: Array) -> Array:
    """Return the heights at which two edges cross."""
    start, direction = edges[:, :2], edges[:, 2:] - edges[:, :2]
    ahead = start[None, :, :] - start[:, None, :]

    def cross(left: Array, right: Array) -> Array:
        return np.asarray(left[..., 0] * right[..., 1] - left[..., 1] * right[..., 0])

    slope = cross(direction[:, None, :], direction[None, :, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        own = cross(ahead, direction[None, :, :]) / slope
        other = cross(ahead, direction[:, None, :]) / slope
    met = (own > 0) & (own < 1) & (other > 0) & (other < 1)
    edge, other_edge = np.nonzero(met)
    return np.asarray(start[edge, 1] + own[edge, other_edge] * direction[edge, 1])
