"""Gold boxes of a scene's program, for every module that people annotate."""

from __future__ import annotations

from typing import Any

from modelserver.world.calls import Call, number_subtrees
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.meaning import CHOOSE, DRAWN, IMAGES, LINK, evaluate, evaluate_objects
from modelserver.world.scenes.things import HEIGHT, WIDTH, Thing


def build_gold(program: Call, pair: Pair) -> dict[str, Any]:
    """Return a gold document with a layer for each distinct subtree.

    Layers hold the things as boxes, with ids from the bottom up. A thing that a module selects refers to
    the object of its first child; a thing that `project` finds is linked to the box from which it was
    found.
    """
    numbers = number_subtrees(program)
    drawn = {node: number for node, number in numbers.items() if node.module in DRAWN}
    layers = {str(number): _build_layer(node, pair, numbers) for node, number in drawn.items()}
    return {"layers": layers, "problem": None}


def compute_fractions(thing: Thing) -> list[float]:
    """Return the box of what is drawn, as fractions of the image.

    Left, top, right, bottom.
    """
    left, top, right, bottom = thing.bounds
    edges = (left / WIDTH, top / HEIGHT, right / WIDTH, bottom / HEIGHT)
    return [round(edge, 5) for edge in edges]


def values(program: Call, pair: Pair) -> list[bool | int | float | None]:
    """Return the number or truth of each node, root first.

    None for nodes that give boxes, and below statements about single images, if a node has a value for
    each of them.
    """
    value = evaluate(program, pair)
    listed: list[bool | int | float | None] = [None if isinstance(value, tuple) else value]
    for child in program.children:
        below = values(child, pair)
        listed += [None] * len(below) if program.module in IMAGES else below
    return listed


def _make_id(node: Call, thing: Thing, numbers: dict[Call, int]) -> str:
    return f"n{numbers[node]}.{thing.number}"


def _build_layer(node: Call, pair: Pair, numbers: dict[Call, int]) -> dict[str, Any]:
    objects = [_build_object(node, thing, pair, numbers) for thing in evaluate_objects(node, pair)]
    return {"state": "done" if objects else "nothing", "objects": objects, "value": None, "note": ""}


def _build_object(node: Call, thing: Thing, pair: Pair, numbers: dict[Call, int]) -> dict[str, Any]:
    own = {"id": _make_id(node, thing, numbers)}
    if node.module in CHOOSE:
        return {**own, "ref": _make_id(node.children[0], thing, numbers)}
    links = []
    if node.module in LINK:
        source = node.children[0]
        links = [
            _make_id(source, t, numbers) for t in evaluate_objects(source, pair) if t.number == thing.holder
        ]
    return {**own, "image": thing.image, "box": compute_fractions(thing), "links": links, "reason": ""}
