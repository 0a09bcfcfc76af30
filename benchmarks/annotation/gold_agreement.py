"""Measure agreement of three annotators on 1,000 items.

Run ``python -m benchmarks.annotation.gold_agreement``.

Generated image pairs with programs of seven nodes, five of them drawn, and passages of 300 tokens with four
nodes. All measures of all groups, with intervals from 2,000 bootstrap replicates over items, in seconds of
the clock.

Bar: 5 s for either kind.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from analysis.gold_agreement import DRAWN, Item, Node, agreement

ITEMS = 1_000
PEOPLE = ("ada", "ben", "cleo")
TOKENS = 300
MOST_SECONDS = 5.0
BOX_NODES = (
    Node(3, "find", 3),
    Node(5, "project", 4, (6,)),
    Node(6, "find", 5),
    Node(4, "filter", 3, (5,)),
    Node(2, "with-relation", 2, (3, 4)),
    Node(1, "count", 1, (2,)),
    Node(0, "equal", 0, (1,)),
)
SPAN_NODES = (
    Node(3, "find", 3),
    Node(2, "filter", 2, (3,)),
    Node(1, "find-num", 1, (2,)),
    Node(0, "find-max-num", 0, (1,)),
)


def generate_box_items(count: int, seed: int) -> list[Item]:
    """Generate items: each person draws most objects, slightly off."""
    rng = np.random.default_rng(seed)
    items = []
    for number in range(count):
        objects: dict[str, dict[int, list]] = {person: {} for person in PEOPLE}
        values = {}
        for node in BOX_NODES[:5]:
            there = [(int(rng.integers(2)), *_draw_corners(rng)) for _ in range(rng.integers(0, 5))]
            for person in PEOPLE:
                kept = [box for box in there if rng.random() < 0.85]
                kept += [(int(rng.integers(2)), *_draw_corners(rng))] * int(rng.random() < 0.1)
                objects[person][node.index] = [_draw_box(rng, *box) for box in kept]
        for person in PEOPLE:
            values[person] = {1: len(objects[person][2]), 0: len(objects[person][2]) == 2}
        items.append(Item(f"i{number}", BOX_NODES, objects, values))
    return items


def _draw_corners(rng: np.random.Generator) -> tuple[float, float, float, float]:
    left, top = rng.random(2) * 0.7
    return left, top, left + 0.05 + rng.random() * 0.25, top + 0.05 + rng.random() * 0.25


def _draw_box(rng: np.random.Generator, image: int, *sides: float) -> tuple[int, tuple[float, ...]]:
    return image, tuple(np.array(sides) + rng.normal(0, 0.01, 4))


def generate_span_items(count: int, seed: int) -> list[Item]:
    """Have each person mark most spans, some a token longer or shorter."""
    rng = np.random.default_rng(seed)
    items = []
    for number in range(count):
        objects: dict[str, dict[int, list]] = {person: {} for person in PEOPLE}
        for node in SPAN_NODES:
            starts = rng.choice(TOKENS // 10, rng.integers(0, 5), replace=False) * 10
            for person in PEOPLE:
                kept = [int(start) for start in starts if rng.random() < 0.85]
                objects[person][node.index] = [
                    (start + int(rng.integers(2)), start + 6 + int(rng.integers(2))) for start in kept
                ]
        items.append(Item(f"i{number}", SPAN_NODES, objects, tokens=TOKENS))
    return items


def main() -> int:
    """Print what it took and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.annotation.gold_agreement", description=main.__doc__
    )
    parser.add_argument("--items", type=int, default=ITEMS, help="(default: %(default)s)")
    parser.add_argument("--resamples", type=int, default=2_000, help="(default: %(default)s)")
    options = parser.parse_args()
    met = {}
    for kind, items in (
        ("boxes", generate_box_items(options.items, 1)),
        ("spans", generate_span_items(options.items, 1)),
    ):
        started = time.perf_counter()
        result = agreement(items, kind, rng=np.random.default_rng(1), resamples=options.resamples)  # type: ignore[arg-type]
        taken = time.perf_counter() - started
        values = ", ".join(f"{name} {quantity.value:.3f}" for name, quantity in result.groups[DRAWN].items())
        print(f"{kind}: {len(result.groups)} groups; {values}")
        met[f"{len(items)} items × {len(PEOPLE)} people, {kind}: {taken:.2f} s, bar {MOST_SECONDS:g} s"] = (
            taken <= MOST_SECONDS
        )
    for sentence, reached in met.items():
        print(f"{sentence}: {'met' if reached else 'missed'}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
