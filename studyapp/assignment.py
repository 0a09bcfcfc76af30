"""Which condition the next participant gets. Pure: no Django.

The counts are of those who completed and those still active within the stale window, so that places lost
to drop-out are given again; balancing on starts would leave the conditions with the most drop-out short.
"""

import math
import random
from collections.abc import Mapping, Sequence


def derive_seed(order_seed: int, place: int) -> int:
    """The seed of the participant at ``place`` (1-based) of a version, in [0, 2**63)."""
    return random.Random(f"{order_seed}/{place}").getrandbits(63)


def choose(
    conditions: Sequence[str],
    counts: Mapping[str, int],
    weights: Mapping[str, float],
    *,
    seed: int,
    block: int | None = None,
) -> str:
    """Choose the condition with the fewest participants for its weight, at random among ties.

    conditions: names of the open conditions, in a fixed order.
    counts: participants to count, per condition; a condition without an entry has none.
    weights: the intended share of each condition, positive; a condition without an entry has 1.
    seed: decides ties; the same arguments give the same condition.
    block: with a block of b, places are handed out in shuffled blocks that hold each condition b times its
        weight: harder to foresee than the fewest, and up to b apart within a block.

    Raises ValueError for no conditions, a weight that is not positive, or a block below 1.

    >>> choose(["a", "b"], {"a": 3, "b": 2}, {}, seed=1)
    'b'
    """
    if not conditions:
        raise ValueError("conditions: none is open")
    if block is not None and block < 1:
        raise ValueError("block: must be at least 1")
    loads = {name: counts.get(name, 0) / _weight(weights, name) for name in conditions}
    rng = random.Random(seed)
    fewest = min(loads.values())
    if block is None:
        return rng.choice([name for name in conditions if loads[name] == fewest])
    # What is left of the present block, the last one that the condition with the fewest has not filled.
    end = (math.floor(fewest / block) + 1) * block
    left = [max(0.0, end - loads[name]) * _weight(weights, name) for name in conditions]
    return rng.choices(list(conditions), weights=left)[0]


def shuffled(length: int, *, seed: int) -> list[int]:
    """A random permutation of ``range(length)``, the same for the same seed."""
    order = list(range(length))
    random.Random(f"{seed}/order").shuffle(order)
    return order


def _weight(weights: Mapping[str, float], name: str) -> float:
    weight = weights.get(name, 1.0)
    if not weight > 0:
        raise ValueError(f"weights: {name!r} must be positive, not {weight}")
    return weight
