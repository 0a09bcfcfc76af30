"""Items with several people's annotations, and the same as flat arrays."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from ..faithfulness.overlap import Index
from ..programs import Program
from ..stats.arguments import check_choice
from ..stats.arrays import Array
from .outlines import REACH, Outline

Kind = Literal["boxes", "spans"]
Sides = tuple[float, float, float, float]  # left, top, right, bottom
# Image and sides; of polygons, ellipses and key points also their outline.
Box = tuple[int, Sides] | tuple[int, Sides, Outline]
Span = tuple[int, int]  # tokens (code points if it says so), end exclusive
Value = bool | int | float | str


@dataclass(frozen=True)
class Node:
    """A distinct subtree of an item's program.

    Attributes:
        index: Index in the program.
        module: Name of the module.
        depth: 0 for the root.
        children: Indices of nodes.
    """

    index: int
    module: str
    depth: int
    children: tuple[int, ...] = ()


@dataclass(frozen=True)
class Item:
    """One item.

    Attributes:
        id: Unique among the items.
        nodes: In the order of work, children before parents.
        objects: Annotator to node to what they drew or chose there; an empty list says that there is nothing,
            a node left out that it was not annotated.
        values: Annotator to node to a value, for nodes that have no objects.
        tokens: Number of tokens of the passage, for spans.
    """

    id: str
    nodes: tuple[Node, ...]
    objects: Mapping[str, Mapping[int, Sequence[Box] | Sequence[Span]]]
    values: Mapping[str, Mapping[int, Value]] = field(default_factory=dict)
    tokens: int = 0


@dataclass(frozen=True)
class Layers:
    """All layers (one person at one node), and pairs of them at a node.

    A unit is an annotated node of an item. unit_item, unit_node: its item, and the
    position of its node in the item's order of work. layer_unit: of each layer;
    start, count: its objects in `boxes` (n × 4; a span is a box of height 1) and
    `image`. outlines: of objects that are not boxes, by their place. number: the value
    given there, else the number of objects; NaN if the value is not a number. valued: the
    value given, if any. first, second: the layers of each pair.
    """

    unit_item: Index
    unit_node: Index
    layer_unit: Index
    annotator: tuple[str, ...]
    start: Index
    count: Index
    number: Array
    valued: tuple[Value | None, ...]
    boxes: Array
    image: Index
    outlines: Mapping[int, Outline]
    first: Index
    second: Index


def nodes_of(program: Program) -> tuple[Node, ...]:
    """List the distinct subtrees of a program in the order of work.

    These are what people annotate once.

    Args:
        program: Program of an item.

    Returns:
        Nodes, children before parents.
    """
    return tuple(
        Node(
            index=index,
            module=program.nodes[index].module,
            depth=program.nodes[index].depth,
            children=tuple(program.representative[child] for child in program.nodes[index].children),
        )
        for index in program.walk
    )


def split_tokens(tokens: Sequence[Span], spans: Iterable[Span]) -> Sequence[Span]:
    """Split the tokens within which a span begins or ends into characters.

    Spans of characters can then be compared as spans of units, and those of whole tokens stay what they were.

    Args:
        tokens: Code points of the tokens, (start, end) in order, end exclusive.
        spans: Code points of the spans, end exclusive.

    Returns:
        Units in the form of the tokens.

    Examples:
        >>> split_tokens([(0, 3), (4, 6)], [(0, 2), (4, 6)])
        [(0, 1), (1, 2), (2, 3), (4, 6)]
    """
    starts = [start for start, _end in tokens]
    begins, ends = set(starts), {end for _start, end in tokens}
    inner = {start for start, _end in spans if start not in begins}
    inner |= {end - 1 for _start, end in spans if end not in ends}
    if not inner:
        return tokens
    cut = {bisect_right(starts, point) - 1 for point in inner}
    return [
        unit
        for index, (start, end) in enumerate(tokens)
        for unit in (((point, point + 1) for point in range(start, end)) if index in cut else [(start, end)])
    ]


def units_between(span: Span, units: Sequence[Span]) -> Span:
    """Return the units that code points touch, end exclusive.

    Args:
        span: Code points, end exclusive.
        units: Code points of the units, in order, as `split_tokens` gives them.

    Returns:
        Index of the first unit, and that after the last one.
    """
    start, end = span
    first = bisect_right(units, start, key=lambda unit: unit[1])
    return first, bisect_left(units, end, key=lambda unit: unit[0])


def flatten(items: Sequence[Item], kind: Kind) -> Layers:
    """Flatten all layers of all items.

    Raises:
        ValueError: `kind` is unknown, or an object is malformed; names item, annotator and node.
    """
    check_choice(kind, get_args(Kind), "kind")
    units: dict[tuple[int, int], list[int]] = {}  # item and node to its layers
    layers: list[tuple[int, int, int]] = []  # unit, start, count
    annotators: list[str] = []
    valued: list[Value | None] = []
    rows: list[tuple[float, ...]] = []
    outlines: dict[int, Outline] = {}
    for index, item in enumerate(items):
        _check_item(item)
        for order, node, person, objects, value in _list_layers(item):
            units.setdefault((index, order), []).append(len(layers))
            layers.append((len(units) - 1, len(rows), len(objects)))
            annotators.append(person)
            valued.append(value)
            if kind == "boxes":
                outlines |= {len(rows) + at: mark[2] for at, mark in enumerate(objects) if len(mark) == 3}
            rows += [_build_row(item, person, node, mark, kind) for mark in objects]
    table = np.array(rows, dtype=float).reshape(-1, 5)
    unit, start, count = _transpose_rows(layers, 3)
    unit_item, unit_node = _transpose_rows(list(units), 2)
    first, second = _transpose_rows([pair for own in units.values() for pair in combinations(own, 2)], 2)
    return Layers(
        unit_item=unit_item,
        unit_node=unit_node,
        layer_unit=unit,
        annotator=tuple(annotators),
        start=start,
        count=count,
        number=_compute_numbers(count, valued),
        valued=tuple(valued),
        boxes=table[:, 1:],
        image=table[:, 0].astype(np.int64),
        outlines=outlines,
        first=first,
        second=second,
    )


def _list_layers(item: Item) -> Iterator[tuple[int, Node, str, Sequence[Any], Value | None]]:
    """Yield every layer of an item, node by node.

    A layer has the node's position, the node, the person, objects and value.
    """
    people = sorted(item.objects.keys() | item.values.keys())
    for order, node in enumerate(item.nodes):
        for person in people:
            objects = item.objects.get(person, {}).get(node.index)
            value = item.values.get(person, {}).get(node.index)
            if objects is not None or value is not None:
                yield order, node, person, objects or (), value


def _check_item(item: Item) -> None:
    indices = {node.index for node in item.nodes}
    if len(indices) < len(item.nodes):
        raise ValueError(f"item {item.id!r} has a node twice")
    for person in item.objects.keys() | item.values.keys():
        annotated = item.objects.get(person, {}).keys() | item.values.get(person, {}).keys()
        if annotated - indices:
            raise ValueError(f"item {item.id!r}, {person}: there is no node {min(annotated - indices)}")


def reach_of(marked: Box) -> Sides:
    """Return the sides within which another object may overlap.

    Those of a key point lie around it; others are the sides themselves.
    """
    left, top, right, bottom = marked[1]
    if len(marked) == 3 and len(marked[2]) == 1:
        return left - REACH / 2, top - REACH / 2, right + REACH / 2, bottom + REACH / 2
    return left, top, right, bottom


def _build_row(item: Item, person: str, node: Node, marked: Any, kind: Kind) -> tuple[float, ...]:
    """Return image, left, top, right and bottom of an object.

    A span is in image 0, from 0 to 1.
    """
    where = f"item {item.id!r}, {person}, node {node.index}"
    try:
        if kind == "boxes":
            first, _sides, *_outline = marked
            image, (left, top, right, bottom) = float(first), map(float, reach_of(marked))
        else:
            first, second = marked
            image, left, top, right, bottom = 0.0, float(first), 0.0, float(second), 1.0
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {marked!r} is not of {kind}") from None
    if not (left < right and top < bottom):
        raise ValueError(f"{where}: {marked!r} covers nothing")
    if kind == "spans" and not 0 <= left < right <= item.tokens:
        raise ValueError(f"{where}: {marked!r} leaves the {item.tokens} tokens")
    return image, left, top, right, bottom


def _transpose_rows(rows: Sequence[tuple[int, ...]], width: int) -> Index:
    """Return the columns of rows of whole numbers, also of none."""
    return np.array(rows, dtype=np.int64).reshape(-1, width).T


def _compute_numbers(counts: Index, valued: Sequence[Value | None]) -> Array:
    given = [np.nan if isinstance(value, str) or value is None else float(value) for value in valued]
    without = np.array([value is None for value in valued], dtype=bool)
    return np.where(without, counts, np.array(given, dtype=float))
