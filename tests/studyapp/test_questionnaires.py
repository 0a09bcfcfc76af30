"""Tests of questions: scales, keys, parsing, columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from studyapp.answers import parse_answers, parse_changes
from studyapp.questionnaires import (
    RESERVED_KEYS,
    TEMPLATES,
    LikertScale,
    Question,
    Questionnaire,
)

XQA = TEMPLATES["xqa-2020"]
SENT = {"rated_correct": "no", "known_before": "yes", "certainty": "5", "helpfulness": "1"}


def question(key="sure", scale="yes_no", **fields):
    return Question(key=key, text="Are you sure?", scale=scale, **fields)


def test_it_works():
    answers, errors = parse_answers(XQA.item, SENT)
    assert answers == {"rated_correct": False, "known_before": True, "certainty": 5, "helpfulness": 1}
    assert answers["rated_correct"] is False
    assert type(answers["helpfulness"]) is int
    assert errors == {}


def test_template_of_2020():
    assert [q.key for q in XQA.item] == ["rated_correct", "known_before", "certainty", "helpfulness"]
    assert [q.key for q in XQA.post_survey] == [
        "trust",
        "relevant_information",
        "irrelevant_information",
        "satisfaction",
    ]
    assert [q.role for q in XQA.item] == ["correctness_rating", "known_before", "certainty", "helpfulness"]
    assert [q.scale == "yes_no" for q in XQA.item] == [True, True, False, False]
    assert all(q.required and q.role == q.key for q in XQA.post_survey)
    assert XQA.item[2].choices[0] == ("1", "Strongly disagree")
    assert XQA.item[2].choices[4] == ("5", "Strongly agree")


class TestParsing:
    def test_open_required_question_is_an_error(self):
        answers, errors = parse_answers(XQA.item, {**SENT, "certainty": ""})
        assert "certainty" not in answers
        assert list(errors) == ["certainty"]
        assert errors["certainty"].endswith(".")

    def test_open_optional_question_has_no_key(self):
        assert parse_answers([question(required=False)], {}) == ({}, {})

    @pytest.mark.parametrize("sent", ["0", "6", "1.0", "-1", "true", "yes", " 3", "３", "1" * 5000])
    def test_not_on_a_rating_scale(self, sent):
        answers, errors = parse_answers(XQA.item, {**SENT, "certainty": sent})
        assert "certainty" not in answers
        assert "certainty" in errors

    @pytest.mark.parametrize("sent", ["1", "0", "True", "YES", "maybe"])
    def test_not_on_a_yes_no_scale(self, sent):
        assert parse_answers([question(required=False)], {"sure": sent})[0] == {}
        assert "sure" in parse_answers([question(required=False)], {"sure": sent})[1]

    @given(st.dictionaries(st.sampled_from([q.key for q in XQA.item]), st.text(max_size=5)))
    def test_whatever_is_sent_is_an_answer_of_the_scale_or_an_error(self, sent):
        answers, errors = parse_answers(XQA.item, sent)
        assert answers.keys() | errors.keys() == {q.key for q in XQA.item}
        assert not answers.keys() & errors.keys()
        for q in XQA.item:
            assert q.key in errors or answers[q.key] in q.values.values()

    def test_changes(self):
        sent = {"changes_certainty": "3", "changes_helpfulness": "0", "changes_rated_correct": "-1"}
        assert parse_changes(XQA.item, {**sent, "changes_known_before": "", "changes_other": "2"}) == {
            "certainty": 3,
            "helpfulness": 0,
        }

    @pytest.mark.parametrize("sent", ["", "x", "1.5", "²", "9" * 30])
    def test_changes_that_are_no_count_are_missing(self, sent):
        assert parse_changes(XQA.item, {"changes_certainty": sent}) == {}


class TestForm:
    @pytest.mark.parametrize(("points", "labels"), [(5, ["a", "b"]), (2, ["a", "b", "c"])])
    def test_as_many_labels_as_points(self, points, labels):
        with pytest.raises(ValidationError, match=f"{points} points need {points} labels, not {len(labels)}"):
            LikertScale(points=points, labels=labels)

    @pytest.mark.parametrize("key", [*sorted(RESERVED_KEYS), "changes_x"])
    def test_key_of_another_column(self, key):
        with pytest.raises(ValidationError, match="choose another"):
            question(key)

    @pytest.mark.parametrize("key", ["", "Sure", "1st", "so-so", "a b", "x" * 61, "näh", "sure\n"])
    def test_key_is_an_identifier(self, key):
        with pytest.raises(ValidationError):
            question(key)

    def test_unknown_role(self):
        with pytest.raises(ValidationError, match="role"):
            question(role="mood")

    def test_two_questions_of_one_key(self):
        with pytest.raises(ValidationError, match="item: two questions have the key 'sure'"):
            Questionnaire(item=[question(), question()], post_survey=[])

    def test_two_questions_of_one_role(self):
        twice = [question("a", role="trust"), question("b", role="trust")]
        with pytest.raises(ValidationError, match="post_survey: two questions have the role 'trust'"):
            Questionnaire(item=[question()], post_survey=twice)

    def test_items_need_a_question_and_the_survey_does_not(self):
        with pytest.raises(ValidationError, match="item"):
            Questionnaire(item=[], post_survey=[])
        assert Questionnaire(item=[question()], post_survey=[]).post_survey == []


class TestColumns:
    def test_yes_no(self):
        answer, changes = XQA.item[0].columns
        assert (answer.name, answer.type, answer.unit) == ("rated_correct", "boolean", None)
        assert answer.values == ((True, "Yes"), (False, "No"))
        assert answer.meaning == XQA.item[0].text
        assert (changes.name, changes.type, changes.unit) == ("changes_rated_correct", "integer", "count")

    def test_likert(self):
        answer, _ = XQA.item[2].columns
        assert (answer.type, answer.unit) == ("integer", "scale point")
        assert answer.values[0] == (1, "Strongly disagree")
        assert len(answer.values) == 5
