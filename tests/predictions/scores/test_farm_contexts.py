"""Each distinct reduced context of a prediction comes once."""

import pytest

from analysis.scores.farm_loca import REMOVALS, reduce_context
from predictions.scores.farm_contexts import build_reductions, compute_digest

CONTEXT = [["A", ["a0", "a1", "a2"]], ["B", ["b0", "b1"]]]
PROBABILITIES = [["A", 0, 0.9], ["A", 1, 0.1], ["A", 2, 0.3], ["B", 0, 0.7], ["B", 1, 0.2]]


def test_it_works():
    forms = build_reductions(CONTEXT, [["A", 0], ["B", 0]], PROBABILITIES)
    assert forms.contexts[forms.relevant[1]] == [("A", ["a1", "a2"]), ("B", ["b0", "b1"])]
    assert forms.contexts[forms.relevant[2]] == [("A", ["a1", "a2"]), ("B", ["b1"])]
    assert forms.contexts[forms.irrelevant[1]] == [("A", ["a0", "a1"]), ("B", ["b0", "b1"])]
    assert forms.contexts[forms.irrelevant[3]] == [("A", ["a0"]), ("B", ["b0"])]


def test_k_beyond_the_facts_adds_no_input():
    forms = build_reductions(CONTEXT, [["A", 0], ["B", 0]], PROBABILITIES)
    assert forms.relevant[2] == forms.relevant[3] == forms.relevant[4]
    assert forms.irrelevant[3] == forms.irrelevant[4]
    assert len(forms.contexts) == 2 + 3


def test_a_reduction_that_removes_nothing_is_the_full_context_and_no_input():
    forms = build_reductions(CONTEXT, [], PROBABILITIES)
    assert set(forms.relevant.values()) == {forms.full}
    assert forms.full == compute_digest(CONTEXT)
    assert forms.full not in forms.contexts
    assert len(forms.contexts) == len(REMOVALS)


def test_contexts_that_are_equal_are_one_input():
    twice = [["A", ["same", "same", "other"]]]
    forms = build_reductions(twice, [["A", 0]], [["A", 0, 0.9], ["A", 1, 0.4], ["A", 2, 0.1]])
    assert forms.relevant[1] == forms.irrelevant[1]
    assert forms.contexts[forms.relevant[1]] == [("A", ["same", "other"])]


def test_every_digest_is_that_of_its_context():
    forms = build_reductions(CONTEXT, [["A", 0], ["B", 0]], PROBABILITIES)
    for k in REMOVALS:
        expected = reduce_context(CONTEXT, [("A", 0), ("B", 0)], k)
        assert (
            forms.relevant[k] == compute_digest(expected) == compute_digest(forms.contexts[forms.relevant[k]])
        )


def test_a_relevant_fact_without_probability_is_told():
    with pytest.raises(ValueError, match="no probability"):
        build_reductions(CONTEXT, [["B", 9]], PROBABILITIES)
