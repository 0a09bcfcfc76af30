"""Questions of MuSiQue as a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foundation.errors import BadFile
from foundation.imports.findings import Findings
from predictions.formats.musique import read_musique

ENTRY: dict[str, Any] = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Ada", "paragraph_text": "Ada sang in Bonn. Often.", "is_supporting": True},
        {"idx": 1, "title": "Bo", "paragraph_text": "Bo is tall.", "is_supporting": False},
        {"idx": 2, "title": "Ada", "paragraph_text": "Bonn is a city.", "is_supporting": True},
    ],
    "question": "Where did she sing?",
    "answer": "Bonn",
    "answer_aliases": [],
    "answerable": True,
}


def written(tmp_path: Path, *entries: object) -> Path:
    path = tmp_path / "musique.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def test_a_paragraph_is_a_sentence_and_titles_differ(tmp_path: Path):
    findings = Findings(collect=True)
    (record,) = read_musique(written(tmp_path, ENTRY), findings=findings)
    assert (record.external_id, record.answer, record.kind) == ("2hop__1_2", "Bonn", "2hop")
    assert record.context[2] == ("Ada (2)", ["Bonn is a city."])
    assert record.supporting_facts == [("Ada", 0), ("Ada (2)", 0)]
    assert findings.count("repeated_titles") == 1


def test_questions_that_cannot_be_answered_are_left_out(tmp_path: Path):
    findings = Findings(collect=True)
    entries = [ENTRY | {"answerable": False}, ENTRY | {"id": "b", "answer": ""}]
    assert not list(read_musique(written(tmp_path, *entries), findings=findings))
    assert findings.count("unanswered") == 2


def test_unknown_gold_facts_are_no_empty_ones(tmp_path: Path):
    bare = [{"title": "Ada", "paragraph_text": "Ada sang in Bonn."}]
    (record,) = read_musique(written(tmp_path, ENTRY | {"paragraphs": bare}))
    assert record.supporting_facts is None


def test_a_wrong_field_is_named(tmp_path: Path):
    with pytest.raises(BadFile, match=r"musique\.jsonl:2: entry 2 \(b\): paragraphs\[0\]\.title: is missing"):
        list(read_musique(written(tmp_path, ENTRY, ENTRY | {"id": "b", "paragraphs": [{}]})))
