"""Scores of boxes: by hand, against a plain loop, and their invariances."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.faithfulness.boxes import AVERAGINGS, score_boxes
from analysis.faithfulness.examples import MatchError
from analysis.faithfulness.matching import Thresholds
from tests.analysis.faithfulness.brute import boxes, brute, example, ideal, one_node, output, random_case

UNIT = (0, 0, 1, 1)
SEEDS = st.integers(0, 2**32 - 1)


def overall(gold, outputs, averaging="per_example", **options):
    score = score_boxes(gold, outputs, **options).table(averaging)["overall"]
    return score.precision, score.recall, score.f1


def assert_same(table, expected):
    assert set(table) == set(expected)
    for name, score in table.items():
        assert (score.precision, score.recall, score.f1, score.n) == pytest.approx(expected[name]), name


def test_it_works():
    # Left image: one gold box found, one missed, one wrong box predicted. Right image: nothing at all.
    gold = [example("e", [("find", (boxes(UNIT, (2, 2, 3, 3)), boxes()))])]
    proposals = (boxes((0, 0, 1, 0.9), (5, 5, 6, 6), (0, 0, 1, 0.8)), boxes(UNIT))
    outputs = [output("e", proposals, [("find", [0.9, 0.8, 0.5, 0.2])])]
    scores = score_boxes(gold, outputs)
    assert overall(gold, outputs) == (0.5, 0.5, 0.5)
    assert overall(gold, outputs, "cumulative") == (0.5, 0.5, 0.5)
    assert overall(gold, outputs, "per_occurrence") == (0.75, 0.75, 0.75)
    assert overall(gold, outputs, "negative_iou") == (0.5, 0.5, 0.5)
    upper = scores.table("per_example", upper=True)["find"]
    assert (upper.precision, upper.recall, upper.n) == (1, 0.5, 1)


@pytest.mark.parametrize(
    "drawn, probability, expected",
    [
        ([], 0.0, (1, 1, 1)),  # nothing and nothing
        ([], 0.9, (0, 1, 0)),  # output without gold
        ([UNIT], 0.0, (1, 0, 0)),  # gold without output
        ([UNIT], 0.5, (1, 0, 0)),  # not more than one half
        ([UNIT], 0.51, (1, 1, 1)),
        ([(0, 0, 1, 2)], 0.9, (0, 0, 0)),  # an overlap of exactly one half is none
        ([(0, 0, 1, 1.99)], 0.9, (1, 1, 1)),
    ],
)
def test_edges(drawn, probability, expected):
    gold, outputs = one_node(boxes(*drawn), boxes(UNIT), [probability])
    assert overall(gold, outputs) == expected


def test_exactly_one_half_is_neither_good_nor_bad_for_the_reference():
    gold, outputs = one_node(boxes((0, 0, 1, 2)), boxes(UNIT), [0.9])
    assert overall(gold, outputs, reference=True) == (1, 0, 0)
    assert overall(gold, outputs, "negative_iou") == (1, 0, 0)


def test_one_box_may_answer_for_several_and_the_numerators_differ():
    near = [(0, 0, 1, 0.9), (0, 0, 1, 0.8), (0, 0, 0.9, 1)]
    gold, outputs = one_node(boxes(UNIT, (5, 5, 6, 6)), boxes(*near), [1, 1, 1])
    assert overall(gold, outputs) == (1, 0.5, 2 / 3)
    gold, outputs = one_node(boxes(*near), boxes(UNIT, (5, 5, 6, 6)), [1, 1])
    assert overall(gold, outputs) == (0.5, 1, 2 / 3)


def test_images_are_matched_apart():
    gold = [example("e", [("find", (boxes(UNIT), boxes()))])]
    outputs = [output("e", (boxes(), boxes(UNIT)), [("find", [0.9])])]
    assert overall(gold, outputs) == (0, 0, 0)


def test_count_and_nodes_that_choose_an_image_are_not_scored():
    wrong = (boxes(UNIT),)
    names = ["find", "count", "in-left-image", "in-each-image"]
    gold = [example("e", [(name, wrong) for name in names])]
    outputs = [output("e", (boxes(UNIT),), [("find", [1])] + [(name, [0]) for name in names[1:]])]
    table = score_boxes(gold, outputs).table("per_example")
    assert set(table) == {"overall", "find"}
    assert table["overall"].f1 == 1


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.booleans())
def test_all_averagings_agree_with_a_plain_loop(seed, reference):
    gold, outputs = random_case(seed)
    scores = score_boxes(gold, outputs, reference=reference)
    expected = brute(gold, outputs, reference)
    for averaging in AVERAGINGS:
        assert_same(scores.table(averaging), expected[averaging])


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_the_upper_bound_is_the_ideal_system_and_bounds_recall_and_f1(seed):
    gold, outputs = random_case(seed)
    scores = score_boxes(gold, outputs)
    expected = brute(gold, ideal(gold, outputs))
    for averaging in AVERAGINGS:
        upper = scores.table(averaging, upper=True)
        assert_same(upper, expected[averaging])
        for name, score in scores.table(averaging).items():
            assert score.recall <= upper[name].recall + 1e-12
            assert upper[name].precision == 1
            assert score.f1 <= upper[name].f1 + 1e-12


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_mirrored_scaled_and_reordered_examples_score_alike(seed):
    gold, outputs = random_case(seed)

    def mirrored(drawn):
        return 10 - 2 * drawn[:, [2, 3, 0, 1]]

    other_gold = [
        replace(
            target,
            modules=tuple(
                replace(node, boxes=node.boxes and tuple(mirrored(b) for b in node.boxes))
                for node in target.modules
            ),
        )
        for target in reversed(gold)
    ]
    other = [
        replace(prediction, proposals=tuple(map(mirrored, prediction.proposals))) for prediction in outputs
    ]
    first, second = score_boxes(gold, outputs), score_boxes(other_gold, other)
    for averaging in AVERAGINGS:
        table = second.table(averaging)
        for name, score in first.table(averaging).items():
            assert vars(table[name]) == pytest.approx(vars(score))


def test_nodes_and_the_worst_of_them():
    miss, hit = [0.1], [0.9]
    gold = [
        example(name, [("filter", (boxes(UNIT),)), ("filter", (boxes(UNIT),)), ("find", (boxes(UNIT),))])
        for name in ("good", "bad")
    ]
    outputs = [
        output("good", (boxes(UNIT),), [("filter", hit), ("filter", hit), ("find", hit)]),
        output("bad", (boxes(UNIT),), [("filter", miss), ("filter", miss), ("find", hit)]),
    ]
    scores = score_boxes(gold, outputs)
    assert [(node.index, node.module, node.f1) for node in scores.nodes(1)] == [
        (0, "filter", 0),
        (1, "filter", 0),
        (2, "find", 1),
    ]
    first, second = scores.list_worst()
    # Of the two filters the inner one executes first: the outer one had nothing to work on.
    assert (first.id, first.f1, first.node.index) == ("bad", 0.5, 1)
    assert (second.id, second.f1) == ("good", 1)
    assert [worst.id for worst in scores.list_worst(1)] == ["bad"]
    assert scores.example_scores()[1, list(scores.modules).index("find"), 2] == 1


def test_an_example_without_scored_nodes_counts_only_for_the_reference():
    gold = [example("a", [("find", (boxes(UNIT),))]), example("b", [("count", None)])]
    outputs = [
        output("a", (boxes(UNIT),), [("find", [0.1])]),
        output("b", (boxes(UNIT),), [("count", [0.1])]),
    ]
    assert overall(gold, outputs) == (1, 0, 0)
    assert overall(gold, outputs, reference=True) == (1, 0.5, 0.5)
    assert score_boxes(gold, outputs).list_worst(2)[1].node is None


def test_intervals_hold_the_value_and_shrink_with_examples():
    widths = []
    for examples in (40, 640):
        gold, outputs = random_case(3, examples)
        quantities = score_boxes(gold, outputs).intervals(rng=np.random.default_rng(1), resamples=500)
        for averaging in AVERAGINGS:
            quantity = quantities[averaging, "overall"]
            low, high = quantity.interval.bounds
            assert low < quantity.value < high  # type: ignore[operator]
            assert quantity.interval.method == "bca"
        low, high = quantities["cumulative", "overall"].interval.bounds
        widths.append(high - low)
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.5)


def test_what_does_not_fit_is_named():
    gold, outputs = one_node(boxes(UNIT), boxes(UNIT), [0.9])
    with pytest.raises(MatchError, match="example 'e': there is no output"):
        score_boxes(gold, [])
    assert score_boxes(gold, [], partial=True).table("per_example") == {}
    with pytest.raises(MatchError, match=r"module 0 \(find\): the output is of 'filter'"):
        score_boxes(gold, one_node(boxes(), boxes(UNIT), [1], "filter")[1])
    with pytest.raises(MatchError, match="there are 2 probabilities for 1 proposals"):
        score_boxes(gold, one_node(boxes(), boxes(UNIT), [1, 0])[1])
    with pytest.raises(MatchError, match="gold has 1 images, the output 2"):
        score_boxes(gold, [output("e", (boxes(UNIT), boxes()), [("find", [1])])])
    with pytest.raises(MatchError, match="there is no output for this node"):
        score_boxes(gold, [output("e", (boxes(UNIT),), [])])
    more = [*outputs, output("f", (boxes(UNIT),), [("find", [0])])]
    assert overall(gold, more) == (1, 1, 1)


def test_thresholds_change_what_counts():
    """Three output boxes whose best overlaps are 1, 1/3 and 0."""
    proposals = boxes([0, 0, 2, 1], [1, 0, 3, 1], [5, 5, 6, 6])
    gold, outputs = one_node(boxes([0, 0, 2, 1]), proposals, [0.9, 0.9, 0.9])

    def precision(averaging="per_example", **changes):
        scores = score_boxes(gold, outputs, thresholds=Thresholds(**changes))
        return scores.table(averaging)["find"].precision

    for averaging in ("per_example", "cumulative", "per_occurrence"):
        assert precision(averaging) == pytest.approx(1 / 3)
        assert precision(averaging, aligned=0.3) == pytest.approx(2 / 3)
        assert precision(averaging, wrong=0.2) == 0.5  # the middle box is neither good nor wrong
        assert precision(averaging, wrong=0.4) == pytest.approx(1 / 3)
        assert precision(averaging, output=0.9) == 1  # nothing is output
    assert precision("negative_iou") == 0.5
    assert precision("negative_iou", apart=0.4) == pytest.approx(1 / 3)


def test_thresholds_that_make_no_sense_are_refused():
    for changes, problem in (
        ({"wrong": 0.6}, "wrong: 0.6 is above"),
        ({"output": 2}, "output: 2 is not between"),
        ({"apart": 0.0}, "apart: must be above 0"),
    ):
        with pytest.raises(ValueError, match=re.escape(problem)):
            Thresholds(**changes)


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_box_as_in_the_negative_variant_scores_alike_in_both(seed):
    gold, outputs = random_case(seed)
    plain = score_boxes(gold, outputs).table("negative_iou")
    assert score_boxes(gold, outputs, thresholds=Thresholds(wrong=1e-8)).table("per_example") == plain
