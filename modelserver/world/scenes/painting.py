"""Draw scenes: coloured, striped and dotted shapes on quiet backgrounds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from modelserver.world.scenes.things import BOX, COLOURS, FLAG, HEIGHT, STROKE, WIDTH, Thing, list_corners

OVERSAMPLING = 3  # drawn so many times as large, then averaged, which smooths the edges
ROUND_CORNERS = 40  # corners from which on an outline is round, so that its strokes need no joints
GROUNDS = ("plain", "plain", "grid", "linen", "dawn", "boards")
TINTS = ((247, 245, 240), (240, 244, 248), (244, 241, 247), (241, 246, 240), (250, 244, 232))

Colour = tuple[int, int, int]


def draw_ground(rng: random.Random) -> tuple[str, int]:
    """Choose a ground and its tint."""
    return rng.choice(GROUNDS), rng.randrange(len(TINTS))


def paint(things: Sequence[Thing], ground: str, tint: int) -> Image.Image:
    """Draw the things of one image in order, `WIDTH` × `HEIGHT` RGB."""
    canvas = _paint_ground(ground, tint).copy()
    for thing in things:
        if thing.kind == BOX:
            _paint_box(canvas, thing)
        elif thing.kind == FLAG:
            _paint_flag(canvas, thing)
        else:
            _paint_shape(canvas, thing)
    return canvas.reduce(OVERSAMPLING)


@cache
def _paint_ground(name: str, tint: int) -> Image.Image:
    """Return a background at drawing size; its texture stays pale."""
    wide, high = WIDTH * OVERSAMPLING, HEIGHT * OVERSAMPLING
    x, y = np.arange(wide)[None], np.arange(high)[:, None]
    light: NDArray[Any] = np.ones((high, wide))
    if name == "grid":
        light -= 0.05 * ((x % (20 * OVERSAMPLING) < OVERSAMPLING) | (y % (20 * OVERSAMPLING) < OVERSAMPLING))
    elif name == "linen":
        light -= 0.02 * (x // (2 * OVERSAMPLING) % 2) + 0.02 * (y // (2 * OVERSAMPLING) % 2)
    elif name == "dawn":
        light -= 0.09 * y / high
    elif name == "boards":
        light -= (
            0.03
            - 0.015 * np.cos(y // (40 * OVERSAMPLING) * 2.4)
            + 0.07 * (y % (40 * OVERSAMPLING) < OVERSAMPLING)
        )
    grey = Image.fromarray((light * 255).round().astype(np.uint8))
    shades = [[round(step * part / 255) for step in range(256)] for part in TINTS[tint]]
    return Image.merge("RGB", [grey.point(shade) for shade in shades])


@cache
def _fill(colour: str, pattern: str) -> Image.Image:
    """Return a tile of a filling, larger than any shape."""
    side = 90 * OVERSAMPLING
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    if pattern == "striped":
        light = (x + y) % (10 * OVERSAMPLING) < 4 * OVERSAMPLING
    elif pattern == "dotted":
        step = 9 * OVERSAMPLING
        row = y // step
        across, down = (x + row % 2 * step // 2) % step - step / 2, y % step - step / 2
        light = across**2 + down**2 < (2.3 * OVERSAMPLING) ** 2
    else:
        light = np.zeros_like(x, dtype=bool)
    pale = _mix_colours(COLOURS[colour], (255, 255, 255), 0.86)
    tile = np.where(light[..., None], np.array(pale), np.array(COLOURS[colour]))
    return Image.fromarray(tile.astype(np.uint8))


def _mix_colours(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _darken(colour: str) -> Colour:
    return _mix_colours(COLOURS[colour], (0, 0, 0), 0.45)


def _paint_shape(canvas: Image.Image, thing: Thing) -> None:
    points = [
        (x * OVERSAMPLING, y * OVERSAMPLING)
        for x, y in thing.transform_points(list_corners(thing.kind)).tolist()
    ]
    left, top = (int(v * OVERSAMPLING) for v in thing.bounds[:2])
    right, bottom = (int(v * OVERSAMPLING) + 2 for v in thing.bounds[2:])
    mask = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in points], fill=255)
    canvas.paste(_fill(thing.colour, thing.pattern).crop((0, 0, *mask.size)), (left, top), mask)
    around = [*points, points[0], points[1]]
    joint = "curve" if len(points) < ROUND_CORNERS else None
    ImageDraw.Draw(canvas).line(around, _darken(thing.colour), round(STROKE * OVERSAMPLING), joint=joint)


def _paint_box(canvas: Image.Image, box: Thing) -> None:
    edges = tuple(v * OVERSAMPLING for v in box.bounds)
    draw = ImageDraw.Draw(canvas)
    pale = _mix_colours(COLOURS[box.colour], (255, 255, 255), 0.88)
    draw.rounded_rectangle(edges, 5 * OVERSAMPLING, pale, _darken(box.colour), 6 * OVERSAMPLING)
    inner = tuple(
        v * OVERSAMPLING + d * OVERSAMPLING for v, d in zip(box.bounds, (1.2, 1.2, -1.2, -1.2), strict=True)
    )
    draw.rounded_rectangle(inner, 4 * OVERSAMPLING, None, COLOURS[box.colour], round(3.6 * OVERSAMPLING))


def _paint_flag(canvas: Image.Image, flag: Thing) -> None:
    left, top, right, bottom = (v * OVERSAMPLING for v in flag.bounds)
    draw = ImageDraw.Draw(canvas)
    cloth = [(left, top), (right, top + (bottom - top) * 0.3), (left, top + (bottom - top) * 0.6)]
    draw.polygon(cloth, COLOURS[flag.colour])
    draw.line([*cloth, cloth[0], cloth[1]], _darken(flag.colour), round(1.2 * OVERSAMPLING), joint="curve")
    draw.rectangle((left, top, left + 2.5 * OVERSAMPLING, bottom), (84, 74, 66))
