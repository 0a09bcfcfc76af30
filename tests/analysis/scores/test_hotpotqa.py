"""The official HotpotQA scores: semantics and malformed input.

A second reading agrees on real predictions.
"""

import json
import math
import re
from collections import Counter
from string import punctuation

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.scores import hotpotqa
from benchmarks.models.scores import generate_questions, score_plainly
from tests.analysis.data import real_data

GOLD = [
    {"_id": "a", "answer": "the Ed Wood", "supporting_facts": [["Ed Wood", 0], ["Film", 2]]},
    {"_id": "b", "answer": "yes", "supporting_facts": [["One", 0], ["Two", 0]]},
]


def test_it_works():
    predictions = {
        "answer": {"a": "Ed Wood (film)", "b": "Yes."},
        "sp": {"a": [["Ed Wood", 0], ["Other", 1], ["Ed Wood", 0]], "b": [["Two", 0], ["One", 0]]},
    }
    scores = hotpotqa.score(GOLD, predictions)
    assert list(scores) == list(hotpotqa.KEYS)
    assert scores["em"] == 0.5
    assert scores["prec"] == pytest.approx((2 / 3 + 1) / 2)
    assert scores["recall"] == 1
    assert scores["f1"] == pytest.approx((0.8 + 1) / 2)
    assert (scores["sp_em"], scores["sp_prec"], scores["sp_recall"]) == (0.5, 0.75, 0.75)
    joint_prec, joint_recall = 2 / 3 * 0.5, 0.5
    assert scores["joint_f1"] == pytest.approx(
        (2 * joint_prec * joint_recall / (joint_prec + joint_recall) + 1) / 2
    )
    assert scores["joint_em"] == 0.5


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The  Firth of Clyde, Scotland", "firth of clyde scotland"),
        ("An A-ha album", "aha album"),  # punctuation goes before articles are looked for
        ("a the an", ""),
        ("ISTANBUL\tİ", "istanbul i̇"),
        ("“quoted”", "“quoted”"),  # only ASCII punctuation is deleted
    ],
)
def test_normalisation(text, normalised):
    assert hotpotqa.normalise_answer(text) == normalised


@given(
    st.lists(
        st.sampled_from(["the", "a", "an", "The", "ant", "_", "“", "K", "é", ".", "\x00", " ", "\t", "1"])
    )
)
def test_words_are_those_that_the_rule_for_articles_leaves(parts):
    text = "".join(parts)
    bare = text.lower().translate(str.maketrans("", "", punctuation))
    assert hotpotqa.normalise_answer(text) == " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("yes", "no", (0, 0, 0)),
        ("yes", "yes it is", (0, 0, 0)),
        ("no way", "no", (0, 0, 0)),
        ("noanswer", "answer", (0, 0, 0)),
        ("yes sir", "oh yes", (0.5, 0.5, 0.5)),  # the rule looks at whole answers
        ("a b b c", "b b b", (2 / 3, 2 / 3, 2 / 3)),  # multiset; the article is dropped
        ("x", "y", (0, 0, 0)),
    ],
)
def test_answer_f1(gold, predicted, expected):
    assert hotpotqa.answer_f1(gold, predicted) == pytest.approx(expected)


def test_empty_answers_match_exactly_with_f1_zero():
    scores = hotpotqa.score_question("The", [["A", 0]], "!", [["A", 0]])
    assert (scores["em"], scores["f1"], scores["joint_em"], scores["joint_f1"]) == (1, 0, 1, 0)


def test_two_empty_fact_sets_match_exactly_with_f1_zero():
    scores = hotpotqa.score_question("x", [], "x", [])
    assert (scores["sp_em"], scores["sp_f1"], scores["sp_prec"], scores["sp_recall"]) == (1, 0, 0, 0)


def test_a_missing_part_counts_zero_for_itself_and_for_joint():
    only_facts = hotpotqa.score(GOLD, {"answer": {}, "sp": {"a": GOLD[0]["supporting_facts"]}})
    assert only_facts["sp_em"] == 0.5
    assert {only_facts[key] for key in (*hotpotqa.ANSWER_KEYS, *hotpotqa.JOINT_KEYS)} == {0}
    only_answers = hotpotqa.score(GOLD, {"answer": {"a": "ed wood", "b": "yes"}})
    assert only_answers["em"] == 1
    assert {only_answers[key] for key in (*hotpotqa.FACT_KEYS, *hotpotqa.JOINT_KEYS)} == {0}


def test_answers_to_other_questions_are_ignored():
    predictions = {"answer": {"a": "ed wood"}, "sp": {}}
    more = {"answer": {"a": "ed wood", "z": "yes"}, "sp": {"z": [["A", 0]]}}
    assert hotpotqa.score(GOLD, predictions) == hotpotqa.score(GOLD, more)


def test_gold_may_be_a_stream():
    assert hotpotqa.score(iter(GOLD), {"answer": {"a": "ed wood"}, "sp": {}})["em"] == 0.5


@pytest.mark.parametrize(
    ("gold", "predictions", "words"),
    [
        ([], {"answer": {}}, "holds no questions"),
        (GOLD, [], '"answer", "sp"'),
        (GOLD, {"answers": {}}, '"answer", "sp"'),
        (GOLD, {"answer": []}, '"answer" must be an object'),
        ([{"_id": "a", "answer": "x"}], {"answer": {}}, 'entry 1 lacks "supporting_facts"'),
        ([*GOLD, {"answer": "x", "supporting_facts": []}], {"answer": {}}, 'entry 3 lacks "_id"'),
        (GOLD, {"answer": {"a": 3}}, "answer of 'a' must be text, not 3"),
    ],
)
def test_malformed_input_is_named(gold, predictions, words):
    with pytest.raises(ValueError, match=words):
        hotpotqa.score(gold, predictions)


@pytest.mark.parametrize(
    "facts",
    [
        [["Ed Wood"]], "Ed Wood", 3, [3], [["Ed Wood", [0]]], {"Ed Wood": 0}, [["Ed Wood", "0"]], [None],
    ],
)  # fmt: skip
def test_facts_of_another_shape_match_nothing_and_are_listed(facts):
    right = GOLD[0]["supporting_facts"]
    mixed = {"sp": {"a": [*right, *facts] if isinstance(facts, list) else facts}}
    scores = hotpotqa.score(GOLD, mixed)
    assert scores["sp_em"] == 0
    assert scores["sp_recall"] == (0.5 if isinstance(facts, list) else 0)
    listed = hotpotqa.malformed_facts(mixed)
    assert listed == [("a", fact) for fact in (facts if isinstance(facts, list) else [facts])]


def test_an_index_compares_as_in_python():
    floats = {"sp": {"a": [[title, float(index)] for title, index in GOLD[0]["supporting_facts"]]}}
    assert hotpotqa.score(GOLD, floats)["sp_em"] == 0.5
    assert hotpotqa.malformed_facts(floats) == []


def second_reading(gold, predictions):
    """Compute the official evaluation once more, loop by loop.

    It shares nothing with the module.
    """

    def plain(text):
        bare = "".join(character for character in text.lower() if character not in set(punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())

    def overlap(n_common, n_predicted, n_gold):
        p = n_common / n_predicted if n_predicted else 0
        r = n_common / n_gold if n_gold else 0
        return p, r, 2 * p * r / (p + r) if p + r else 0

    columns: dict[str, list[float]] = {key: [] for key in hotpotqa.KEYS}
    for question in gold:
        row: dict[str, float] = dict.fromkeys(hotpotqa.KEYS, 0)
        answer = predictions["answer"].get(question["_id"])
        facts = predictions["sp"].get(question["_id"])
        if answer is not None:
            ours, theirs = plain(question["answer"]), plain(answer)
            closed = ours != theirs and (
                ours in ("yes", "no", "noanswer") or theirs in ("yes", "no", "noanswer")
            )
            shared = 0 if closed else sum((Counter(ours.split()) & Counter(theirs.split())).values())
            row["em"] = int(ours == theirs)
            row["prec"], row["recall"], row["f1"] = overlap(shared, len(theirs.split()), len(ours.split()))
        if facts is not None:
            theirs, ours = {(t, i) for t, i in facts}, {(t, i) for t, i in question["supporting_facts"]}
            row["sp_em"] = int(ours == theirs)
            row["sp_prec"], row["sp_recall"], row["sp_f1"] = overlap(
                len(ours & theirs), len(theirs), len(ours)
            )
        if answer is not None and facts is not None:
            p, r = row["prec"] * row["sp_prec"], row["recall"] * row["sp_recall"]
            row["joint_prec"], row["joint_recall"] = p, r
            row["joint_f1"] = 2 * p * r / (p + r) if p + r else 0
            row["joint_em"] = row["em"] * row["sp_em"]
        for key, value in row.items():
            columns[key].append(value)
    return {key: math.fsum(values) / len(gold) for key, values in columns.items()}


@pytest.mark.parametrize("system", ["srlgrn", "hp_model_9"])
def test_real_predictions_agree_with_a_second_reading(system):
    gold = json.loads(real_data("hotpot/hotpot_sample.json").read_text("utf-8"))
    predictions = json.loads(real_data(f"hotpot/predictions/{system}.json").read_text("utf-8"))
    scores = hotpotqa.score(gold, predictions)
    assert scores == pytest.approx(second_reading(gold, predictions), abs=1e-12)
    assert 0.5 < scores["em"] < scores["f1"] < 0.9  # a trained reader, and not the same number twelve times
    assert len(set(scores.values())) == 12


def test_generated_predictions_agree_with_the_plain_loop_of_the_benchmark():
    gold, predictions = generate_questions(300)
    scores = hotpotqa.score(gold, predictions)
    assert scores == pytest.approx(score_plainly(gold, predictions), abs=1e-12)
    assert scores == pytest.approx(second_reading(gold, predictions), abs=1e-12)
    assert 0 < scores["joint_em"] < scores["joint_f1"] < scores["f1"] < 1
