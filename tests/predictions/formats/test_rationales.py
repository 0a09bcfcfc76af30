"""Classification with rationales as a dataset: e-SNLI and ERASER."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foundation.errors import BadFile
from predictions.formats.rationales import read_eraser, read_esnli
from tests.paths import DATA

PAIR = {"id": "p", "premise": "Two women hug.", "hypothesis": "The sisters hug.", "label": "neutral"}


def lines(path: Path, *entries: object) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def test_a_pair_asks_about_its_hypothesis(tmp_path: Path):
    (record,) = read_esnli(lines(tmp_path / "a.jsonl", PAIR))
    assert (record.text, record.answer) == ("The sisters hug.", "neutral")
    assert (record.context, record.supporting_facts) == ([("Premise", ["Two women hug."])], None)
    assert record.labels == ["entailment", "neutral", "contradiction"]


def test_the_names_of_the_released_table(tmp_path: Path):
    renamed = {"pairID": "p", "Sentence1": "A.", "Sentence2": "B.", "gold_label": "contradiction"}
    (record,) = read_esnli(lines(tmp_path / "a.jsonl", renamed))
    assert (record.external_id, record.text, record.answer) == ("p", "B.", "contradiction")


# --- ERASER ---


def row(**changes: Any) -> dict[str, Any]:
    span = {"docid": "film", "text": "dull", "start_token": 4, "end_token": 6, "start_sentence": -1}
    fields = {"annotation_id": "film", "query": "Is the review positive?", "classification": "NEG"}
    return fields | {"evidences": [[span]], "docids": None} | changes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "film").write_text("I saw it .\nIt is dull .\n\nI left .\n", encoding="utf-8")
    (tmp_path / "secret").write_text("not a document")
    return tmp_path


def test_rationales_are_the_sentences_of_their_words(folder: Path):
    lines(folder / "val.jsonl", row(), row(annotation_id="other", classification="POS", evidences=[]))
    (folder / "docs" / "other").write_text("Good .\n", encoding="utf-8")
    first, second = read_eraser(folder)
    assert first.context == [("film", ["I saw it .", "It is dull .", "I left ."])]
    assert (first.answer, first.supporting_facts) == ("NEG", [("film", 1)])
    assert first.labels == second.labels == ["NEG", "POS"]
    assert second.supporting_facts is None


@pytest.mark.parametrize(("start", "end", "facts"), [(3, 5, [0, 1]), (0, 11, [0, 1, 2]), (8, 11, [2])])
def test_a_rationale_across_sentences(folder: Path, start: int, end: int, facts: list[int]):
    span = {"docid": "film", "start_token": start, "end_token": end}
    lines(folder / "val.jsonl", row(evidences=[[span]]))
    (record,) = read_eraser(folder)
    assert record.supporting_facts == [("film", index) for index in facts]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"docids": ["none"]}, "docids: docs has no document 'none'"),
        ({"docids": ["../secret"]}, "docids: docs has no document"),
        ({"evidences": [[{"docid": "film", "start_token": 10, "end_token": 12}]]}, "lies outside of 'film'"),
        ({"classification": ""}, "classification: "),
    ],
)
def test_wrong_rationales_are_refused(folder: Path, changes: dict[str, Any], message: str):
    lines(folder / "val.jsonl", row(**changes))
    with pytest.raises(BadFile, match=message):
        list(read_eraser(folder))


def test_pairs_of_esnli_as_released():
    path = DATA / "esnli" / "esnli_dev_sample.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    records = list(read_esnli(path))
    assert len(records) == 600
    assert {record.answer for record in records} == set(records[0].labels)
