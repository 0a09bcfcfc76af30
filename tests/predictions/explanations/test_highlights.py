"""Strengths of highlighted pieces are relative to the largest weight.

Their extents fit the texts.
"""

import pytest

from predictions.explanations.highlights import (
    build_fact_weights,
    build_highlights,
    check_places,
    check_question_places,
)

CONTEXT = [("Oslo", ["Oslo is a city.", " It is old.", " "])]


def test_it_works():
    weights = [("Oslo", 0, 10, 14, 2.0), ("Oslo", 0, 0, 4, 1.0), ("Oslo", 1, 1, 3, 0.25)]
    assert build_highlights(weights).context == [
        ("Oslo", 0, 0, 4, 2),
        ("Oslo", 0, 10, 14, 3),
        ("Oslo", 1, 1, 3, 1),
    ]


@pytest.mark.parametrize(
    ("share", "level"), [(1, 3), (0.7, 3), (0.69, 2), (0.4, 2), (0.39, 1), (0.1, 1), (0.09, None), (0, None)]
)
def test_three_strengths(share, level):
    pieces = build_highlights([("Oslo", 0, 0, 4, 10.0), ("Oslo", 1, 0, 4, 10.0 * share)]).context
    assert [piece[4] for piece in pieces[1:]] == ([level] if level else [])


def test_levels_do_not_depend_on_the_scale_of_the_weights():
    weights = [("Oslo", 0, start, start + 1, 0.3 + start) for start in range(5)]
    scaled = [(*weight[:4], weight[4] * 1000) for weight in weights]
    assert build_highlights(weights) == build_highlights(scaled)


@pytest.mark.parametrize("weights", [[], [("Oslo", 0, 0, 4, 0.0)], [("Oslo", 0, 0, 4, -3.0)]])
def test_no_weight_above_zero_highlights_nothing(weights):
    assert build_highlights(weights) == ([], [])


def test_a_weight_below_zero_is_no_highlight():
    assert build_highlights([("Oslo", 0, 0, 4, 1.0), ("Oslo", 1, 0, 4, -1.0)]).context == [
        ("Oslo", 0, 0, 4, 3)
    ]


def test_question_and_articles_have_one_scale():
    articles = [("Oslo", 0, 0, 4, 1.0)]
    assert build_highlights(articles, [(7, 12, 2.0), (0, 3, 0.1), (3, 4, -9.0)]) == (
        [("Oslo", 0, 0, 4, 2)],
        [(7, 12, 3)],
    )
    assert build_highlights([], [(0, 3, 1.0)]) == ([], [(0, 3, 3)])


@pytest.mark.parametrize(
    ("extent", "words"),
    [
        ((7, 13), "the question has no characters 7 to 13"),
        ((5, 5), "no characters 5 to 5"),
        ((2, 4), "two weights overlap in the question at character 2"),
    ],
)
def test_places_that_do_not_fit_the_question(extent, words):
    check_question_places("Who is old?", [(3, 6, 1.0), (0, 3, 1.0)])
    with pytest.raises(ValueError, match=words):
        check_question_places("Who is older", [(*extent, 1.0), (0, 3, 1.0)])  # words: allow - test data


def test_the_probability_of_a_fact_is_the_weight_of_its_sentence():
    probabilities = [
        ("Oslo", 0, 0.9),
        ("Oslo", 1, 0.2),
        ("Oslo", 2, 0.9),
        ("Oslo", 7, 0.9),
        ("Nowhere", 0, 0.9),
    ]
    assert build_fact_weights(CONTEXT, probabilities) == [("Oslo", 0, 0, 15, 0.9), ("Oslo", 1, 0, 11, 0.2)]


@pytest.mark.parametrize(
    ("extent", "words"),
    [
        (("Oslo", 0, 0, 16), "no sentence 0 of 'Oslo' has the characters 0 to 16"),
        (("Oslo", 0, 4, 4), "characters 4 to 4"),
        (("Oslo", 3, 0, 1), "no sentence 3"),
        (("Bergen", 0, 0, 1), "'Bergen'"),
        (("Oslo", 0, 3, 6), "overlap in sentence 0 of 'Oslo' at character 3"),
    ],
)
def test_places_that_do_not_fit(extent, words):
    with pytest.raises(ValueError, match=words):
        check_places(CONTEXT, [("Oslo", 0, 0, 4, 1.0), (*extent, 1.0)])


def test_neighbours_do_not_overlap():
    check_places(CONTEXT, [("Oslo", 0, 4, 7, 1.0), ("Oslo", 0, 0, 4, 1.0), ("Oslo", 1, 0, 4, 1.0)])
