"""Assignment of participants to conditions; counterbalancing of orders.

Pure: no Django.

The counts are of those who completed and those still active within the stale window, so that assignments lost
to drop-out are given again; balancing on starts would leave the conditions with the most drop-out short.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

_Page = TypeVar("_Page")


def derive_seed(order_seed: int, participant: int | str) -> int:
    """Return the seed of a participant of a version, in [0, 2**63).

    The participant is given by number or ID. A random ID keeps the seed, and with it the order of arrival,
    from people who know only ``order_seed``.
    """
    return random.Random(f"{order_seed}/{participant}").getrandbits(63)


def choose(
    conditions: Sequence[str],
    counts: Mapping[str, int],
    weights: Mapping[str, float],
    *,
    seed: int,
    block: int | None = None,
) -> str:
    """Choose the condition with the fewest participants for its weight.

    Ties are broken at random.

    Args:
        conditions: Names of the open conditions, in a fixed order.
        counts: Participants to count, per condition; a condition without an entry has none.
        weights: The intended share of each condition, positive; a condition without an entry has 1.
        seed: Decides ties; the same arguments give the same condition.
        block: With a block of b, participants are assigned in shuffled blocks that hold each condition b
            times its weight: harder to foresee than the fewest, and up to b apart within a block.

    Raises:
        ValueError: no conditions, a weight that is not positive, or a block below 1.

    >>> choose(["a", "b"], {"a": 3, "b": 2}, {}, seed=1)
    'b'
    """
    if not conditions:
        raise ValueError("conditions: none is open")
    if block is not None and block < 1:
        raise ValueError("block: must be at least 1")
    loads = {name: counts.get(name, 0) / _read_weight(weights, name) for name in conditions}
    rng = random.Random(seed)
    fewest = min(loads.values())
    if block is None:
        return rng.choice([name for name in conditions if loads[name] == fewest])
    # The rest of the current block, the last one that the condition with the fewest has not filled.
    end = (math.floor(fewest / block) + 1) * block
    left = [max(0.0, end - loads[name]) * _read_weight(weights, name) for name in conditions]
    return rng.choices(list(conditions), weights=left)[0]


def draw_permutation(length: int, *, seed: int) -> list[int]:
    """Return a random permutation of ``range(length)``, fixed by the seed."""
    order = list(range(length))
    random.Random(f"{seed}/order").shuffle(order)
    return order


def build_condition_orders(n: int) -> list[list[int]]:
    """Return counterbalanced orders of ``n`` conditions, as rows of numbers.

    Each condition has each position, and follows each other condition, equally often: n rows for even n, 2n
    for odd n (Williams 1949, the construction for designs balanced for residual effects; for n = 1 one
    row).

    >>> build_condition_orders(2)
    [[0, 1], [1, 0]]
    """
    if n < 1:
        raise ValueError(f"n: must be at least 1, not {n}")
    zigzag = [(index + 1) // 2 if index % 2 else (n - index // 2) % n for index in range(n)]
    rows = [[(number + row) % n for number in zigzag] for row in range(n)]
    return rows if n % 2 == 0 or n == 1 else [*rows, *(row[::-1] for row in rows)]


def choose_cell(
    rows: int, rotations: int, counts: Mapping[tuple[int, int], int], *, seed: int
) -> tuple[int, int]:
    """Choose the order and the rotation of items of a participant.

    Among the rows with the fewest participants and the rotations with the fewest, this takes the pair with
    the fewest, at random among ties. Without drop-out, rows differ by at most 1, and so do rotations.

    Args:
        rows: Number of orders, such as those of `build_condition_orders`.
        rotations: Number of rotations.
        counts: Participants to count, per (row, rotation).
        seed: Decides ties.
    """
    of_row = {row: sum(k for (r, _q), k in counts.items() if r == row) for row in range(rows)}
    of_rotation = {turn: sum(k for (_r, q), k in counts.items() if q == turn) for turn in range(rotations)}
    rarest = [row for row, number in of_row.items() if number == min(of_row.values())]
    turns = [turn for turn, number in of_rotation.items() if number == min(of_rotation.values())]
    cells = [(row, turn) for row in rarest for turn in turns]
    fewest = min(counts.get(cell, 0) for cell in cells)
    tied = [cell for cell in cells if counts.get(cell, 0) == fewest]
    return random.Random(f"{seed}/cell").choice(tied)


def lay_out(
    items: int, n: int, row: int, rotation: int, *, blocked: bool, seed: int
) -> list[tuple[int, int]]:
    """Return a participant's trials in order: (item, condition), 0-based.

    The items are cut into n blocks of equal size, give or take one. Block b goes with condition (b +
    rotation) mod n, so that over the n rotations every item is seen in every condition once. Inside a block
    the order is the participant's own. The blocks come in the order of the row; if not ``blocked``, all
    trials are shuffled.
    """
    own = draw_permutation(items, seed=seed)
    trials = [(item, (item % n + rotation) % n) for item in own]
    if not blocked or n == 1:
        return trials
    rank = {condition: rank for rank, condition in enumerate(build_condition_orders(n)[row])}
    return sorted(trials, key=lambda trial: rank[trial[1]])  # stable: the own order stays inside a block


def interleave(pages: Sequence[_Page], extra: Mapping[int, _Page]) -> list[_Page]:
    """Insert extra pages at their 1-based positions among all pages."""
    mixed = list(pages)
    for position in sorted(extra):
        mixed.insert(position - 1, extra[position])
    return mixed


def _read_weight(weights: Mapping[str, float], name: str) -> float:
    weight = weights.get(name, 1.0)
    if not weight > 0:
        raise ValueError(f"weights: {name!r} must be positive, not {weight}")
    return weight
