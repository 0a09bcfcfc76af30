"""Tests of scales by name: what they stand for, and every wrong use."""

import pytest

from studyapp.definition.questions.question import Question
from studyapp.definition.questions.questionnaires import Questionnaire
from studyapp.definition.questions.scales import SCALES, expand, expand_if_possible, list_written_positions


def questions(*entries):
    return [Question.model_validate(entry) for entry in expand(list(entries))]


def test_it_works():
    parsed = questions({"template": "umux-lite"}, {"key": "own", "text": "Own?", "scale": "yes_no"})
    assert [question.key for question in parsed] == ["umux_capabilities", "umux_ease", "own"]
    assert parsed[0].choices[0] == ("1", "1 – Strongly disagree")
    assert len(parsed[0].choices) == 7


@pytest.mark.parametrize("name", SCALES)
def test_every_scale_makes_valid_questions(name):
    scale = SCALES[name]
    entered = {} if scale.items else {"items": [f"Item {n}" for n in range(scale.entered or 3)]}
    parsed = questions({"template": name, **entered})
    assert len(parsed) == len(scale.items) or len(parsed) == (scale.entered or 3)
    assert scale.title
    assert scale.source
    assert Questionnaire(item=parsed, post_survey=[]).item == parsed, "keys and columns differ"


def test_demographics_are_never_required():
    assert not any(question.required for question in questions({"template": "demographics"}))
    with pytest.raises(ValueError, match="required must be false"):
        expand([{"template": "demographics", "required": True}])


def test_only_some_and_not_required():
    parsed = questions({"template": "nasa-tlx", "only": ["tlx_effort", "tlx_mental"], "required": False})
    assert [question.key for question in parsed] == ["tlx_mental", "tlx_effort"]
    assert not any(question.required for question in parsed)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"template": "mood"}, "unknown scale 'mood'; known scales: nasa-tlx"),
        ({"template": 3}, "unknown scale 3"),
        ({"template": "sus"}, "items must be the 10 items of the scale, in order, as in its source"),
        ({"template": "sus", "items": ["One"] * 9}, "the 10 items"),
        ({"template": "sus", "items": ["One"] * 9 + [" "]}, "the 10 items"),
        ({"template": "trust-xai", "items": []}, "must be the items"),
        ({"template": "nasa-tlx", "items": ["Hard?"]}, "has its items"),
        ({"template": "nasa-tlx", "only": []}, "only must list some of tlx_mental"),
        ({"template": "nasa-tlx", "only": ["mood"]}, "only must list some of"),
        ({"template": "nasa-tlx", "points": 7}, "there is no such field: points"),
        ({"template": "nasa-tlx", "required": "no"}, "required must be true or false"),
    ],
)
def test_wrong_uses(entry, words):
    with pytest.raises(ValueError, match=words):
        expand([entry])
    assert expand_if_possible([entry]) == [entry]


def test_the_place_as_written():
    entries = [{"template": "umux-lite"}, {"key": "a"}, {"template": "nasa-tlx"}, {"key": "b"}]
    assert list_written_positions(entries) == [0, 0, 1, *[2] * 6, 3]
    assert list_written_positions("no list") == []
