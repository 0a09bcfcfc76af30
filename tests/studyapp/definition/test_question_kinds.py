"""Tests of slider, matrix, ranking and long text: forms and columns.

They cover posts, and every wrong one.
"""

import pytest
from pydantic import ValidationError

from studyapp.definition.languages.translations import list_labels, translate
from studyapp.definition.questions.answer_scales import MatrixScale
from studyapp.definition.questions.question import Question, list_question_parts
from studyapp.web.forms.posted_answers import parse_answers, parse_changes

SLIDER = {"kind": "slider", "min": 0, "max": 100, "ends": ["None", "Full"]}
MATRIX = {"kind": "matrix", "rows": {"fast": "It is fast.", "fair": "It is fair."}, "points": 5}
RANKING = {"kind": "ranking", "choices": {"a": "First", "b": "Second", "c": "Third"}}
TEXT = {"kind": "text", "min_length": 5, "max_length": 20, "counter": True}


def ask(scale, **fields):
    return Question.model_validate({"key": "q", "text": "How?", "scale": scale, **fields})


def parse(scale, post, **fields):
    return parse_answers([ask(scale, **fields)], post)


def names(scale):
    return [(column.name, column.type, column.unit) for column in ask(scale).columns]


def test_columns():
    assert names(SLIDER)[0] == ("q", "integer", None)
    assert names({**SLIDER, "step": 0.5})[0] == ("q", "number", None)
    assert [name for name, *_rest in names(MATRIX)] == [
        "q_fast",
        "changes_q_fast",
        "q_fair",
        "changes_q_fair",
    ]
    assert names(RANKING)[::2] == [(f"q_{key}", "integer", "rank") for key in "abc"]
    assert ask(MATRIX).columns[0].meaning == "How? – It is fast."
    assert ask(RANKING).columns[0].meaning == "How? – rank of 'First'"


@pytest.mark.parametrize(
    ("scale", "post", "answers"),
    [
        (SLIDER, {"q": "0"}, {"q": 0}),
        (SLIDER, {"q": ["37"]}, {"q": 37}),
        ({**SLIDER, "step": 0.5}, {"q": "1.5"}, {"q": 1.5}),
        (MATRIX, {"q_fast": "1", "q_fair": "5"}, {"q_fast": 1, "q_fair": 5}),
        (
            {"kind": "matrix", "rows": {"x": "X"}, "choices": {"n": "Never", "o": "Often"}},
            {"q_x": "o"},
            {"q_x": "o"},
        ),
        (RANKING, {"q_a": "2", "q_b": "1", "q_c": "3"}, {"q_a": 2, "q_b": 1, "q_c": 3}),
        ({**RANKING, "top": 1}, {"q_a": "", "q_b": "1", "q_c": ""}, {"q_b": 1}),
        (TEXT, {"q": " 12345 "}, {"q": "12345"}),
    ],
)
def test_posts_that_are_answers(scale, post, answers):
    assert parse(scale, post) == (answers, {})


@pytest.mark.parametrize("scale", [SLIDER, MATRIX, RANKING, TEXT])
def test_untouched_is_missing(scale):
    sent = dict.fromkeys([part.key for part in ask(scale).parts], "")
    assert parse(scale, sent, required=False) == ({}, {})
    answers, errors = parse(scale, sent)
    assert answers == {}
    assert set(errors.values()) == {"Please answer this question."}


@pytest.mark.parametrize(
    ("scale", "post", "errors"),
    [
        (SLIDER, {"q": "101"}, {"q": "Please enter a number from 0 to 100, in steps of 1."}),
        (SLIDER, {"q": "NaN"}, {"q": "Please enter a number from 0 to 100, in steps of 1."}),
        (SLIDER, {"q": "inf"}, {"q": "Please enter a number from 0 to 100, in steps of 1."}),
        (SLIDER, {"q": "0.5"}, {"q": "Please enter a number from 0 to 100, in steps of 1."}),
        (MATRIX, {"q_fast": "6", "q_fair": "1"}, {"q_fast": "Please choose one of the given answers."}),
        (MATRIX, {"q_slow": "1", "q_fair": "1"}, {"q_fast": "Please answer this question."}),
        (RANKING, {"q_a": "1", "q_b": "1", "q_c": "3"}, {"q": "Please give each rank only once."}),
        (RANKING, {"q_a": "1", "q_b": "2"}, {"q": "Please give all ranks from 1 to 3."}),
        (RANKING, {"q_a": "0", "q_b": "1", "q_c": "2"}, {"q": "Please choose ranks from 1 to 3."}),
        (RANKING, {"q_a": "1.0", "q_b": "2", "q_c": "3"}, {"q": "Please choose ranks from 1 to 3."}),
        ({**RANKING, "top": 2}, {"q_a": "3"}, {"q": "Please choose ranks from 1 to 2."}),
        ({**RANKING, "top": 2}, {"q_a": "1"}, {"q": "Please give all ranks from 1 to 2."}),
        (TEXT, {"q": "1234"}, {"q": "Please enter at least 5 and at most 20 characters."}),
        (TEXT, {"q": "1" * 21}, {"q": "Please enter at least 5 and at most 20 characters."}),
    ],
)
def test_posts_that_are_not(scale, post, errors):
    _answers, messages = parse(scale, post)
    assert messages == errors


def test_changes_are_counted_by_row():
    assert parse_changes([ask(MATRIX)], {"changes_q_fast": "2", "changes_q": "9"}) == {"q_fast": 2}


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ({**SLIDER, "ends": ["Only one"]}, "ends must be two texts"),
        ({**SLIDER, "start": 200}, "start is not a number of the slider"),
        ({**SLIDER, "step": 0.01}, "at most 1000 steps"),
        ({**SLIDER, "min": 100}, "max must be larger than min"),
        ({**SLIDER, "min": float("nan")}, "less than or equal"),
        ({**MATRIX, "rows": {}}, "at least 1"),
        ({**MATRIX, "rows": [{"key": "a", "text": "A"}] * 2}, "two rows have the key 'a'"),
        ({**MATRIX, "points": 12, "ends": ["a", "b"]}, "at most 11 points"),
        ({**MATRIX, "choices": {"a": "A", "b": "B"}}, "give either points or choices"),
        ({"kind": "matrix", "rows": {"a": "A"}, "choices": {"a": "A"}}, "two or more choices"),
        ({**RANKING, "top": 3}, "top must be smaller than the number of choices"),
        ({**RANKING, "choices": {"a": "A"}}, "at least 2"),
        ({**RANKING, "choices": {f"c{n}": "A" for n in range(16)}}, "at most 15"),
        ({**TEXT, "min_length": 30}, "min_length is larger than max_length"),
    ],
)
def test_wrong_forms(scale, words):
    with pytest.raises(ValidationError, match=words):
        ask(scale)


def test_none_is_the_start_of_a_slider_by_default():
    assert ask({**SLIDER, "start": "none"}) == ask(SLIDER)
    assert ask({**SLIDER, "start": 50}).scale.start == 50


@pytest.mark.parametrize("scale", [SLIDER, MATRIX, RANKING, TEXT])
def test_what_is_frozen_is_read_again(scale):
    question = ask(scale)
    assert Question.model_validate(question.model_dump(mode="json")) == question


def test_a_text_without_limits_keeps_its_frozen_form():
    assert ask({"kind": "text"}).model_dump()["scale"] == {"kind": "text", "max_length": 1000, "lines": 3}


def test_ratings_have_no_role_beyond_scales():
    with pytest.raises(ValidationError, match="the role 'certainty' needs a rating scale or yes_no"):
        ask(SLIDER, role="certainty")


def test_rows_ends_and_choices_are_translated():
    words = {"None": "Nichts", "Full": "Voll", "It is fast.": "Es ist schnell.", "Second": "Zweites"}
    assert list_labels(ask(SLIDER)) == ["None", "Full"]
    assert list_labels(ask(MATRIX))[:3] == ["It is fast.", "It is fair.", "Strongly disagree"]
    assert translate(ask(SLIDER), "Wie?", words).scale.ends == ["Nichts", "Voll"]
    matrix = translate(ask(MATRIX), "Wie?", words)
    assert isinstance(matrix.scale, MatrixScale)
    assert [part.text for part in list_question_parts([matrix])] == [
        "Wie? – Es ist schnell.",
        "Wie? – It is fair.",
    ]
    assert translate(ask(RANKING), "Wie?", words).choices[1] == ("b", "Zweites")
