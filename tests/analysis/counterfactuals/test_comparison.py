"""Swaps of comparing words are as listed, reversible and exact.

Everything else stays equal byte for byte. The tests read real questions, too.
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.counterfactuals.comparison import IN_DISTRIBUTION, OUT_OF_DISTRIBUTION, find_other_answer, swaps
from analysis.counterfactuals.contexts import reduce_question
from tests.analysis.data import real_data

SENTENCE = "Who was born {}, Ann Lee or Bob Ray?"
PEOPLE = ["Ann Lee", "Bob Ray"]


def test_the_published_lists():
    facts = json.loads(real_data("paper_tables/rc_text_facts.json").read_text("utf-8"))
    assert {word: new for word, (new,) in IN_DISTRIBUTION.items()} == facts["operators"]
    assert {word: list(new) for word, new in OUT_OF_DISTRIBUTION.items()} == facts["ood_antonyms"]


@pytest.mark.parametrize("table, distribution", [(IN_DISTRIBUTION, "in"), (OUT_OF_DISTRIBUTION, "out")])
def test_every_listed_swap(table, distribution):
    for word, opposites in table.items():
        counterfactuals = swaps(SENTENCE.format(word), "Ann Lee", PEOPLE, distribution=distribution)
        assert [swap.question for swap in counterfactuals] == [SENTENCE.format(new) for new in opposites]
        assert {swap.answer for swap in counterfactuals} == {"Bob Ray"}


def test_doubtful_swaps_are_marked():
    counterfactuals = swaps(SENTENCE.format("earlier"), "Ann Lee", PEOPLE, distribution="out")
    assert [swap.near_synonym for swap in counterfactuals] == [False, False, True]


@given(
    st.text(st.characters(exclude_categories=["Cs", "L", "N"], exclude_characters="-_")),
    st.text(st.characters(exclude_categories=["Cs", "L", "N"], exclude_characters="-_")),
    st.sampled_from(sorted(IN_DISTRIBUTION)),
    st.sampled_from(["in", "out"]),
)
def test_swaps_are_reversible_and_leave_the_rest(before, after, word, distribution):
    question = before + word + after
    for swap in swaps(question, "x", distribution=distribution):
        assert swap.question.startswith(before)
        assert swap.question.endswith(after)
        assert swap.question[len(before) : len(swap.question) - len(after)] == swap.edit.new
        assert swap.edit.undo(swap.question).encode() == question.encode()


@pytest.mark.parametrize(
    "question",
    [
        "Who is first and who is later?",
        "Which is Earlier?",
        "Which has a first-class hall?",
        "Who is it?",
        "",
    ],
)
def test_no_single_comparing_word_no_swap(question):
    assert swaps(question, "x") == []


def test_words_inside_a_name_are_not_compared():
    question = "Which came out earlier, the first man or Brass?"
    assert len(swaps(question, "Brass", ["The first man (film)", "Brass"])) == 1
    assert swaps(question, "Brass") == []


@pytest.mark.parametrize(
    "answer, entities, expected",
    [
        ("Anna Mary Lee", ["Anna Lee", "Bob Ray"], "Bob Ray"),
        ("bob ray", ["Anna Lee", "Bob Ray (actor)"], "Anna Lee"),
        ("yes", ["Anna Lee", "Bob Ray"], None),
        ("Anna Lee", ["Anna Lee"], None),
        ("Anna Lee", ["Anna Lee", "Carl"], None),
    ],
)
def test_the_other_answer(answer, entities, expected):
    assert find_other_answer("Who is older, Anna Lee or Bob Ray?", answer, entities) == expected


@pytest.mark.parametrize(
    "name, taken, answered, outside",
    [
        ("hotpot/hotpot_sample.json", 16, 15, 28),
        ("2wiki/2wikimultihop_dev_sample.json", 259, 259, 543),
        ("2wiki/2wikimultihop_train_sample.json", 88, 88, 190),
    ],
)
def test_real_questions(name, taken, answered, outside):
    questions = json.loads(real_data(name).read_text("utf-8"))
    pairs, out = [], 0
    for question in questions:
        if "comparison" not in question["type"]:
            continue
        entities = [title for title, _ in question["supporting_facts"]]
        pairs += [(question, swap) for swap in swaps(question["question"], question["answer"], entities)]
        out += len(swaps(question["question"], question["answer"], entities, distribution="out"))
    assert len(pairs) == taken
    assert sum(swap.answer is not None for _, swap in pairs) == answered
    assert out == outside
    for question, swap in pairs:
        assert swap.edit.undo(swap.question) == question["question"]
        assert swap.answer is None or swap.answer in question["question"]
        for extent in ("facts", "paragraphs"):
            reduced = reduce_question(question, extent)
            sentences = {(title, text) for title, texts in question["context"] for text in texts}
            remaining = [(title, text) for title, texts in reduced["context"] for text in texts]
            assert set(remaining) <= sentences
            assert all(
                dict(map(tuple, reduced["context"]))[title][index]
                for title, index in reduced["supporting_facts"]
            )
            if extent == "facts":
                assert len(remaining) == len(reduced["supporting_facts"])


def test_swapped_gold_agrees_with_the_dates_of_the_data():
    """The swapped gold answer is the one that the compared years imply.

    The test skips questions whose data lack one of the two years.
    """
    questions = json.loads(real_data("2wiki/2wikimultihop_dev_sample.json").read_text("utf-8"))
    checked = right = 0
    for question in questions:
        years = {subject: re.search(r"\b\d{4}\b", value) for subject, _, value in question["evidences"]}
        if question["type"] != "comparison" or len(years) != 2 or not all(years.values()):
            continue
        entities = [title for title, _ in question["supporting_facts"]]
        for swap in swaps(question["question"], question["answer"], entities):
            first, last = sorted(years, key=lambda name: int(years[name].group()))
            if swap.answer is None or years[first].group() == years[last].group():
                continue
            expected = first if swap.edit.new in ("earlier", "older") else last
            checked += 1
            right += swap.answer.lower().split(" (")[0] == expected.lower().split(" (")[0]
    assert checked > 50
    assert right / checked > 0.95
