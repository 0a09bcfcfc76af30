"""Items with annotators, by hand and at random."""

import numpy as np

from analysis.gold_agreement import Item, Node

FIND = Node(0, "find", 0)
WHOLE, HALF, FAR = (0, 0, 1, 1), (0, 0, 1, 0.6), (4, 4, 5, 5)  # WHOLE and HALF overlap by 0.6


def box_item(name, **people):
    """One node; people: annotator to boxes in image 0."""
    return Item(name, (FIND,), {who: {0: [(0, box) for box in drawn]} for who, drawn in people.items()})


def span_item(name, tokens=10, **people):
    """One node; people: annotator to spans."""
    return Item(name, (FIND,), {who: {0: spans} for who, spans in people.items()}, tokens=tokens)


CHAIN = (Node(2, "find", 2), Node(1, "filter", 1, (2,)), Node(0, "count", 0, (1,)))


def random_boxes(rng, most=5):
    corners = rng.integers(0, 3, (rng.integers(0, most), 2))
    sizes = rng.integers(1, 5, corners.shape)
    return [
        (int(rng.integers(2)), tuple(map(float, (*corner, *(corner + size)))))
        for corner, size in zip(corners, sizes, strict=True)
    ]


def random_spans(rng, tokens=12, most=4):
    spans = []
    for _ in range(rng.integers(0, most)):
        start = int(rng.integers(tokens))
        spans.append((start, int(rng.integers(start + 1, tokens + 1))))
    return list(dict.fromkeys(spans))


def random_items(seed, kind, items=5, people=("ada", "ben", "cleo"), missing=0.1):
    """Items of three nodes; the first two are drawn, the last has a value."""
    rng = np.random.default_rng(seed)
    draw = random_boxes if kind == "boxes" else random_spans
    annotated = []
    for number in range(items):
        objects = {who: {node: draw(rng) for node in (2, 1) if rng.random() > missing} for who in people}
        values = {who: {0: int(rng.integers(3))} for who in people if rng.random() > missing}
        annotated.append(Item(f"i{number}", CHAIN, objects, values, tokens=12))
    return annotated
