"""The meaning of a program over scenes: its things, and its truth.

It follows from the scene itself, independent of the executor of annotation programs, so that each can
check the other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from modelserver.world.calls import Call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.nouns import FLAG_WORDS, INSIDE_WORDS, can_describe
from modelserver.world.scenes.relations import check_relation
from modelserver.world.scenes.things import FLAG, Thing

Value = bool | int | float | Pair


class Unclear(Exception):
    """A sentence about this pair that two people could read differently."""


def evaluate_objects(node: Call, pair: Pair) -> Pair:
    """Return the things that a node selects."""
    value = evaluate(node, pair)
    assert isinstance(value, tuple)
    return value


def evaluate(node: Call, pair: Pair) -> Value:
    """Return a program's things, number or truth.

    Raises `Unclear`.
    """
    if node.module.isdecimal():
        return int(node.module)
    if node.module in OBJECTS:
        return OBJECTS[node.module](node, pair)
    if node.module == "count":
        return len(evaluate_objects(node.children[0], pair))
    if node.module == "exist":
        return bool(evaluate_objects(node.children[0], pair))
    if node.module in IMAGES:
        return IMAGES[node.module](
            evaluate(node.children[0], part) for part in _list_image_cases(node.module, pair)
        )
    left, right = (evaluate(child, pair) for child in node.children)
    if node.module == "division" and not right:
        raise Unclear("nothing to compare with")
    return ARITHMETIC[node.module](left, right)


ARITHMETIC: dict[str, Callable[..., bool | int | float]] = {
    "equal": operator.eq,
    "less": operator.lt,
    "less-equal": operator.le,
    "greater": operator.gt,
    "greater-equal": operator.ge,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "sum": operator.add,
    "difference": operator.sub,
    "division": operator.truediv,
}
IMAGES: dict[str, Callable[..., bool]] = {
    "in-each-image": all,
    "in-at-least-one-image": any,
    "in-one-other-image": any,
}


def _list_image_cases(module: str, pair: Pair) -> list[Pair]:
    """Return the pairs on which to try a statement about images.

    These are each image alone, or both ways round.
    """
    if module == "in-one-other-image":
        return [pair, tuple(replace(thing, image=1 - thing.image) for thing in pair)]
    return [_select_image(pair, 0), _select_image(pair, 1)]


def _select_image(things: Pair, image: int) -> Pair:
    return tuple(thing for thing in things if thing.image == image)


def _find(node: Call, pair: Pair) -> Pair:
    assert node.argument
    return tuple(thing for thing in pair if can_describe(node.argument, thing))


def _filter(node: Call, pair: Pair) -> Pair:
    assert node.argument
    return tuple(
        thing for thing in evaluate_objects(node.children[0], pair) if can_describe(node.argument, thing)
    )


def _filter_first_child(node: Call, pair: Pair, test: Callable[[Thing, Pair], bool]) -> Pair:
    """Return the first child's things that pass a test with the second's."""
    things, others = (evaluate_objects(child, pair) for child in node.children)
    return tuple(thing for thing in things if test(thing, others))


def _is_in_relation(relation: str, thing: Thing, others: Pair) -> bool:
    answers = [check_relation(relation, thing, other) for other in others]
    if None in answers:  # even if another answer would settle it: nobody should have to weigh it
        raise Unclear(relation)
    return True in answers


def _project(node: Call, pair: Pair) -> Pair:
    holders = {thing.number for thing in evaluate_objects(node.children[0], pair)}
    wanted = {FLAG_WORDS: lambda t: t.kind == FLAG, INSIDE_WORDS: lambda t: t.is_shape}[str(node.argument)]
    return tuple(thing for thing in pair if thing.holder in holders and wanted(thing))


OBJECTS: dict[str, Callable[[Call, Pair], Pair]] = {
    "find": _find,
    "filter": _filter,
    "with-relation": lambda node, pair: _filter_first_child(
        node, pair, partial(_is_in_relation, str(node.argument))
    ),
    "project": _project,
    "intersect": lambda node, pair: _filter_first_child(node, pair, lambda thing, others: thing in others),
    "discard": lambda node, pair: _filter_first_child(node, pair, lambda thing, others: thing not in others),
    "in-left-image": lambda node, pair: _select_image(evaluate_objects(node.children[0], pair), 0),
    "in-right-image": lambda node, pair: _select_image(evaluate_objects(node.children[0], pair), 1),
    "in-one-image": lambda node, pair: _select_image(evaluate_objects(node.children[0], pair), 0),
    "in-other-image": lambda node, pair: _select_image(evaluate_objects(node.children[0], pair), 1),
}
CHOOSE = frozenset({"filter", "with-relation", "intersect", "discard"})
LINK = frozenset({"project"})
DRAWN = frozenset({"find"}) | CHOOSE | LINK
"""The modules that a person gives objects for; all others are computed from these."""
