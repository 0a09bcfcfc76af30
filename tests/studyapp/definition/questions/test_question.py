"""Tests of questions: scales, keys, parsing, columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from studyapp.definition.questions.answer_scales import LikertScale
from studyapp.definition.questions.question import RESERVED_KEYS, Question
from studyapp.definition.questions.questionnaires import TEMPLATES, Questionnaire
from studyapp.web.forms.posted_answers import parse_answers, parse_changes

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

    def test_the_survey_needs_no_question(self):
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


CHOICES = {"a": "An apple", "b": "A pear", "z": "Nothing"}
SINGLE = {"kind": "single", "choices": CHOICES}
MULTIPLE = {"kind": "multiple", "choices": CHOICES}
NUMBER = {"kind": "number", "min": 0, "max": 10, "step": 0.5}
TEXT = {"kind": "text", "max_length": 5}


class TestKinds:
    @pytest.mark.parametrize(
        ("scale", "sent", "stored"),
        [
            (SINGLE, "b", "b"),
            (SINGLE, ["a", "b"], "b"),
            (MULTIPLE, ["z", "a"], ["a", "z"]),
            (MULTIPLE, "b", ["b"]),
            (MULTIPLE, ["a", "a"], ["a"]),
            (NUMBER, "3", 3.0),
            (NUMBER, " 3,5 ", 3.5),
            ({**NUMBER, "step": 1}, "3", 3),
            ({**NUMBER, "step": 1}, "3.0", 3),
            ({"kind": "number", "min": -3, "max": 3}, "-3", -3),
            (TEXT, "  yes\r\n", "yes"),
            (TEXT, "a\r\nb", "a\nb"),
        ],
    )
    def test_stored_as(self, scale, sent, stored):
        asked_question = question(scale=scale)
        answers, errors = parse_answers([asked_question], {"sure": sent})
        assert errors == {}
        assert answers == {"sure": stored}
        assert type(answers["sure"]) is type(stored)
        assert asked_question.is_valid_answer(stored)

    @pytest.mark.parametrize(
        ("scale", "sent", "words"),
        [
            (SINGLE, "A pear", "one of the given answers"),
            (MULTIPLE, ["a", "c"], "one of the given answers"),
            (NUMBER, "many", "a number from 0 to 10, in steps of 0.5"),
            (NUMBER, "10.5", "a number from 0 to 10"),
            (NUMBER, "3.2", "in steps of 0.5"),
            (NUMBER, "nan", "a number"),
            (NUMBER, "inf", "a number"),
            (NUMBER, "1_0", "a number"),
            (NUMBER, "٣", "a number"),
            (TEXT, "too long", "at most 5 characters"),
            (TEXT, "a\x00", "at most 5"),
        ],
    )
    def test_refused(self, scale, sent, words):
        answers, errors = parse_answers([question(scale=scale, required=False)], {"sure": sent})
        assert answers == {}
        assert words in errors["sure"]

    @pytest.mark.parametrize("scale", [SINGLE, MULTIPLE, NUMBER, TEXT])
    @pytest.mark.parametrize("sent", [{}, {"sure": ""}, {"sure": []}, {"sure": [" "]}])
    def test_left_open_is_missing(self, scale, sent):
        assert parse_answers([question(scale=scale, required=False)], sent) == ({}, {})
        assert "sure" in parse_answers([question(scale=scale)], sent)[1]

    def test_columns(self):
        types = {
            "single": ("sure", "string"), "number": ("sure", "number"), "text": ("sure", "string"),
        }  # fmt: skip
        for scale in (SINGLE, NUMBER, TEXT):
            asked_question = question(scale=scale)
            answer, changes = asked_question.columns
            assert (answer.name, answer.type) == types[asked_question.kind]
            assert changes.name == "changes_sure"
            assert answer.is_free_text == (asked_question.kind == "text")
        assert question(scale={**NUMBER, "step": 1}).columns[0].type == "integer"
        *choices, _changes = question(scale=MULTIPLE).columns
        assert [(column.name, column.type) for column in choices] == [
            ("sure_a", "boolean"), ("sure_b", "boolean"), ("sure_z", "boolean"),
        ]  # fmt: skip
        assert question(scale=MULTIPLE).cells(["a", "z"]) == {"sure_a": True, "sure_b": False, "sure_z": True}

    def test_choices_keep_their_order_in_the_stored_form(self):
        choices = {"z": "Last letter", "a": "First letter"}
        stored = question(scale={**SINGLE, "choices": choices}).model_dump(mode="json")
        assert [choice["value"] for choice in stored["scale"]["choices"]] == ["z", "a"]
        assert Question.model_validate(stored).model_dump(mode="json") == stored

    @pytest.mark.parametrize(
        ("scale", "words"),
        [
            ({**SINGLE, "choices": {"a": "Only"}}, "at least 2"),
            ({**SINGLE, "choices": {"A b": "A", "c": "C"}}, "pattern"),
            (
                {**SINGLE, "choices": [{"value": "a", "label": "A"}, {"value": "a", "label": "B"}]},
                "two choices",
            ),
            ({**NUMBER, "max": 0}, "max must be larger than min"),
            ({**NUMBER, "step": 11}, "step is larger"),
            ({**TEXT, "max_length": 0}, "greater than or equal to 1"),
            ({"kind": "slider"}, "slider"),
        ],
    )
    def test_scales_that_cannot_be(self, scale, words):
        with pytest.raises(ValidationError, match=words):
            question(scale=scale)

    @pytest.mark.parametrize("scale", [SINGLE, MULTIPLE, NUMBER, TEXT])
    def test_a_role_needs_a_rating_or_yes_and_no(self, scale):
        with pytest.raises(ValidationError, match="the role 'trust' needs a rating scale or yes_no"):
            question(scale=scale, role="trust")

    def test_columns_of_two_questions_differ(self):
        other = question("sure_a")
        with pytest.raises(ValidationError, match="two questions have the column 'sure_a'"):
            Questionnaire(item=[question(scale=MULTIPLE), other], post_survey=[])
        server = {"kind": "multiple", "choices": {"ms": "A", "b": "B"}}
        with pytest.raises(ValidationError, match="'server_ms' is the name of another column"):
            Questionnaire(item=[question("server", scale=server)], post_survey=[])

    @pytest.mark.parametrize("points", [2, 7, 21, 101])
    def test_any_number_of_points(self, points):
        scale = LikertScale.model_validate({"points": points, "ends": ["Low", "High"]})
        assert len(scale.labels) == points
        assert (scale.labels[0], scale.labels[-1]) == ("1 – Low", f"{points} – High")
        assert set(scale.model_dump()) == {"points", "labels"}

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"ends": ["Low"]}, "ends must be two texts"),
            ({"ends": "ab"}, "ends must be two texts"),
            ({"ends": ["Low", "High"], "labels": ["a"]}, "either labels or ends"),
            ({"points": 1, "ends": ["Low", "High"]}, "greater than or equal to 2"),
        ],
    )
    def test_ends_that_cannot_be(self, more, words):
        with pytest.raises(ValidationError, match=words):
            LikertScale.model_validate({"points": 5, **more})
