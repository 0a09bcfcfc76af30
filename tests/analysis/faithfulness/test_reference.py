"""The changes of the released code to gold."""

import numpy as np
import pytest

from analysis.faithfulness.reference import change
from tests.analysis.faithfulness.brute import boxes, example

A, B, C = (0, 0, 1, 1), (0, 0, 2, 2), (1, 1, 3, 3)


def changed(*modules):
    """Boxes per image of each node after the change, as lists."""
    (changed_example,) = change([example("e", [*modules])])
    return [node.boxes and [image.tolist() for image in node.boxes] for node in changed_example.modules]


def lists(*images):
    return [boxes(*image).tolist() for image in images]


def test_filter_and_with_relation_keep_only_boxes_of_their_first_child():
    drawn = (boxes(A, C), boxes(B))
    nodes = changed(
        ("with-relation", drawn), ("filter", (boxes(A), boxes(A, B))), ("find", (boxes(A, B), boxes(B)))
    )
    assert nodes == [lists([A], [B]), lists([A], [B]), lists([A, B], [B])]


def test_what_a_child_lost_its_parent_loses_too():
    outer = changed(("filter", (boxes(A),)), ("filter", (boxes(A),)), ("find", (boxes(B),)))
    assert outer == [lists([]), lists([]), lists([B])]


def test_project_loses_an_image_where_its_child_has_nothing():
    nodes = changed(("project", (boxes(A, C), boxes(C))), ("find", (boxes(B), boxes())))
    assert nodes == [lists([A, C], []), lists([B], [])]


@pytest.mark.parametrize("name, remaining", [("in-left-image", ([A], [])), ("in-right-image", ([], [B]))])
def test_an_image_that_is_not_chosen_is_empty_above_the_choice_but_not_below(name, remaining):
    drawn = (boxes(A), boxes(B))
    assert changed(("filter", drawn), (name, None), ("find", drawn)) == [
        lists(*remaining),
        lists(*remaining),
        lists([A], [B]),
    ]


def test_without_gold_of_the_child_nothing_changes():
    drawn = (boxes(A), boxes(B))
    assert changed(("filter", drawn), ("intersect", None), ("find", (boxes(), boxes())))[0] == lists([A], [B])
    assert changed(("filter", drawn))[0] == lists([A], [B])
    assert changed(("find", drawn), ("find", (boxes(), boxes())))[0] == lists([A], [B])


def test_the_given_gold_stays_as_it_is():
    gold = [example("e", [("filter", (boxes(A),)), ("find", (boxes(B),))])]
    change(gold)
    assert np.array_equal(gold[0].modules[0].boxes[0], boxes(A))
