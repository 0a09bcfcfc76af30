"""Tests of the checks: screening, comprehension and attention.

They cover what passes, and what cannot be written.
"""

import pytest
from pydantic import ValidationError

from studyapp.definition.checks import (
    AttentionDefinition,
    Comprehension,
    FrozenAttention,
    ScreeningQuestion,
    check_expected,
    is_admitted,
    is_comprehended,
)
from studyapp.definition.questions.questionnaires import TEMPLATES

CHOICES = {"kind": "single", "choices": {"a": "A", "b": "B", "c": "C"}}
MANY = {**CHOICES, "kind": "multiple"}
NUMBER = {"kind": "number", "min": 0, "max": 120}


def screening(scale="yes_no", accept=None, **fields):
    return ScreeningQuestion.model_validate(
        {"key": "q", "text": "Q?", "scale": scale, "accept": accept, **fields}
    )


def comprehension(correct, scale="yes_no", **fields):
    return Comprehension.model_validate(
        {"questions": [{"key": "q", "text": "Q?", "scale": scale, "correct": correct, **fields}]}
    )


def attention(**fields):
    return AttentionDefinition.model_validate(
        {"id": "a", "kind": "instructed", "position": 1, "text": "Choose no.", "expected": {"x": False}}
        | fields
    )


@pytest.mark.parametrize(
    ("scale", "accept", "passing", "failing"),
    [
        ("yes_no", [True], [True], [False, None]),
        (CHOICES, ["a", "b"], ["a", "b"], ["c", None]),
        (MANY, ["a", "b"], [["a"], ["b", "c"]], [["c"], None]),
        (NUMBER, {"at_least": 18, "at_most": 60}, [18, 60], [17, 61, None]),
        ({"points": 5}, [4, 5], [4], [3, True]),
        (CHOICES, None, ["c", None], []),
    ],
)  # fmt: skip
def test_screening(scale, accept, passing, failing):
    question = screening(scale, accept)
    for answer in passing:
        assert is_admitted([question], {} if answer is None else {"q": answer}), answer
    for answer in failing:
        assert not is_admitted([question], {} if answer is None else {"q": answer}), answer
    if accept is None:
        assert question.passing is None
    else:
        assert question.is_passed_by(question.passing)


@pytest.mark.parametrize(
    ("scale", "accept", "words"),
    [
        ("yes_no", ["yes"], "accept: q is answered by true, false, not 'yes'"),
        ("yes_no", [1], "accept: q is answered by true, false, not 1"),
        (CHOICES, ["d"], "answered by a, b, c, not 'd'"),
        (NUMBER, [18], "accept must be a range for a number"),
        (CHOICES, {"at_least": 1}, "accept must be a range for a number"),
        (NUMBER, {}, "give at_least, at_most or both"),
        (NUMBER, {"at_least": 121}, "the range holds no number of the scale"),
        ({**NUMBER, "step": 10}, {"at_least": 11, "at_most": 19}, "the range holds no number of the scale"),
    ],
)
def test_screening_that_cannot_be(scale, accept, words):
    with pytest.raises(ValidationError, match=words):
        screening(scale, accept)


def test_a_screening_question_that_decides_is_required():
    with pytest.raises(ValidationError, match="must be required"):
        screening(accept=[True], required=False)
    assert not screening(required=False).required


@pytest.mark.parametrize(
    ("scale", "correct", "wrong"),
    [("yes_no", False, True), (CHOICES, "b", "a"), (MANY, ["c", "a"], ["a"]), (NUMBER, 3, 4)],
)
def test_comprehension(scale, correct, wrong):
    check = comprehension(correct, scale)
    assert is_comprehended(check, {"q": sorted(correct) if isinstance(correct, list) else correct})
    assert not is_comprehended(check, {"q": wrong})
    assert not is_comprehended(check, {})
    assert check.tries == 2


@pytest.mark.parametrize(
    ("correct", "fields", "words"),
    [
        (1, {}, "correct: q is answered by true, false, not 1"),
        ("d", {"scale": CHOICES}, "answered by a, b, c"),
        (["d"], {"scale": MANY}, "answered by a list of a, b, c"),
        (500, {"scale": NUMBER}, "answered by a number from 0 to 120"),
        (True, {"required": False}, "must be required"),
    ],
)
def test_comprehension_that_cannot_be(correct, fields, words):
    with pytest.raises(ValidationError, match=words):
        comprehension(correct, **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": None}, "instructed has text, not"),
        ({"item": "q1"}, "instructed has text, not item, text"),
        ({"kind": "contradiction"}, "contradiction has answer and item, not text"),
        (
            {"kind": "contradiction", "text": None, "item": "q1"},
            "contradiction has answer and item, not item",
        ),
        ({"position": 0}, "position"),
        ({"expected": {}}, "expected"),
    ],
)
def test_attention_that_cannot_be(fields, words):
    with pytest.raises(ValidationError, match=words):
        attention(**fields)


def test_expected_answers_are_those_of_item_questions():
    questions = TEMPLATES["xqa-2020"].item
    check_expected({"rated_correct": False, "certainty": 4}, questions, "attention item 'a'")
    for expected, words in [
        ({"mood": 1}, "attention item 'a': no item question has the key 'mood'; known keys: rated_correct,"),
        ({"certainty": 6}, "attention item 'a': certainty is answered by 1, 2, 3, 4, 5, not 6"),
        ({"certainty": True}, "not True"),
        ({"rated_correct": 0}, "rated_correct is answered by true, false, not 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            check_expected(expected, questions, "attention item 'a'")


def test_attention_passes_where_all_is_as_expected():
    row = FrozenAttention(
        id="a", kind="instructed", position=1, text="Choose.", item=None, answer=None, gold_answer=None,
        context=None, facts=None, expected={"rated_correct": False, "certainty": 4},
    )  # fmt: skip
    assert row.is_passed_by({"rated_correct": False, "certainty": 4, "helpfulness": 1})
    assert not row.is_passed_by({"rated_correct": False, "certainty": 5})
    assert not row.is_passed_by({"rated_correct": False})
    assert not row.is_passed_by({"rated_correct": 0, "certainty": 4})
