"""Tests of scores: the published keys, own keys, and every wrong key.

The published keys are checked by hand-computed answers.
"""

import pytest
from pydantic import ValidationError

from studyapp.definition.questions.question import Question
from studyapp.definition.questions.scale_scores import (
    PUBLISHED,
    ScaleKey,
    check_scales,
    list_scale_keys,
    list_scale_scores,
)
from studyapp.definition.questions.scales import SCALES, expand

ITEMS = {"trust-xai": 8, "explanation-satisfaction": 7}


def expand_scale(name, **fields):
    """The questions of a published scale."""
    count = SCALES[name].entered or ITEMS.get(name, 0)
    entered = {} if SCALES[name].items else {"items": [f"Item {n + 1}" for n in range(count)]}
    return [Question.model_validate(entry) for entry in expand([{"template": name, **entered, **fields}])]


def score(name, answers, questions=None, keys=()):
    questions = questions or expand_scale(PUBLISHED[name].scale)
    scale_score = {candidate.column: candidate for candidate in list_scale_scores(questions, keys)}[
        "score_" + name.replace("-", "_")
    ]
    return scale_score.value(dict(zip([question.key for question in questions], answers, strict=True)))


@pytest.mark.parametrize(
    ("name", "answers", "expected"),
    [
        ("sus", [5, 1] * 5, 100),
        ("sus", [1, 5] * 5, 0),
        ("sus", [4, 2, 5, 1, 4, 3, 4, 2, 3, 2], 75),  # (3+3+4+4+3+2+3+3+2+3) * 2.5
        ("umux-lite", [7, 7], 100),
        ("umux-lite", [6, 4], 100 * 8 / 12),
        ("umux-lite-sus", [7, 7], 87.9),
        ("umux-lite-sus", [1, 1], 22.9),
        ("nasa-tlx", [1] * 6, 0),
        ("nasa-tlx", [21, 11, 11, 1, 11, 11], 100 * (20 + 10 + 10 + 0 + 10 + 10) / 120),
        ("trust-jian", [1] * 5 + [7] * 7, 7),
        ("trust-jian", [2] * 12, (5 * 6 + 7 * 2) / 12),
        ("trust-jian-distrust", [2] * 5 + [7] * 7, 2),
        ("trust-jian-trust", [2] * 5 + [6] * 7, 6),
        ("trust-xai", [5, 5, 5, 5, 5, 1, 5, 5], 5),
        ("trust-xai", [4, 4, 4, 4, 4, 4, 4, 4], (7 * 4 + 2) / 8),
        ("explanation-satisfaction", [1, 2, 3, 4, 5, 5, 5], 25 / 7),
    ],
)
def test_published_keys(name, answers, expected):
    assert score(name, answers) == pytest.approx(expected)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_key_names_source_and_direction_and_reaches_its_range(name):
    [scale_score] = [
        candidate for candidate in list_scale_scores(expand_scale(PUBLISHED[name].scale), ())
        if candidate.column.endswith("_" + name.replace("-", "_"))
    ][:1]  # fmt: skip
    assert scale_score.source
    assert scale_score.higher
    ends = [
        scale_score.value(
            {item.key: item.low if item.reversed != top else item.high for item in scale_score.items}
        )
        for top in (True, False)
    ]
    assert sorted(end for end in ends if end is not None) == pytest.approx(sorted(scale_score.range))


def test_a_missing_item_leaves_no_score():
    [scale_score] = list_scale_scores(expand_scale("nasa-tlx"), ())
    answers = dict.fromkeys((item.key for item in scale_score.items), 5)
    assert scale_score.value(answers) == 20
    del answers["tlx_effort"]
    assert scale_score.value(answers) is None


def test_other_versions_have_no_published_score():
    assert list_scale_scores(expand_scale("nasa-tlx", only=["tlx_mental", "tlx_effort"]), ()) == []
    nine = [
        Question.model_validate(entry) for entry in expand([{"template": "trust-xai", "items": ["A"] * 9}])
    ]
    assert list_scale_scores(nine, ()) == []
    seven_points = [
        question.model_copy(update={"scale": expand_scale("umux-lite")[0].scale})
        for question in expand_scale("nasa-tlx")
    ]
    assert list_scale_scores(seven_points, ()) == []


def test_a_definition_may_have_another_key():
    key = ScaleKey(name="trust-xai", items=[f"trust_xai_{n}" for n in range(1, 9)])
    assert score("trust-xai", [4] * 8, keys=[key]) == 4


def test_an_own_scale_over_rows_of_a_matrix_and_a_slider():
    questions = [
        Question.model_validate(
            {
                "key": "load",
                "text": "Load",
                "scale": {"kind": "matrix", "rows": {"mind": "Mind", "calm": "Calm"}, "points": 5},
            }
        ),
        Question.model_validate(
            {"key": "effort", "text": "Effort", "scale": {"kind": "slider", "min": 0, "max": 10}}
        ),
    ]
    key = {"items": ["load_mind", "load_calm", "effort"], "reverse": ["load_calm"], "range": [0, 100]}
    keys = [ScaleKey.model_validate(entry) for entry in list_scale_keys({"load": key})]
    check_scales(keys, {"item": questions})
    [scale_score] = list_scale_scores(questions, keys)
    assert scale_score.value({"load_mind": 5, "load_calm": 1, "effort": 4}) == pytest.approx(
        (100 + 100 + 40) / 3
    )


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (
            {"items": ["umux_ease", "mood"]},
            "no question has the column 'mood'; all items must be on one page",
        ),
        ({"items": ["umux_ease", "tlx_mental"]}, "must be on one page"),
        ({"items": ["umux_ease", "umux_ease"]}, "an item is listed twice"),
        ({"items": ["umux_ease"], "reverse": ["other"]}, "reverse: 'other' is not an item of the scale"),
        ({"items": ["umux_ease"], "range": [5, 5]}, "the second number must be larger than the first"),
        ({"items": ["umux_ease", "why"]}, "'why' is not answered by a number or a rating"),
        ({"items": ["umux_ease", "sure"]}, "its items have different ratings; give range"),
        ({"name": "taken", "items": ["umux_ease"]}, "a question has the column 'score_taken'"),
    ],
)
def test_wrong_keys(key, words):
    more = [
        Question.model_validate({"key": "why", "text": "Why?", "scale": {"kind": "text"}}),
        Question.model_validate({"key": "sure", "text": "Sure?", "scale": "yes_no"}),
        Question.model_validate({"key": "score_taken", "text": "Sure?", "scale": "yes_no"}),
    ]
    parts = {"item": expand_scale("nasa-tlx"), "post_survey": [*expand_scale("umux-lite"), *more]}
    with pytest.raises(ValueError, match=words):
        check_scales([ScaleKey.model_validate({"name": "own", **key})], parts)


def test_the_form_of_a_key():
    with pytest.raises(ValidationError, match="range"):
        ScaleKey.model_validate({"name": "a", "items": ["b"], "range": [1]})
    with pytest.raises(ValueError, match="two scales have the column 'score_a_b'"):
        check_scales([ScaleKey(name="a-b", items=["x"]), ScaleKey(name="a_b", items=["x"])], {})
