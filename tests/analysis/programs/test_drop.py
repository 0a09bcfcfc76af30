"""Programs that DROP's question types imply."""

import pytest

from analysis.io.errors import AnalysisError
from analysis.programs import lists_of, program_of
from analysis.programs.drop import QUESTION_TYPES


def test_it_works():
    program = program_of("relocate_maxfilterfind_qtype", ["who scored", "in the first half", "touchdown"])
    assert str(program) == (
        "relocate[who scored](find-max-num(find-num(filter[in the first half](find[touchdown]))))"
    )
    named = {
        name: [program.nodes[node].module for node in nodes]
        for name, nodes in lists_of("relocate_maxfilterfind_qtype")
    }
    assert named == {
        "find-events": ["find"],
        "after-filter-events": ["filter"],
        "find-nums": ["find-num"],
        "after-max-event": ["find-max-num"],
        "relocate": ["relocate"],
    }


@pytest.mark.parametrize("qtype", QUESTION_TYPES)
def test_every_type_makes_a_program_whose_lists_name_their_modules(qtype):
    question = "Which came first, and were there more?"
    program = program_of(qtype, question=question)
    modules = {
        "find-events": {"find"}, "find-two-events": {"find"}, "find-one-event": {"find"},
        "after-filter-events": {"filter"}, "find-nums": {"find-num"}, "ground-two-nums": {"find-num"},
        "ground-two-dates": {"find-date"}, "after-max-event": {"find-max-num"},
        "after-min-event": {"find-min-num"}, "relocate": {"relocate"},
    }  # fmt: skip
    for name, nodes in lists_of(qtype):
        assert {program.nodes[node].module for node in nodes} == modules[name]
    words = [str(n) for n in range(QUESTION_TYPES[qtype].words)]
    worded = program_of(qtype, words, question=question)
    assert [node.argument for node in worded.nodes if node.module in ("find", "filter", "relocate")] == words


@pytest.mark.parametrize(
    ("qtype", "question", "direction"),
    [
        ("number_comparison", "Were there fewer Bosniaks or Vlachs?", "less"),
        ("number_comparison", "In the first wave were there more soldiers?", "greater"),
        ("date_comparison", "What happened first: this or that?", "earlier"),
        ("date_comparison", "What happened second: this or that?", "later"),
    ],
)
def test_the_question_says_the_direction(qtype, question, direction):
    assert program_of(qtype, ["a", "b"], question=question).root.argument == direction


def test_two_events_without_words_are_one_node():
    """Two events without words are one `find` node.

    Two equal `find` nodes would share their output anyway, and nothing says which event is whose.
    """
    assert str(program_of("yeardiff_find2_qtype")) == "subtraction(find-date(find))"
    assert lists_of("yeardiff_find2_qtype") == (("find-two-events", (2,)), ("ground-two-dates", (1,)))
    worded = program_of("yeardiff_find2_qtype", ["the strike", "the war"])
    assert str(worded) == "subtraction(find-date(find[the strike]), find-date(find[the war]))"
    assert lists_of("yeardiff_find2_qtype", 2)[0] == ("find-two-events", (2, 4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("max_qtype", []), "none of the 17 question types"),
        (("max_find_qtype", ["a", "b"]), "takes 1 arguments or none, not 2"),
        (("date_comparison", ["a", "b"]), "neither earlier nor later"),
    ],
)
def test_what_cannot_be_a_program_is_refused(arguments, message):
    with pytest.raises(AnalysisError, match=message):
        program_of(*arguments)


def test_words_may_hold_brackets():
    assert program_of("num_find_qtype", ["a [b]"]).nodes[1].argument == "a [b]"
