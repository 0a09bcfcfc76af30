"""Tests of the answers to choose from, which hide the system's answer.

The system's answer is one of them, none comes twice, and the order gives nothing away.
"""

import pytest

from analysis.scores.hotpotqa import normalise_answer
from studyapp.definition.task_designs.candidates import select_candidates, shuffle_texts

CONTEXT = [
    ("Ada Brenn", ["Ada Brenn was born in Kolwen in 1950.", " She worked in Tolm with Ben Corr."]),
    ("Kolwen", ["From Kolwen it is not far to Grend.", "Lately people moved from Bost to Luth."]),
]


def make(answer="Kolwen", likely=(), labels=(), most=5, seed="1/q1", context=CONTEXT):
    return select_candidates(answer, likely, context, labels, most=most, seed=seed)


def test_it_works():
    options = make(likely=["Tolm", "Kolwen", ""])
    assert {"Kolwen", "Tolm"} <= {*options}
    assert len(options) == 5 == len({normalise_answer(option) for option in options})
    assert not {"Ada Brenn", "1950"} & {*options}  # of other types than the answers
    assert make(likely=["Tolm", "Kolwen", ""]) == options


def test_no_two_are_equal_after_normalisation():
    options = make(likely=["the kolwen", "KOLWEN!", "Tolm"], most=2)
    assert sorted(options) == ["Kolwen", "Tolm"]


@pytest.mark.parametrize("likely", [[], ["no"], ["Yes", "no"]])
def test_yes_and_no_keep_their_order(likely):
    assert [option.lower() for option in make("Yes", likely)] == ["yes", "no"]


def test_an_answer_in_words_to_a_question_for_yes_or_no_stands_beside_both():
    assert {"Kolwen", "yes", "no"} <= {*make("Kolwen", ["yes"])}


def test_labels_keep_their_order_and_the_systems_own_is_kept():
    labels = ["SUPPORTED", "REFUTED", "UNKNOWN"]
    assert make("REFUTED", labels=labels) == labels
    assert make("UNKNOWN", ["SUPPORTED"], labels, most=2) == ["SUPPORTED", "UNKNOWN"]


def test_the_order_gives_the_answer_away_nowhere():
    """Over many items, the system's answer is as often on each place."""
    positions = [make(seed=f"1/q{number}", likely=["Tolm"], most=4).index("Kolwen") for number in range(400)]
    assert all(60 <= positions.count(position) <= 140 for position in range(4))


def test_an_article_without_mentions_leaves_what_is_known():
    assert make("blue", context=[("x", ["nothing here."])]) == ["blue"]


def test_one_text_more_leaves_the_order_of_the_others():
    before = shuffle_texts(["a", "b", "c"], 1)
    assert [text for text in shuffle_texts(["a", "b", "c", "d"], 1) if text != "d"] == before
