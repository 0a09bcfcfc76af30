"""Make a pair of scenes, and change it in one place."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from modelserver.world.scenes.relations import (
    classify_contact,
    compute_visible_shares,
    is_inside,
    measure_gap,
)
from modelserver.world.scenes.things import (
    BOX,
    CLEAR_GAP,
    COLOURS,
    FLAG,
    FLAG_HEIGHT,
    FLAG_WIDTH,
    HEIGHT,
    PATTERNS,
    SHAPES,
    SIZES,
    WIDTH,
    Thing,
)

MARGIN = 6.0
TRIES = 14  # places tried for one thing before a scene does without it
FREE, SEEN = 0.6, 0.8  # shares of an outline and of its rectangle to be seen if another shape covers it

Pair = tuple[Thing, ...]  # in the order in which they are drawn


@dataclass(frozen=True)
class Palette:
    """The kinds, colours and patterns of one pair.

    They are few, so that counting and telling things apart takes care.
    """

    kinds: tuple[str, ...]
    colours: tuple[str, ...]
    patterns: tuple[str, ...]


def draw_palette(rng: random.Random) -> Palette:
    """Draw a palette."""
    patterns = ("plain", "plain", *rng.sample(PATTERNS[1:], rng.choice((1, 1, 2))))
    return Palette(
        tuple(rng.sample(SHAPES, rng.choice((2, 3, 3)))),
        tuple(rng.sample(tuple(COLOURS), rng.choice((2, 3, 3)))),
        patterns,
    )


def lay_out(rng: random.Random, choices: Palette) -> Pair:
    """Return both images' things: shapes and boxes.

    Shapes are at times in contact or straight above each other.
    """
    things: list[Thing] = []
    boxes = rng.random() < 0.5
    for image in (0, 1):
        if boxes:
            _put_box(things, rng, choices, image)
        for _ in range(rng.randint(4, 7)):
            placement = rng.choice((_free, _free, _free, _position_beside, _position_above))
            shape = _draw_shape(rng, choices, len(things), image)
            _ = _put(things, rng, shape, placement) or _put(things, rng, shape, _free)
    return tuple(things)


def has_valid_position(pair: Pair, thing: Thing) -> bool:
    """Return True if a thing is in its image and clear of or touching others."""
    left, top, right, bottom = thing.bounds
    if left < MARGIN or top < MARGIN or right > WIDTH - MARGIN or bottom > HEIGHT - MARGIN:
        return False
    others = [other for other in pair if other.image == thing.image and other.number != thing.number]
    if not all(_clear(thing, other) for other in others if not (thing.is_shape and other.is_shape)):
        return False
    shapes = [other for other in others if other.is_shape] if thing.is_shape else []
    return _has_limited_contact(pair, thing, shapes)


def _clear(thing: Thing, other: Thing) -> bool:
    """Return True if two things are properly nested, or apart.

    They are not both shapes.
    """
    for held, holder in ((thing, other), (other, thing)):
        if held.is_shape and held.holder == holder.number:
            return is_inside(held, holder)
    return {thing.kind, other.kind} == {FLAG, BOX} or measure_gap(thing, other) >= CLEAR_GAP


def _has_limited_contact(pair: Pair, thing: Thing, shapes: list[Thing]) -> bool:
    """Return True if the shape and its neighbours touch at most one other.

    Heaps are hard to read.
    """
    met: tuple[Thing, str] | None = None
    for other in shapes:
        relation = classify_contact(thing, other)
        if relation is None or (met and relation != "apart"):
            return False
        met = met if relation == "apart" else (other, relation)
    if met is None:
        return True
    if met[1] == "overlapping" and not _can_distinguish(*sorted((thing, met[0]), key=pair.index)):
        return False
    return _is_alone(met[0], shapes)


def _is_alone(shape: Thing, others: Sequence[Thing]) -> bool:
    return all(o.number == shape.number or measure_gap(o, shape) >= CLEAR_GAP for o in others)


def _can_distinguish(below: Thing, above: Thing) -> bool:
    """Return True if overlapping shapes can be distinguished.

    They differ in colour, none lies amid the other, and enough of both is visible.
    """
    if below.colour == above.colour:
        return False
    radii = (SIZES[below.size] + SIZES[above.size]) / 2
    free, span = compute_visible_shares(below, above)
    return free >= FREE and span >= SEEN and math.hypot(below.x - above.x, below.y - above.y) > radii * 0.55


def _draw_shape(rng: random.Random, choices: Palette, number: int, image: int) -> Thing:
    turn = rng.uniform(-10, 10)
    return Thing(
        number, image, rng.choice(choices.kinds), rng.choice(choices.colours), 0, 0,
        rng.choice(tuple(SIZES)), rng.choice(choices.patterns), round(turn, 1),
    )  # fmt: skip


Place = Callable[[list[Thing], random.Random, Thing], Thing | None]


def _put(things: list[Thing], rng: random.Random, thing: Thing, placement: Place) -> bool:
    """Add the thing at the first sound position; False after `TRIES` tries."""
    for _ in range(TRIES):
        placed = placement(things, rng, thing)
        if placed and has_valid_position((*things, placed), placed):
            things.append(placed)
            return True
    return False


def _set_position(thing: Thing, x: float, y: float) -> Thing:
    return replace(thing, x=round(x, 1), y=round(y, 1))


def _free(_: list[Thing], rng: random.Random, thing: Thing) -> Thing:
    half = SIZES[thing.size] / 2 + MARGIN
    return _set_position(thing, rng.uniform(half, WIDTH - half), rng.uniform(half, HEIGHT - half))


def _pick_neighbour(things: list[Thing], rng: random.Random, thing: Thing) -> Thing | None:
    loose = [t for t in things if t.image == thing.image and t.is_shape and t.holder is None]
    return rng.choice(loose) if loose else None


def _position_beside(things: list[Thing], rng: random.Random, thing: Thing) -> Thing | None:
    """Place a shape so that it just touches another one, or overlaps it."""
    other = _pick_neighbour(things, rng, thing)
    if other is None or not _is_alone(other, [t for t in things if t.is_shape and t.image == other.image]):
        return None
    angle, low, high = rng.uniform(0, 2 * math.pi), 0.0, 80.0
    across, down = math.cos(angle), math.sin(angle)
    for _ in range(8):  # halve the way between meeting and not meeting
        middle = (low + high) / 2
        met = measure_gap(_set_position(thing, other.x + middle * across, other.y + middle * down), other) < 1
        low, high = (middle, high) if met else (low, middle)
    distance = low * rng.choice((1, 0.66))
    return _set_position(thing, other.x + distance * across, other.y + distance * down)


def _position_above(things: list[Thing], rng: random.Random, thing: Thing) -> Thing | None:
    other = _pick_neighbour(things, rng, thing)
    if other is None:
        return None
    distance = (SIZES[thing.size] + SIZES[other.size]) / 2 + rng.uniform(10, 40)
    return _set_position(thing, other.x + rng.uniform(-6, 6), other.y + rng.choice((-1, 1)) * distance)


def _make_inside_positioner(box: Thing) -> Place:
    def place_inside(_: list[Thing], rng: random.Random, thing: Thing) -> Thing:
        half = SIZES[thing.size] / 2 + CLEAR_GAP
        wide, high = max(box.width / 2 - half, 1), max(box.height / 2 - half, 1)
        held = replace(thing, holder=box.number)
        return _set_position(held, box.x + rng.uniform(-wide, wide), box.y + rng.uniform(-high, high))

    return place_inside


def _put_box(things: list[Thing], rng: random.Random, choices: Palette, image: int) -> None:
    width, height = rng.randint(120, 150), rng.randint(92, 112)
    x = rng.uniform(width / 2 + MARGIN + 2, WIDTH - width / 2 - MARGIN - 2)
    y = rng.uniform(height / 2 + FLAG_HEIGHT + MARGIN + 4, HEIGHT - height / 2 - MARGIN - 2)
    colour = rng.choice(choices.colours)
    box = Thing(len(things), image, BOX, colour, round(x, 1), round(y, 1), width=width, height=height)
    things.append(box)
    if rng.random() < 0.7:
        things.append(_make_flag(rng, choices, box, len(things)))
    for _ in range(rng.choice((0, 1, 2, 2, 3))):
        shape = replace(
            _draw_shape(rng, choices, len(things), image), size=rng.choice(("small", "small", "big"))
        )
        _put(things, rng, shape, _make_inside_positioner(box))


def _make_flag(rng: random.Random, choices: Palette, box: Thing, number: int) -> Thing:
    left, top, right, _ = box.bounds
    colour = rng.choice(choices.colours)
    return Thing(
        number, box.image, FLAG, colour,
        round(rng.uniform(left + FLAG_WIDTH, right - FLAG_WIDTH), 1), round(top - FLAG_HEIGHT / 2, 1),
        width=FLAG_WIDTH, height=FLAG_HEIGHT, holder=box.number,
    )  # fmt: skip


def _recolour(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    return _swap(pair, thing, colour=rng.choice(choices.colours))


def _repattern(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    return _swap(pair, thing, pattern=rng.choice(choices.patterns)) if thing.is_shape else None


def _resize(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    size = "small" if thing.size == "big" else "big"
    return _swap(pair, thing, size=size) if thing.is_shape else None


def _reshape(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    return _swap(pair, thing, kind=rng.choice(choices.kinds)) if thing.is_shape else None


def _remove(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    return None if thing.kind == BOX else tuple(t for t in pair if t.number != thing.number)


def _move(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    if not thing.is_shape:
        return None
    rest = [t for t in pair if t.number != thing.number]
    moved = replace(thing, holder=None)
    return (
        tuple(rest)
        if _put(rest, rng, moved, rng.choice((_free, _position_beside, _position_above)))
        else None
    )


def _add(pair: Pair, rng: random.Random, choices: Palette, thing: Thing) -> Pair | None:
    things = list(pair)
    number = max(t.number for t in pair) + 1
    placement = _make_inside_positioner(thing) if thing.kind == BOX else _free
    added = _draw_shape(rng, choices, number, thing.image)
    return tuple(things) if _put(things, rng, added, placement) else None


def _swap(pair: Pair, thing: Thing, **changes: str) -> Pair | None:
    changed = replace(thing, **changes)  # type: ignore[arg-type]
    after = tuple(changed if t.number == thing.number else t for t in pair)
    return after if changed != thing and has_valid_position(after, changed) else None


CHANGES: dict[str, Callable[[Pair, random.Random, Palette, Thing], Pair | None]] = {
    "recolour": _recolour,
    "repattern": _repattern,
    "resize": _resize,
    "reshape": _reshape,
    "remove": _remove,
    "move": _move,
    "add": _add,
}


def change(pair: Pair, rng: random.Random, choices: Palette) -> tuple[str, Pair] | None:
    """Change one thing about the pair, or return None if the change fails."""
    name = rng.choice(tuple(CHANGES))
    after = CHANGES[name](pair, rng, choices, rng.choice(pair))
    return (name, after) if after else None
