"""Fact removal, answer location and error propagation."""

import json
from typing import Any

import pytest

from analysis.scores import farm_loca
from tests.analysis.data import real_data

CONTEXT = [["A", ["a0", "a1", "a2"]], ["B", ["b0"]], ["C", []]]


def test_it_works():
    order = farm_loca.removal_order([("A", 0, 0.2), ("A", 1, 0.9), ("A", 2, 0.34), ("B", 0, 0.1)])
    assert order.relevant == [("A", 1), ("A", 2)]
    assert order.irrelevant == [("A", 0), ("B", 0)]
    assert farm_loca.reduce_context(CONTEXT, order.relevant, 1) == [
        ["A", ["a0", "a2"]],
        ["B", ["b0"]],
        ["C", []],
    ]


def test_the_later_listed_fact_goes_first_on_a_tie():
    order = farm_loca.removal_order([("A", 0, 0.5), ("B", 0, 0.9), ("A", 1, 0.5), ("C", 3, 0.5)])
    assert order.relevant == [("B", 0), ("C", 3), ("A", 1), ("A", 0)]


def test_the_threshold_is_strict():
    order = farm_loca.removal_order([("A", 0, 0.33), ("A", 1, 0.330001)])
    assert order.relevant == [("A", 1)]


def test_facts_said_to_be_relevant_win_over_the_threshold():
    listed = [["A", 0, 0.9], ["A", 1, 0.1], ["B", 0, 0.2]]
    order = farm_loca.removal_order(listed, relevant=[["A", 1], ["B", 0]])
    assert (order.relevant, order.irrelevant) == ([("B", 0), ("A", 1)], [("A", 0)])
    with pytest.raises(ValueError, match=r"relevant fact \('Z', 0\) has no probability"):
        farm_loca.removal_order(listed, relevant=[("Z", 0)])


def test_titles_are_no_facts():
    order = farm_loca.removal_order([("A", -1, 0.99), ("A", 0, 0.9)], relevant=[("A", -1), ("A", 0)])
    assert order == farm_loca.RemovalOrder(relevant=[("A", 0)], irrelevant=[])
    reduced = farm_loca.reduce_context(CONTEXT, [("A", -1), ("A", 0), ("B", 0)], 1)
    assert reduced == [["A", ["a1", "a2"]], ["B", ["b0"]], ["C", []]]


def test_a_fact_listed_twice_counts_once():
    order = farm_loca.removal_order([("A", 0, 0.5), ("B", 0, 0.6), ("A", 0, 0.7)])
    assert order.relevant == [("A", 0), ("B", 0)]


@pytest.mark.parametrize("k", [3, 4, 99])
def test_all_are_removed_when_there_are_fewer_than_k_and_articles_stay(k):
    facts = [("A", 2), ("A", 0), ("B", 0)]
    assert farm_loca.reduce_context(CONTEXT, facts, k) == [["A", ["a1"]], ["B", []], ["C", []]]


def test_nothing_is_removed_at_zero_and_the_input_is_left_alone():
    reduced = farm_loca.reduce_context(CONTEXT, [("A", 0)], 0)
    assert reduced == CONTEXT
    reduced[0][1].clear()
    assert CONTEXT[0][1] == ["a0", "a1", "a2"]


def test_two_articles_with_one_title_both_lose_the_sentence():
    twins = [["A", ["x0", "x1"]], ["A", ["y0", "y1"]]]
    assert farm_loca.reduce_context(twins, [["A", 1]], 1) == [["A", ["x0"]], ["A", ["y0"]]]


@pytest.mark.parametrize("bad", [("A",), ("A", "0"), "A", ("A", 0, 1), None])
def test_malformed_facts_are_named(bad):
    with pytest.raises(ValueError, match="a fact must be"):
        farm_loca.reduce_context(CONTEXT, [bad], 1)


@pytest.mark.parametrize("bad", [("A", 0), ("A", 0, "high"), ("A", 0, float("nan"))])
def test_malformed_probabilities_are_named(bad):
    with pytest.raises(ValueError, match="a fact with its probability must be"):
        farm_loca.removal_order([bad])


def test_a_negative_k_is_refused():
    with pytest.raises(ValueError, match="k must be 0 or more"):
        farm_loca.reduce_context(CONTEXT, [], -1)


def test_farm_counts_changes_of_the_raw_answer():
    answers = {"q1": "Paris", "q2": "yes", "q3": "Rome", "q4": "no"}
    relevant = {1: answers | {"q1": "paris"}, 2: answers | {"q1": "Lyon", "q2": "no", "q3": ""}}
    irrelevant = {1: answers, 2: answers | {"q4": "yes"}}
    scores = farm_loca.farm(answers, relevant, irrelevant)
    assert scores.c_rel == {1: 0.25, 2: 0.75}
    assert scores.c_irr == {1: 0, 2: 0.25}
    assert scores.farm == {1: 0.25, 2: 0.6}
    assert scores.questions == 4


def test_farm_of_no_questions_is_undefined():
    assert farm_loca.farm({}, {1: {}}, {1: {}}).farm == {1: None}


def test_farm_refuses_answers_that_do_not_pair():
    with pytest.raises(ValueError, match=r"without_irrelevant\[1\].*1 question ids, 'q2'"):
        farm_loca.farm({"q1": "x"}, {1: {"q1": "x"}}, {1: {"q1": "x", "q2": "y"}})
    with pytest.raises(ValueError, match=r"k = \[1\], without_irrelevant has k = \[1, 2\]"):
        farm_loca.farm({"q": "x"}, {1: {"q": "x"}}, {1: {"q": "x"}, 2: {"q": "x"}})


def test_loca_counts_sentences_titles_and_spans_across():
    fact = ("A", 0)
    records: list[Any] = [
        ("span", fact, fact, [["A", 0]]),  # inside
        ("span", ["A", 0], ("A", 0), [("B", 0), ("A", 0)]),  # inside
        ("span", ("A", 1), ("A", 1), [fact]),  # outside
        ("span", ("A", 0), ("A", 1), [("A", 0), ("A", 1)]),  # across sentences
        ("span", None, None, [fact]),  # in a title
        ("span", None, fact, [fact]),  # from a title into a sentence
        ("span", ("A", -1), ("A", -1), [("A", -1)]),  # a title, by index
        ("yes", None, None, [fact]),
        ("no", fact, fact, [fact]),
    ]
    scores = farm_loca.loca(iter(records))
    assert (scores.span_answers, scores.inside_count, scores.outside_count) == (7, 2, 1)
    assert scores.inside == 2 / 7
    assert scores.outside == 1 / 7
    assert scores.loca == pytest.approx(2 / (7 + 1))


def test_loca_without_span_answers_is_undefined():
    scores = farm_loca.loca([("yes", None, None, [])])
    assert (scores.loca, scores.inside, scores.outside, scores.span_answers) == (None, None, None, 0)


def test_loca_refuses_an_unknown_type():
    with pytest.raises(ValueError, match="type must be one of span, yes, no, label, not 'date'"):
        farm_loca.loca([("date", None, None, [])])


def test_published_scores_follow_from_their_published_parts():
    rows = json.loads(real_data("paper_tables/xqa_model_scores.json").read_text("utf-8"))["rows"]
    for system in rows["LocA"]:
        part = {name: rows[name][system] / 100 for name in ("I", "O", "c_rel(4)", "c_irr(4)")}
        n = 10_000
        inside, outside = round(part["I"] * n), round(part["O"] * n)
        fact = ("A", 0)
        records: list[Any] = [("span", fact, fact, [fact])] * inside + [("span", fact, fact, [])] * outside
        records += [("span", None, None, [fact])] * (n - inside - outside)
        assert farm_loca.loca(records).loca == pytest.approx(rows["LocA"][system] / 100, abs=2e-4)
        answers = {str(i): "old" for i in range(n)}
        relevant = {str(i): "new" if i < round(part["c_rel(4)"] * n) else "old" for i in range(n)}
        irrelevant = {str(i): "new" if i < round(part["c_irr(4)"] * n) else "old" for i in range(n)}
        farm = farm_loca.farm(answers, {4: relevant}, {4: irrelevant}).farm[4]
        assert farm == pytest.approx(rows["FaRM(4)"][system] / 100, abs=2e-4)


def test_error_propagation():
    gold = [["A", 0], ["B", 1]]
    records = [
        (True, [("A", 0), ("B", 1), ("C", 0)], gold),
        (False, [("B", 1), ("A", 0)], gold),
        (True, [("A", 0)], gold),  # neither all nor none
        (False, [("C", 0)], gold),
        (False, [], gold),
        (True, [], gold),
    ]
    propagation = farm_loca.error_propagation(records)
    assert (propagation.all_facts, propagation.no_facts, propagation.questions) == (2, 3, 6)
    assert propagation.em_all_facts == 0.5
    assert propagation.em_no_facts == pytest.approx(1 / 3)


def test_error_propagation_undefined_and_refused():
    propagation = farm_loca.error_propagation([(True, [("A", 0)], [("A", 0), ("B", 0)])])
    assert (propagation.em_all_facts, propagation.em_no_facts) == (None, None)
    with pytest.raises(ValueError, match="record 0: gold facts may not be empty"):
        farm_loca.error_propagation([(True, [], [])])
