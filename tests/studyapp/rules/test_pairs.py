"""Tests of the pairs of conditions: items, pairs and sides are balanced.

Each comes equally often.
"""

from collections import Counter
from itertools import combinations, permutations

import pytest

from studyapp.rules.assignment import choose_cell
from studyapp.rules.pairs import ROWS, choose_sides, count_rotations, list_pairs


def assign_pages(items, n, people):
    """Assign participants one after the other; yield their pages.

    Each page is (item, left, right).
    """
    counts: Counter[tuple[int, int]] = Counter()
    for person in range(people):
        cell = choose_cell(ROWS, count_rotations(n), counts, seed=person)
        counts[cell] += 1
        yield [(item, *choose_sides(item, n, *cell)) for item in range(items)]


@pytest.mark.parametrize("n", range(2, 10))
def test_every_pair_is_there_once_in_rounds(n):
    pairs = list_pairs(n)
    assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in combinations(range(n), 2)}
    assert len(pairs) == count_rotations(n) == n * (n - 1) // 2
    size = n // 2
    for start in range(0, len(pairs), size):
        conditions = [condition for pair in pairs[start : start + size] for condition in pair]
        assert len({*conditions}) == 2 * size
    first = Counter(first for first, _second in pairs)
    assert {2 * first[condition] - (n - 1) for condition in range(n)} <= ({0} if n % 2 else {-1, 1})


@pytest.mark.parametrize(("items", "n"), [(7, 2), (5, 3), (12, 3), (4, 4), (25, 5), (3, 6)])
def test_every_item_shows_every_pair_in_both_orders_equally_often(items, n):
    cells = 2 * count_rotations(n)
    counted = Counter(trial for person in assign_pages(items, n, 3 * cells) for trial in person)
    expected = [(item, *pair) for item in range(items) for pair in permutations(range(n), 2)]
    assert counted == dict.fromkeys(expected, 3)


@pytest.mark.parametrize(("items", "n"), [(8, 2), (6, 3), (18, 3), (20, 5), (12, 4)])
def test_within_a_participant_pairs_and_sides_are_even_if_the_items_allow(items, n):
    for trials in assign_pages(items, n, 12):
        pairs = Counter(frozenset(pair) for _item, *pair in trials)
        assert {*pairs.values()} == {items // count_rotations(n)}
        sided = Counter(tuple(pair) for _item, *pair in trials)
        assert all(abs(sided[a, b] - sided[b, a]) <= 1 for a, b in combinations(range(n), 2))
        left = Counter(left for _item, left, _right in trials)
        assert {*left.values()} == {items // n}


def test_an_incomplete_block_spreads_over_the_conditions():
    for trials in assign_pages(8, 16, 40):
        shown = Counter(condition for _item, *pair in trials for condition in pair)
        assert len(shown) >= 15
        assert max(shown.values()) <= 2


def test_at_any_time_pairs_and_sides_are_almost_even():
    counted = Counter({(0, *pair): 0 for pair in permutations(range(4), 2)})
    for person in assign_pages(1, 4, 30):
        counted.update(person)
        assert max(counted.values()) - min(counted.values()) <= 2


def test_one_condition_has_no_pair():
    with pytest.raises(ValueError, match="n: must be at least 2, not 1"):
        list_pairs(1)
