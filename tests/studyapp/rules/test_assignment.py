"""Tests of the assignment rule, and of its balance under drop-out."""

from collections import Counter
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.site.assignment import percentile, simulate
from studyapp.rules.assignment import (
    build_condition_orders,
    choose,
    choose_cell,
    derive_seed,
    draw_permutation,
    interleave,
    lay_out,
)

NAMES = ["a", "b", "c", "d"]


def run(n, weights=None, block=None, names=NAMES):
    """Conditions of n participants who all stay."""
    counts: Counter[str] = Counter()
    chosen = []
    for number in range(1, n + 1):
        name = choose(names, counts, weights or {}, seed=derive_seed(1, number), block=block)
        counts[name] += 1
        chosen.append(name)
    return chosen


def test_it_works():
    assert choose(["a", "b"], {"a": 3, "b": 2}, {}, seed=1) == "b"


class TestChoose:
    @given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(0, 2**63))
    def test_always_one_of_the_fewest(self, numbers, seed):
        counts = dict(zip(NAMES, numbers, strict=True))
        assert counts[choose(NAMES, counts, {}, seed=seed)] == min(numbers)

    def test_nobody_counted_is_zero(self):
        assert choose(NAMES, {"a": 1, "b": 1, "d": 1}, {}, seed=5) == "c"

    def test_same_arguments_same_choice(self):
        assert {choose(NAMES, {}, {}, seed=9) for _ in range(10)} == {choose(NAMES, {}, {}, seed=9)}

    def test_ties_are_even(self):
        counts = Counter(choose(NAMES, {}, {}, seed=derive_seed(3, number)) for number in range(4000))
        # Four classes of 1000 expected: the chi-square statistic exceeds 16.3 once in a thousand seeds.
        assert sum((counts[name] - 1000) ** 2 / 1000 for name in NAMES) < 16.3

    def test_without_drop_out_within_one(self):
        for n in range(1, 60):
            counts = Counter(dict.fromkeys(NAMES, 0))
            counts.update(run(n))
            assert max(counts.values()) - min(counts.values()) <= 1

    def test_a_condition_that_lost_people_is_filled_first(self):
        assert [choose(NAMES, {"a": 9, "b": 9, "c": 6, "d": 9}, {}, seed=s) for s in range(20)] == ["c"] * 20

    def test_weights(self):
        assert Counter(run(60, weights={"a": 3.0})) == {"a": 30, "b": 10, "c": 10, "d": 10}

    def test_closed_conditions_are_not_chosen(self):
        assert choose(["b"], {"a": 0, "b": 50}, {}, seed=1) == "b"

    @pytest.mark.parametrize("block", [1, 2, 3])
    def test_every_block_holds_each_condition_as_often(self, block):
        chosen = run(48, block=block)
        size = block * len(NAMES)
        for start in range(0, 48, size):
            assert Counter(chosen[start : start + size]) == dict.fromkeys(NAMES, block)

    def test_weighted_blocks(self):
        chosen = run(60, weights={"a": 2.0}, block=2)
        for start in range(0, 60, 10):
            assert Counter(chosen[start : start + 10]) == {"a": 4, "b": 2, "c": 2, "d": 2}

    def test_a_wider_block_is_less_foreseeable(self):
        """The last place of a block can be foretold.

        With wider blocks that is a smaller share.
        """
        assert run(400, block=1) != run(400, block=4)
        repeats = [sum(x == y for x, y in pairwise(c)) for c in (run(400), run(400, block=4))]
        assert repeats[0] < repeats[1]

    def test_no_condition(self):
        with pytest.raises(ValueError, match="conditions: none is open"):
            choose([], {}, {}, seed=1)

    @pytest.mark.parametrize("weight", [0.0, -1.0, float("nan")])
    def test_weight_not_positive(self, weight):
        with pytest.raises(ValueError, match="weights: 'a'"):
            choose(NAMES, {}, {"a": weight}, seed=1)

    def test_no_block(self):
        with pytest.raises(ValueError, match="block"):
            choose(NAMES, {}, {}, seed=1, block=0)


class TestSeeds:
    def test_fit_the_column_and_differ(self):
        seeds = [derive_seed(7, number) for number in range(1, 1001)]
        assert len(set(seeds)) == 1000
        assert all(0 <= seed < 2**63 for seed in seeds)

    def test_stay_the_same_across_processes_and_releases(self):
        """A stored seed must give the same order for ever.

        These orders were noted when the rule was written.
        """
        assert derive_seed(7, 1) == 5089607546748643924
        assert derive_seed(7, "0123456789abcdef0123") == 6722788092405616243
        assert draw_permutation(5, seed=12345) == [4, 2, 3, 0, 1]

    @given(st.integers(0, 60), st.integers(0, 2**63))
    def test_a_permutation(self, length, seed):
        assert sorted(draw_permutation(length, seed=seed)) == list(range(length))

    def test_every_place_is_as_likely(self):
        first = Counter(draw_permutation(4, seed=derive_seed(1, number))[0] for number in range(4000))
        assert sum((first[item] - 1000) ** 2 / 1000 for item in range(4)) < 16.3


class TestBalanceUnderDropOut:
    """The quick form of ``python -m benchmarks.site.assignment``.

    It makes fewer runs of the same simulation.
    """

    def test_completes_differ_by_at_most_four(self):
        spreads = [simulate(seed=seed) for seed in range(40)]
        assert percentile(spreads, 95) <= 4

    def test_balance_on_starts_is_far_worse(self):
        starts = [simulate(seed=seed, rule="starts") for seed in range(40)]
        assert percentile(starts, 95) >= 8


class TestSeveralConditions:
    @pytest.mark.parametrize("n", range(1, 9))
    def test_orders_are_balanced_for_place_and_for_what_goes_before(self, n):
        rows = build_condition_orders(n)
        assert len(rows) == (n if n % 2 == 0 or n == 1 else 2 * n)
        assert all(sorted(row) == list(range(n)) for row in rows)
        places = Counter((position, condition) for row in rows for position, condition in enumerate(row))
        assert set(places.values()) == {len(rows) // n}
        after = Counter(pair for row in rows for pair in pairwise(row))
        assert len(after) == n * (n - 1)
        assert len(set(after.values())) <= 1

    def test_no_conditions(self):
        with pytest.raises(ValueError, match="n: must be at least 1"):
            build_condition_orders(0)

    @pytest.mark.parametrize("n", [2, 3, 4])
    def test_rows_and_rotations_differ_by_at_most_one_at_any_time(self, n):
        counts: Counter[tuple[int, int]] = Counter()
        for person in range(100):
            counts[choose_cell(len(build_condition_orders(n)), n, counts, seed=person)] += 1
            rows = Counter(dict.fromkeys(range(len(build_condition_orders(n))), 0))
            turns = Counter(dict.fromkeys(range(n), 0))
            for (row, turn), times in counts.items():
                rows[row] += times
                turns[turn] += times
            assert max(rows.values()) - min(rows.values()) <= 1
            assert max(turns.values()) - min(turns.values()) <= 1

    @pytest.mark.parametrize(("items", "n"), [(12, 3), (13, 3), (4, 4), (25, 2)])
    def test_over_the_rotations_every_item_meets_every_condition_once(self, items, n):
        met = Counter(
            pair for turn in range(n) for pair in lay_out(items, n, 0, turn, blocked=True, seed=turn)
        )
        assert met == {(item, condition): 1 for item in range(items) for condition in range(n)}

    def test_blocks_follow_the_row_and_items_stay_in_the_own_order(self):
        row = build_condition_orders(3)[4]
        trials = lay_out(12, 3, 4, 1, blocked=True, seed=9)
        assert [condition for condition, _ in groupby(trials, key=lambda trial: trial[1])] == row
        order = draw_permutation(12, seed=9)
        for condition in range(3):
            items = [item for item, shown in trials if shown == condition]
            assert items == [item for item in order if item in items]

    def test_one_condition_is_the_order_of_before(self):
        assert lay_out(5, 1, 0, 0, blocked=True, seed=3) == [
            (item, 0) for item in draw_permutation(5, seed=3)
        ]

    @given(st.integers(0, 10), st.integers(0, 4), st.randoms(use_true_random=False))
    def test_extra_pages_come_at_their_positions(self, pages, checks, rng):
        positions = rng.sample(range(1, pages + checks + 1), checks)
        mixed = interleave(list(range(pages)), {position: -position for position in positions})
        assert [page for page in mixed if page >= 0] == list(range(pages))
        assert all(mixed[position - 1] == -position for position in positions)
