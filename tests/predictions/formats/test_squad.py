"""Questions of the SQuAD form as a dataset."""

import json
from pathlib import Path
from typing import Any

import pytest

from foundation.errors import BadFile
from predictions.formats.squad import read_quoref, read_squad


def written(path: Path, **changes: Any) -> Path:
    question = {"id": "q", "question": "Who sang?", "answers": [{"text": "Ann", "answer_start": 0}]} | changes
    content = {"data": [{"title": "T", "paragraphs": [{"context": "Ann sang.", "qas": [question]}]}]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_it_works(tmp_path: Path):
    (question,) = read_squad(written(tmp_path / "a.json"))
    assert (question.external_id, question.text, question.answer) == ("q", "Who sang?", "Ann")
    assert (question.context, question.supporting_facts) == ([("T", ["Ann sang."])], None)


def test_several_answers_are_variants_or_parts(tmp_path: Path):
    path = written(tmp_path / "a.json", answers=[{"text": "Ann"}, {"text": "Ann Lee"}])
    assert [question.answer for question in read_squad(path)] == ["Ann"]
    assert not list(read_quoref(path))


def test_a_question_without_answer_is_left_out(tmp_path: Path):
    assert not list(read_squad(written(tmp_path / "a.json", answers=[])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, r"a\.json:1: data\[0\]\.paragraphs\[0\]\.qas\[0\]\.id: must have at least 1"),
        ({"answers": [{}]}, r"answers\[0\]\.text: is missing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], message: str):
    with pytest.raises(BadFile, match=message):
        list(read_squad(written(tmp_path / "a.json", **changes)))


def test_no_file_no_json_and_no_question(tmp_path: Path):
    with pytest.raises(BadFile, match="there is no such file"):
        list(read_squad(tmp_path / "none"))
    (tmp_path / "a").write_text("[", encoding="utf-8")
    with pytest.raises(BadFile, match="not JSON"):
        list(read_squad(tmp_path / "a"))
    (tmp_path / "a").write_text('{"data": []}', encoding="utf-8")
    with pytest.raises(BadFile, match="holds no questions"):
        list(read_squad(tmp_path / "a"))


def test_an_id_that_comes_twice_is_told(tmp_path: Path):
    path = written(tmp_path / "a.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    content["data"] *= 2
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(
        BadFile, match=r"a\.json:1: data\[1\]\.paragraphs\[0\]\.qas\[0\]\.id: 'q' is already on line 1"
    ):
        list(read_squad(path))
