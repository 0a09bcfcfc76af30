"""Swaps of comparing words: as listed, reversible, everything else byte-equal; on real questions too."""

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
        found = swaps(SENTENCE.format(word), "Ann Lee", PEOPLE, distribution=distribution)
        assert [one.question for one in found] == [SENTENCE.format(new) for new in opposites]
        assert {one.answer for one in found} == {"Bob Ray"}


def test_doubtful_swaps_are_marked():
    found = swaps(SENTENCE.format("earlier"), "Ann Lee", PEOPLE, distribution="out")
    assert [one.near_synonym for one in found] == [False, False, True]


@given(
    st.text(st.characters(exclude_categories=["Cs", "L", "N"], exclude_characters="-_")),
    st.text(st.characters(exclude_categories=["Cs", "L", "N"], exclude_characters="-_")),
    st.sampled_from(sorted(IN_DISTRIBUTION)),
    st.sampled_from(["in", "out"]),
)
def test_swaps_are_reversible_and_leave_the_rest(before, after, word, distribution):
    question = before + word + after
    for one in swaps(question, "x", distribution=distribution):
        assert one.question.startswith(before)
        assert one.question.endswith(after)
        assert one.question[len(before) : len(one.question) - len(after)] == one.edit.new
        assert one.edit.undo(one.question).encode() == question.encode()


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
    found, out = [], 0
    for one in questions:
        if "comparison" not in one["type"]:
            continue
        entities = [title for title, _ in one["supporting_facts"]]
        found += [(one, swap) for swap in swaps(one["question"], one["answer"], entities)]
        out += len(swaps(one["question"], one["answer"], entities, distribution="out"))
    assert len(found) == taken
    assert sum(swap.answer is not None for _, swap in found) == answered
    assert out == outside
    for one, swap in found:
        assert swap.edit.undo(swap.question) == one["question"]
        assert swap.answer is None or swap.answer in one["question"]
        for extent in ("facts", "paragraphs"):
            less = reduce_question(one, extent)
            sentences = {(title, text) for title, texts in one["context"] for text in texts}
            kept = [(title, text) for title, texts in less["context"] for text in texts]
            assert set(kept) <= sentences
            assert all(
                dict(map(tuple, less["context"]))[title][index] for title, index in less["supporting_facts"]
            )
            if extent == "facts":
                assert len(kept) == len(less["supporting_facts"])


def test_swapped_gold_agrees_with_the_dates_of_the_data():
    """Where both compared years are told, the swapped gold answer is the one that the dates say."""
    questions = json.loads(real_data("2wiki/2wikimultihop_dev_sample.json").read_text("utf-8"))
    checked = right = 0
    for one in questions:
        years = {subject: re.search(r"\b\d{4}\b", value) for subject, _, value in one["evidences"]}
        if one["type"] != "comparison" or len(years) != 2 or not all(years.values()):
            continue
        entities = [title for title, _ in one["supporting_facts"]]
        for swap in swaps(one["question"], one["answer"], entities):
            first, last = sorted(years, key=lambda name: int(years[name].group()))
            if swap.answer is None or years[first].group() == years[last].group():
                continue
            expected = first if swap.edit.new in ("earlier", "older") else last
            checked += 1
            right += swap.answer.lower().split(" (")[0] == expected.lower().split(" (")[0]
    assert checked > 50
    assert right / checked > 0.95
