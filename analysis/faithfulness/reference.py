"""Changes to gold that the code of Subramanian et al. (2020) makes.

The released code makes them before it scores. Bottom-up, image by image: the
boxes of `filter` and `with-relation` stay only if the same box stays in their
first child; those of `project` only if their child has any box left in
that image; a node that chooses one image has its child's boxes there and none
in the other, which then affects its parent. In pre-order the first child of
node i is node i + 1.

The paper does not mention this. On the 536 examples it removes 195 of 1,703
boxes of filter, 91 of 943 of with-relation and 102 of 456 of project.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..stats.arrays import Array
from .examples import GoldExample, GoldModule

Boxes = tuple[Array, ...]
ONLY_IMAGE = {"in-left-image": 0, "in-right-image": 1}
SAME_BOXES = frozenset({"in-one-image", "in-other-image"})
SUBSETS = frozenset({"filter", "with-relation"})
NEW_BOXES = frozenset({"project", "relocate"})  # two names of one module


def change(gold: Sequence[GoldExample]) -> list[GoldExample]:
    """Change gold as the released code does before it scores.

    Nodes that choose an image count if the example names them, with or without
    boxes of their own. If a first child has no gold at all, its parent keeps its
    boxes.
    """
    return [replace(example, modules=_replace_boxes(example.modules)) for example in gold]


def _replace_boxes(nodes: Sequence[GoldModule]) -> tuple[GoldModule, ...]:
    kept: dict[int, Boxes | None] = {}
    for node in sorted(nodes, key=lambda node: -node.index):
        kept[node.index] = _derive_boxes(node, kept.get(node.index + 1))
    return tuple(replace(node, boxes=kept[node.index]) for node in nodes)


def _derive_boxes(node: GoldModule, child: Boxes | None) -> Boxes | None:
    if child is None:
        return node.boxes
    if node.module in ONLY_IMAGE:
        only = ONLY_IMAGE[node.module]
        return tuple(drawn if image == only else drawn[:0] for image, drawn in enumerate(child))
    if node.module in SAME_BOXES:
        return child
    if node.boxes is None:
        return None
    pairs = zip(node.boxes, child, strict=True)
    if node.module in SUBSETS:
        return tuple(own[_mark_shared_boxes(own, below)] for own, below in pairs)
    if node.module in NEW_BOXES:
        return tuple(own if len(below) else own[:0] for own, below in pairs)
    return node.boxes


def _mark_shared_boxes(own: Array, below: Array) -> Array:
    """Mark the boxes that are also in the other list, in every digit."""
    return (own[:, None] == below[None]).all(axis=2).any(axis=1) if len(below) else np.zeros(len(own), bool)
