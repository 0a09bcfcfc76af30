"""Packing of items into batches by their cost, with little padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Tokens in a batch. On a CPU a small system outgrows a core's cache in larger ones and takes longer an item.
CPU_TOKENS, GPU_TOKENS = 5_120, 16_384


def choose_batch_tokens(device: str) -> int:
    """Return how many tokens make a good batch on a device."""
    return CPU_TOKENS if device.startswith("cpu") else GPU_TOKENS


@dataclass(frozen=True)
class BatchLimits:
    """Bounds of a batch and of the queue before it.

    Attributes:
        tokens: Bound of items times the cost of the longest, which is what a
            padded batch holds.
        item_tokens: Bound of one item alone.
        items: Items in a batch.
        fill: Least share of a batch that is not padding.
        spread_from: Waiting items are spread over free threads, but not into
            batches of fewer items than this, for which one thread is as
            quick as two.
        queue: Items that may wait.
    """

    tokens: int = CPU_TOKENS
    item_tokens: int = 16_384
    items: int = 256
    fill: float = 0.75
    spread_from: int = 8
    queue: int = 4_096

    def allow(self, *, count: int, longest: int, total: int) -> bool:
        """Return whether items of a total cost may run together."""
        padded = count * longest
        return count == 1 or (count <= self.items and padded <= self.tokens and total >= self.fill * padded)


# Of windows that an encoder reads at once, of any length.
WINDOW_LIMITS = BatchLimits(tokens=GPU_TOKENS, items=GPU_TOKENS, fill=0.0)


def find_companions(costs: Sequence[int], limits: BatchLimits) -> list[int]:
    """Return positions of a batch: the first item and those of like cost."""
    chosen: list[int] = []
    longest = total = 0
    for position in sorted(range(len(costs)), key=lambda i: abs(costs[i] - costs[0])):
        peak, sum_ = max(longest, costs[position]), total + costs[position]
        if limits.allow(count=len(chosen) + 1, longest=peak, total=sum_):
            chosen.append(position)
            longest, total = peak, sum_
    return chosen


def plan_batches(costs: Sequence[int], limits: BatchLimits) -> list[list[int]]:
    """Divide all positions into batches.

    The costliest come first, so that the largest batch fails soonest.
    """
    batches: list[list[int]] = []
    total = 0
    for position in sorted(range(len(costs)), key=lambda i: -costs[i]):
        last = batches[-1] if batches else []
        if last and limits.allow(count=len(last) + 1, longest=costs[last[0]], total=total + costs[position]):
            last.append(position)
            total += costs[position]
        else:
            batches.append([position])
            total = costs[position]
    return batches
