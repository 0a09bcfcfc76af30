"""Programs over boxes: N20's Table 3 with every probability 0 or 1.

Of the table's soft values three things remain. A box is output or it is not, so `count` is the number of
boxes. A module that multiplies by its first child's probabilities (`filter`, `with-relation`, `discard`) or
looks at its child's image (`project`) outputs nothing in an image that the child was kept from: its boxes
there are left out. And the modules that take each image alone run what is below them once for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .execution import Execution, FoundBox, Value, compute_value
from .program import Node, Program

LEFT, RIGHT = 0, 1
SAME_BOX = 0.5  # two boxes are of one object when they overlap by more, N20 §3


@dataclass(frozen=True)
class Scope:
    """Images that a node may look at.

    chosen: the image that is "the one" below `in-one-other-image`, if any.
    """

    images: frozenset[int] = frozenset({LEFT, RIGHT})
    chosen: int | None = None

    def limit_to_image(self, image: int) -> "Scope":
        """Restrict the scope to one image."""
        return replace(self, images=self.images & {image})


@dataclass(frozen=True)
class Result:
    """Result of a node in a scope: boxes (None: unknown), images, value.

    The images are those that it may give boxes in.
    """

    images: frozenset[int] = frozenset()
    boxes: tuple[FoundBox, ...] | None = None
    value: Value | None = None


def run_boxes(
    program: Program,
    outputs: Mapping[int, Sequence[Any]],
    values: Mapping[int, Value],
    as_drawn: bool = False,
) -> Execution:
    """Execute a program over boxes; `analysis.programs.run` has the arguments."""
    drawn = {index: tuple(FoundBox(*box) for box in boxes) for index, boxes in outputs.items()}
    runs = _Runs(program, drawn, values, as_drawn)
    runs.result(0, Scope())
    return runs.execution()


class _Runs:
    """The results of every node in every scope that it ran in."""

    def __init__(
        self,
        program: Program,
        drawn: Mapping[int, tuple[FoundBox, ...]],
        values: Mapping[int, Value],
        as_drawn: bool,
    ) -> None:
        self.program, self.drawn, self.values, self.as_drawn = program, drawn, values, as_drawn
        self.results: list[dict[Scope, Result]] = [{} for _ in program.nodes]

    def result(self, index: int, scope: Scope) -> Result:
        """Return a node's result in a scope, computed once.

        Nested scopes therefore cost no more than there are scopes.
        """
        result = self.results[index].get(scope)
        if result is None:
            node = self.program.nodes[index]
            result = self._boxes(node, scope) if node.type == "boxes" else self._value(node, scope)
            self.results[index][scope] = result
        return result

    def _boxes(self, node: Node, scope: Scope) -> Result:
        below = [self.result(child, self._scope_below(node, scope)) for child in node.children]
        images = _find_images(
            node.module, [scope.images] * 2 if self.as_drawn else [r.images for r in below], scope
        )
        boxes = self.drawn.get(self.program.representative[node.index])
        if boxes is None:
            boxes = _compute_boxes(node.module, below)
        kept = None if boxes is None else tuple(box for box in boxes if box.image in images)
        return Result(images, kept, compute_value(kept, "boxes"))

    def _scope_below(self, node: Node, scope: Scope) -> Scope:
        if scope.chosen is None or node.module not in ("in-one-image", "in-other-image"):
            return scope
        return scope.limit_to_image(scope.chosen if node.module == "in-one-image" else 1 - scope.chosen)

    def _value(self, node: Node, scope: Scope) -> Result:
        below = [
            [self.result(child, inner).value for child in node.children]
            for inner in _list_child_scopes(node.module, scope)
        ]
        if len(below) == 1:
            value = _compute(node.module, below[0])
            if value is None and scope == Scope():  # a value given holds for both images together
                value = self.values.get(self.program.representative[node.index])
            return Result(value=value)
        left, right = below[0][0], below[1][0]
        return Result(value=_compute("and" if node.module == "in-each-image" else "or", [left, right]))

    def execution(self) -> Execution:
        runs = tuple(tuple(result.value for result in results.values()) for results in self.results)
        objects = tuple(
            _join_boxes([result.boxes for result in results.values()]) if node.type == "boxes" else None
            for node, results in zip(self.program.nodes, self.results, strict=True)
        )
        values = tuple(
            compute_value(objects[node.index], "boxes")
            if node.type == "boxes"
            else (values[0] if len(set(values)) == 1 else None)
            for node, values in zip(self.program.nodes, runs, strict=True)
        )
        return Execution(values, runs, objects)


def _list_child_scopes(module: str, scope: Scope) -> list[Scope]:
    """Return the scopes that a node's children run in."""
    if module in ("in-each-image", "in-at-least-one-image"):
        return [scope.limit_to_image(LEFT), scope.limit_to_image(RIGHT)]
    if module == "in-one-other-image":
        return [replace(scope, chosen=LEFT), replace(scope, chosen=RIGHT)]
    return [scope]


def _find_images(module: str, below: list[frozenset[int]], scope: Scope) -> frozenset[int]:
    """Return the images in which a node may give boxes, from its children's."""
    match module:
        case "find":
            return scope.images
        case "in-left-image":
            return below[0] & {LEFT}
        case "in-right-image":
            return below[0] & {RIGHT}
        case "intersect":
            return below[0] & below[1]
        case _:
            return below[0]


def _compute_boxes(module: str, below: list[Result]) -> tuple[FoundBox, ...] | None:
    """Compute the boxes of a node without annotation from its children's.

    None if they do not follow.
    """
    children = [result.boxes for result in below]
    if module in ("in-left-image", "in-right-image", "in-one-image", "in-other-image"):
        return children[0]
    if module in ("intersect", "discard") and children[0] is not None and children[1] is not None:
        first, second = children[0], children[1]
        return tuple(box for box in first if _is_among(box, second) is (module == "intersect"))
    return None


def _is_among(box: FoundBox, boxes: Sequence[FoundBox]) -> bool:
    return any(
        other.image == box.image and _compute_overlap(box.box, other.box) > SAME_BOX for other in boxes
    )


def _compute_overlap(first: Sequence[float], second: Sequence[float]) -> float:
    """Compute the intersection over union."""
    if tuple(first) == tuple(second):
        return 1.0
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return width * height / (area - width * height)


def _join_boxes(runs: list[tuple[FoundBox, ...] | None]) -> tuple[FoundBox, ...] | None:
    """Join the boxes of all runs, each once, in the order of the first run."""
    boxes_once: dict[FoundBox, None] = {}
    for boxes in runs:
        if boxes is None:
            return None
        boxes_once.update(dict.fromkeys(boxes))
    return tuple(boxes_once)


def _compute(module: str, below: Sequence[Any]) -> Value | None:
    """Compute a module's value from its children's; None if one is unknown."""
    if module.isdecimal():
        return int(module)
    if any(value is None for value in below):
        return None
    if module == "division":
        return below[0] / below[1] if below[1] else None  # nothing divided by nothing has no value
    return _ARITHMETIC[module](*below)


_ARITHMETIC: dict[str, Any] = {
    "count": lambda n: n,
    "exist": lambda n: n > 0,
    "equal": lambda a, b: a == b,
    "less": lambda a, b: a < b,
    "less-equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater-equal": lambda a, b: a >= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
}
