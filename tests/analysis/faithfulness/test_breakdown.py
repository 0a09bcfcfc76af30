"""Scores of modules by words and by box size (section 5.3 of the paper)."""

import numpy as np
import pytest

from analysis.faithfulness.boxes import score_boxes
from analysis.faithfulness.breakdown import score_by_argument, score_by_module, score_by_size
from analysis.faithfulness.examples import GoldExample, GoldModule, OutputExample, OutputModule
from analysis.faithfulness.faithful_nmn import read_faithful_nmn
from tests.analysis.data import real_data

LARGE, SMALL = np.array([[0.0, 0.0, 0.5, 0.5]]), np.array([[0.9, 0.9, 0.95, 1.0]])
NONE = LARGE[:0]


def scored():
    """Two finds of dogs, one of them right, and a pin that no proposal fits."""
    gold, outputs = [], []
    for number, (argument, box, p) in enumerate(
        [("Dogs", LARGE, 0.9), ("dogs", LARGE, 0.1), ("pin", SMALL, 0.9)]
    ):
        gold.append(GoldExample(str(number), (GoldModule(0, "find", (box, NONE), argument),)))
        node = OutputModule(0, "find", np.array([p]))
        outputs.append(OutputExample(str(number), (LARGE, NONE), (node,)))
    return gold, score_boxes(gold, outputs)


def test_words_are_scored_apart_whatever_their_case():
    dogs, pin = score_by_argument(*scored())
    assert (dogs.argument, dogs.n, dogs.boxes, dogs.area) == ("dogs", 2, 2, 0.25)
    assert (dogs.f1, dogs.recall, dogs.upper_f1) == (0.5, 0.5, 1.0)
    assert (pin.argument, pin.f1, pin.upper_f1) == ("pin", 0.0, 0.0)
    assert pin.area == pytest.approx(0.005)


def test_small_boxes_are_scored_apart():
    small, large = score_by_size(scored()[1])
    assert (small.least, small.below, small.n, small.f1) == (0.0, 0.01, 1, 0.0)
    assert (large.least, large.below, large.n, large.f1) == (0.2, None, 2, 0.5)


def test_nodes_without_gold_boxes_have_no_size_but_scores():
    gold = [GoldExample("e", (GoldModule(0, "find", (NONE, NONE), "cat"),))]
    outputs = [OutputExample("e", (LARGE, NONE), (OutputModule(0, "find", np.array([0.2])),))]
    scores = score_boxes(gold, outputs)
    assert score_by_size(scores) == []
    (cat,) = score_by_argument(gold, scores)
    assert (cat.area, cat.boxes, cat.f1) == (None, 0, 1.0)


def test_the_areas_of_the_released_boxes_are_those_that_the_paper_reports():
    folder = real_data("faithful_nmn")
    reading = read_faithful_nmn(
        folder / "nlvr2_test_box_annotations.csv", folder / "all_annotations_round4.tsv", as_released=True
    )
    outputs = [
        OutputExample(
            example.id,
            (NONE, NONE),
            tuple(OutputModule(node.index, node.module, np.zeros(0)) for node in example.modules),
        )
        for example in reading.examples
    ]
    areas = {part.module: part.area for part in score_by_module(score_boxes(reading.examples, outputs))}
    paper = {"find": 0.19, "filter": 0.19, "with-relation": 0.15, "project": 0.07}
    assert areas == {module: pytest.approx(area, abs=0.015) for module, area in paper.items()}
    parts = score_by_argument(reading.examples, score_boxes(reading.examples, outputs))
    assert next(part.argument for part in parts if part.module == "find") in ("dog", "dogs")
