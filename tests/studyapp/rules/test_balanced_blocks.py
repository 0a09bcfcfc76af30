"""Tests of drawing and laying out balanced items.

Systems are right in half of them.
"""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from studyapp.rules.balanced_blocks import draw_balanced, lay_out_blocks

SIZES = {"before": 4, "learning": 6, "after": 2}


def test_it_works():
    right = {item: [item in "ace"] for item in "abcdef"}
    assert draw_balanced("fedcba", right, 4) == ["f", "e", "d", "c"]
    assert draw_balanced("abcdef", right, 6) == [*"abcdef"]


@pytest.mark.parametrize("seed", range(5))
def test_a_draw_of_several_systems_exists_if_and_only_if_a_search_finds_one(seed):
    rng = np.random.default_rng(seed)
    right = {str(item): [bool(value) for value in rng.random(3) < 0.6] for item in range(9)}
    drawn = draw_balanced([*right], right, 4)
    ways = [
        items for items in combinations(right, 4)
        if all(sum(right[item][system] for item in items) == 2 for system in range(3))
    ]  # fmt: skip
    assert (tuple(drawn) in ways) if drawn else not ways


def test_systems_that_cannot_be_balanced_together_have_no_draw():
    """No draw balances a system that is right on every item."""
    right = {"a": [True, False], "b": [True, False], "c": [True, True], "d": [True, True]}
    assert draw_balanced([*right], right, 2) is None
    assert draw_balanced([], {}, 2) is None


def test_a_participant_sees_half_right_in_every_block():
    right = [item % 2 == 0 for item in range(12)]
    order = lay_out_blocks(right, SIZES, seed=3)
    assert sorted(item for item, _block in order) == [*range(12)]
    assert [block for _item, block in order] == ["before"] * 4 + ["learning"] * 6 + ["after"] * 2
    assert Counter(block for item, block in order if right[item]) == {"before": 2, "learning": 3, "after": 1}
    assert lay_out_blocks(right, SIZES, seed=3) == order


def test_no_block_is_easier_by_its_items():
    """Every item comes in every block as often as the block's size says.

    That holds over participants.
    """
    right = [item % 2 == 0 for item in range(12)]
    counts = Counter(pair for seed in range(1200) for pair in lay_out_blocks(right, SIZES, seed=seed))
    for item, (block, size) in product(range(12), SIZES.items()):
        assert counts[item, block] == pytest.approx(1200 * size / 12, abs=75)  # 4.6 standard deviations
    first = Counter(right[lay_out_blocks(right, SIZES, seed=seed)[0][0]] for seed in range(400))
    assert first[True] == pytest.approx(200, abs=50)
