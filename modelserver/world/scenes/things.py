"""The things in a scene: shapes, boxes that hold some, flags on boxes.

Coordinates are pixels of an image of `WIDTH` × `HEIGHT`, from its top left corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 320, 240
STROKE = 2.0  # width of outlines
POINTS = 56  # samples of an outline
CLEAR_GAP, TOUCHING_GAP = 8.0, 2.2  # outlines at least so far apart do not touch; those at most so close do
OVERLAP_DEPTH = 5.0  # outlines that still meet when drawn in by so much overlap, and do not merely touch

COLOURS = {
    "red": (214, 40, 57),
    "orange": (243, 124, 32),
    "yellow": (247, 208, 32),
    "green": (44, 158, 75),
    "blue": (36, 104, 217),
    "purple": (128, 56, 178),
    "black": (42, 42, 48),
}
PATTERNS = ("plain", "striped", "dotted")
SIZES = {"small": 30.0, "big": 58.0}
SHAPES = ("circle", "square", "triangle", "star", "heart", "cross", "moon", "diamond")
BOX, FLAG = "box", "flag"
FLAG_WIDTH, FLAG_HEIGHT = 22.0, 26.0

Outline = NDArray[np.float64]


@dataclass(frozen=True)
class Thing:
    """One thing in one of the two images (0 = left).

    ``x`` and ``y`` are its centre. ``holder`` is the number of the box that it lies in or is the flag of.
    ``width`` and ``height`` are those of boxes; a shape has its ``size``.
    """

    number: int
    image: int
    kind: str
    colour: str
    x: float
    y: float
    size: str = ""
    pattern: str = "plain"
    turn: float = 0.0  # degrees
    holder: int | None = None
    width: float = 0.0
    height: float = 0.0

    @property
    def is_shape(self) -> bool:
        """Return True for a shape, False for a box or a flag."""
        return self.kind in SHAPES

    def looks(self, word: str) -> bool:
        """Return True if an adjective fits: a size, a pattern or a colour."""
        return word in (self.size, self.pattern, self.colour)

    def transform_points(self, points: Outline) -> Outline:
        """Turn, scale and shift points of a unit thing to this one's position.

        The unit thing has radius 1 around the origin.
        """
        if not self.is_shape:
            return points * (self.width / 2, self.height / 2) + (self.x, self.y)
        turn, radius = math.radians(self.turn), SIZES[self.size] / 2
        across, down = radius * math.cos(turn), radius * math.sin(turn)
        return points @ np.array([[across, down], [-down, across]]) + (self.x, self.y)

    @cached_property
    def outline(self) -> Outline:
        """Points along the outline [POINTS, 2]."""
        return self.transform_points(build_unit_outline(self.kind if self.is_shape else BOX))

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right, bottom of what is drawn, stroke included."""
        drawn = self.transform_points(list_corners(self.kind if self.is_shape else BOX))
        (left, top), (right, bottom) = drawn.min(axis=0), drawn.max(axis=0)
        half = STROKE / 2
        return float(left) - half, float(top) - half, float(right) + half, float(bottom) + half


def _build_circle(angles: Outline) -> Outline:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _build_heart() -> Outline:
    t = np.linspace(0, 2 * math.pi, 160, endpoint=False)
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([x, -y - 2.5], axis=1) / 16


def _build_star() -> Outline:
    angles = np.arange(10) * math.pi / 5 - math.pi / 2
    return _build_circle(angles) * np.where(np.arange(10) % 2, 0.46, 1.06)[:, None] + (0, 0.06)


def _build_cross() -> Outline:
    arm = 0.36
    quarter = np.array([(arm, -1), (arm, -arm), (1, -arm)])
    turns = [np.linalg.matrix_power(np.array([[0, 1], [-1, 0]]), i) for i in range(4)]
    return np.concatenate([quarter @ turn for turn in turns])


def _build_moon() -> Outline:
    outer = _build_circle(np.linspace(math.radians(62), math.radians(298), 90))
    inner = _build_circle(np.linspace(math.radians(260), math.radians(100), 60)) * 0.9
    inner += outer[-1] - inner[0]
    inner[:, 1] *= abs(outer[0, 1] / inner[-1, 1])
    return np.concatenate([outer, inner]) + np.array([0.28, 0])


UNIT: dict[str, Callable[[], Outline]] = {
    "circle": lambda: _build_circle(np.linspace(0, 2 * math.pi, 120, endpoint=False)),
    "square": lambda: np.array([(-1.0, -1.0), (1, -1), (1, 1), (-1, 1)]) * 0.92,
    "triangle": lambda: np.array([(0.0, -0.98), (1.05, 0.85), (-1.05, 0.85)]),
    "star": _build_star,
    "heart": _build_heart,
    "cross": _build_cross,
    "moon": _build_moon,
    "diamond": lambda: np.array([(0.0, -1.12), (0.72, 0), (0, 1.12), (-0.72, 0)]),
    BOX: lambda: np.array([(-1.0, -1.0), (1, -1), (1, 1), (-1, 1)]),
}


@cache
def list_corners(kind: str) -> Outline:
    """Return the drawn corners of a shape of radius 1 around the origin."""
    return UNIT[kind]()


@cache
def build_unit_outline(kind: str) -> Outline:
    """Return `POINTS` points at equal distances along the outline.

    Corners are approximated by the nearest points.
    """
    closed = np.concatenate([list_corners(kind), list_corners(kind)[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    steps = np.linspace(0, along[-1], POINTS, endpoint=False)
    return np.stack([np.interp(steps, along, closed[:, axis]) for axis in (0, 1)], axis=1)
