"""Draws and orders of items of which systems answer half correctly.

Pure: no Django.
"""

import random
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from studyapp.rules.assignment import draw_permutation


def draw_balanced(
    ordered: Sequence[str], right: Mapping[str, Sequence[bool]], count: int
) -> list[str] | None:
    """Draw items of which every system answers half correctly.

    With several systems this is an integer program: the earliest items that satisfy all of them.

    Args:
        ordered: The items that can be drawn, in the order of a seed.
        right: By item, whether each system answers it correctly.
        count: The number of items to draw, even.

    Returns:
        The items in their order; None if there are none that satisfy all systems.

    >>> right = {"a": [True], "b": [True], "c": [False], "d": [True], "e": [False]}
    >>> draw_balanced("abcde", right, 4)
    ['a', 'b', 'c', 'e']
    """
    useful: list[str] = []
    per_pattern: dict[tuple[bool, ...], int] = {}
    for item in ordered:  # of items on which the systems do alike, later ones are never needed
        pattern = tuple(right[item])
        per_pattern[pattern] = per_pattern.get(pattern, 0) + 1
        if per_pattern[pattern] <= count:
            useful.append(item)
    if not useful:
        return None
    rows = np.array([[1, *right[item]] for item in useful], dtype=float).T
    wanted = np.array([count, *[count / 2] * (len(rows) - 1)])
    solution = scipy.optimize.milp(
        c=np.arange(len(useful), dtype=float),
        integrality=np.ones(len(useful)),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=scipy.optimize.LinearConstraint(rows, wanted, wanted),
    )
    return (
        None
        if solution.x is None
        else [item for item, taken in zip(useful, solution.x, strict=True) if taken > 0.5]
    )


def lay_out_blocks(right: Sequence[bool], sizes: Mapping[str, int], *, seed: int) -> list[tuple[int, str]]:
    """Return a participant's items in order, with their blocks.

    Each participant has their own blocks of items, and their own order in a block. In every block the
    system is right in half.

    Args:
        right: True for the items that the system answers correctly, half of them.
        sizes: Items by block, even numbers, in the order of the blocks.
        seed: That of the participant.
    """
    own = draw_permutation(len(right), seed=seed)
    strata = {value: iter([item for item in own if right[item] is value]) for value in (True, False)}
    laid_out: list[tuple[int, str]] = []
    for block, size in sizes.items():
        items = [next(strata[value]) for value in (True, False) for _half in range(size // 2)]
        random.Random(f"{seed}/{block}").shuffle(items)
        laid_out += [(item, block) for item in items]
    return laid_out
