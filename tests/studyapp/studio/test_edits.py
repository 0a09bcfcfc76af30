"""Edits of a draft: rows come, go and move.

The draft before an edit stays as it was.
"""

import copy

import pytest

from studyapp.studio import edits, sample, starts
from studyapp.studio.drafts import build_stored_draft, find_problems, open_draft, parse_draft
from studyapp.studio.edits import CannotEdit, add_part, add_scale, move_row, remove_part

DRAFT = {
    "study": "s",
    "conditions": [{"system": "a"}, {"system": "b"}, {"ground_truth": True}],
    "questionnaire": {"item": [], "post_survey": [], "pre_survey": []},
}


@pytest.mark.parametrize(
    ("index", "by", "order"), [(0, 1, "ba-"), (0, -1, "ab-"), (2, -1, "a-b"), (2, 1, "ab-"), (1, 1, "a-b")]
)
def test_rows_move_and_stop_at_the_ends(index, by, order):
    before = copy.deepcopy(DRAFT)
    rows = move_row(DRAFT, ("conditions", index), by)["conditions"]
    assert "".join(row.get("system", "-") for row in rows) == order
    assert before == DRAFT


def test_rows_come_with_names_of_their_own_and_go():
    draft = DRAFT
    for number in (1, 2):
        draft, at = add_part(draft, ("questionnaire", "item"), "text")
        assert at == ("questionnaire", "item", number - 1)
    assert [row["key"] for row in draft["questionnaire"]["item"]] == ["question_1", "question_2"]
    draft = remove_part(draft, ("questionnaire", "item", 0))
    draft, _at = add_part(draft, ("questionnaire", "item"), "text")
    assert [row["key"] for row in draft["questionnaire"]["item"]] == ["question_2", "question_1"]


@pytest.mark.parametrize("kind", ["min_time", "max_time", "answered", "answered_number", "item", "flagged"])
def test_two_rules_of_a_kind_have_two_names(kind):
    draft, _at = add_part(DRAFT, ("exclusions",), kind)
    draft, _at = add_part(draft, ("exclusions",), kind)
    assert len({row["name"] for row in draft["exclusions"]}) == 2


@pytest.mark.parametrize(
    "path",
    [
        "nothing",
        "conditions.9",
        "conditions.x",
        "study",
        "study.0",
        "exclusions.0",
        "",
        ".",
        "title.0",
        "1" * 5000,
        "conditions." + "1" * 5000,
    ],
)
def test_a_place_that_is_none_is_refused(path):
    location = edits.parse_location(path)
    for act in (lambda: remove_part(DRAFT, location), lambda: add_part(DRAFT, location, "?")):
        with pytest.raises(CannotEdit):
            act()
    with pytest.raises(CannotEdit):
        move_row(DRAFT, location, 1)


def test_a_scale_whose_items_are_to_be_entered_says_how_many():
    with pytest.raises(CannotEdit, match="12 items of the scale"):
        add_scale(DRAFT, ("questionnaire", "item"), "trust-jian", ["only one"])
    with pytest.raises(CannotEdit, match="unknown scale"):
        add_scale(DRAFT, ("questionnaire", "item"), "none", [])


@pytest.mark.parametrize("name", starts.STARTS)
def test_every_start_is_a_study_once_it_has_a_dataset(name):
    draft = starts.build_draft(starts.STARTS[name], slug="s", title="T", dataset="d", systems=["a"])
    assert find_problems(draft) == []
    assert open_draft(open_draft(draft)) == open_draft(draft)
    assert build_stored_draft(open_draft(draft)) == build_stored_draft(draft)


@pytest.mark.parametrize("field", ["title", "consent", "conditions", "questionnaire", "items", "dataset"])
@pytest.mark.parametrize("value", [None, "", [], {}, 7, [{"key": 3}], "xqa-2020"])
def test_something_is_shown_of_any_draft(field, value):
    draft = starts.build_draft(starts.STARTS["xqa-2020"], slug="s", title="T", dataset="d", systems=["a"])
    draft = open_draft({**draft, field: value})
    shown = sample.build_valid_part(draft)
    content = sample.build_content(shown)
    assert content.items[0].id == "made-up"
    assert dict(sample.list_pages(content)).keys() >= {"consent", "item", "survey", "done"}
    assert parse_draft(shown.model_dump(mode="json")) == shown
