"""The reader of the 2020 release.

The tests of the site cover what the site makes of it.
"""

import json

import pytest

from analysis.io.errors import InputError
from analysis.io.schuff2020_release import read_release

LINE = {
    "subject_id": 1,
    "condition": "Qi-2019",
    "per_question_ratings": {
        "question_ids": ["b", "a"],
        "certainty_ratings": ["strong_agree", "neutral"],
        "completion_times(ms)": [20_000, 60_000],
        "answer_correct_ratings": ["yes", "no"],
        "answer_known_before": ["no", "yes"],
        "helpfulness_ratings": ["agree", "strong_disagree"],
    },
    "post_questionnaire_ratings": {
        "trust": "agree",
        "enough_details": "neutral",
        "irrelevant_details": "disagree",
        "satisfied": "strong_disagree",
    },
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.jsonl"


def test_it_works(path):
    path.write_text(json.dumps(LINE) + "\n\n" + json.dumps({**LINE, "subject_id": 2}) + "\n")
    release = read_release(path)
    assert ([person.subject_id for person in release.participants], release.item_ids) == ([1, 2], ["a", "b"])
    first = release.participants[0]
    assert list(first.per_question_ratings.trials()) == [
        ("b", 20_000, {"rated_correct": True, "known_before": False, "certainty": 5, "helpfulness": 4}),
        ("a", 60_000, {"rated_correct": False, "known_before": True, "certainty": 3, "helpfulness": 1}),
    ]
    assert first.post_questionnaire_ratings.answers() == {
        "trust": 4, "relevant_information": 3, "irrelevant_information": 2, "satisfaction": 1,
    }  # fmt: skip


def test_the_digest_is_of_the_content(path, tmp_path):
    other = tmp_path / "other.jsonl"
    path.write_text(json.dumps(LINE))
    other.write_text(json.dumps(LINE, sort_keys=True, separators=(",", ":")) + "\n")
    assert read_release(path).digest == read_release(other).digest


def test_an_error_names_file_line_and_field(path):
    path.write_text(json.dumps(LINE) + "\n" + json.dumps({**LINE, "subject_id": "2"}))
    with pytest.raises(InputError) as error:
        read_release(path)
    assert (error.value.path, error.value.where, error.value.field) == (path, "line 2", "subject_id")
