"""Pairs of conditions side by side: a balanced incomplete block design.

Pure: no Django. Item i of a participant with rotation r shows pair (i + r) mod P of the P pairs, so that
over P rotations every item shows every pair once. The sides of a pair are exchanged from each of its items
to the next, and again between the two rows: over both rows and all rotations, every item shows every pair
once in each order. A participant sees as many of the pairs as there are items: an incomplete block, if there
are many conditions.
"""

from functools import lru_cache

ROWS = 2  # the two ways to begin with the sides


@lru_cache(maxsize=64)
def list_pairs(n: int) -> tuple[tuple[int, int], ...]:
    """Return all pairs of ``n`` conditions, round by round.

    A condition occurs at most once in a round, so that consecutive pairs spread over the conditions. In the
    order given here, a condition comes first as often as second, give or take one for even n (the rounds are
    those of a round-robin tournament, the orders those of a regular tournament).

    >>> list_pairs(3)
    ((1, 2), (2, 0), (0, 1))

    Raises:
        ValueError: fewer than two conditions.
    """
    if n < 2:
        raise ValueError(f"n: must be at least 2, not {n}")
    players = n + n % 2  # with a pause for everyone in turn if n is odd
    rounds = []
    for turn in range(players - 1):
        others = players - 1  # who stand in a circle around the last one
        across = [((turn + step) % others, (turn - step) % others) for step in range(1, players // 2)]
        rounds += [pair for pair in [(turn, others), *across] if max(pair) < n]
    return tuple(_order_pair(first, second, n) for first, second in rounds)


def _order_pair(first: int, second: int, n: int) -> tuple[int, int]:
    """Return the two in the order of a regular tournament."""
    low, high = min(first, second), max(first, second)
    distance = high - low
    is_forward = distance < n / 2 if distance * 2 != n else low % 2 == 0
    return (low, high) if is_forward else (high, low)


def count_rotations(n: int) -> int:
    """Return the number of rotations of ``n`` conditions: that of pairs."""
    return len(list_pairs(n))


def choose_sides(item: int, n: int, row: int, rotation: int) -> tuple[int, int]:
    """Return the left and the right condition of an item of a participant.

    Args:
        item: The number of the item in the definition, 0-based.
        n: Number of conditions.
        row: 0 or 1, the participant's way to begin with the sides.
        rotation: The participant's rotation of the pairs over the items.
    """
    pairs = list_pairs(n)
    first, second = pairs[(item + rotation) % len(pairs)]
    is_kept = (item // len(pairs) + row) % 2 == 0
    return (first, second) if is_kept else (second, first)
