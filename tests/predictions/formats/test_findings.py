"""Refusals are raised or listed up to a bound.

Repairs are counted with examples.
"""

import json
from pathlib import Path

import pytest

from foundation.errors import BadFile
from foundation.imports.findings import MOST_EXAMPLES, MOST_REFUSALS, Findings
from foundation.imports.zip_files import delete_before_and_after, unpack_file
from predictions.formats.hotpot import read_hotpot
from predictions.formats.predictions import read_predictions
from predictions.formats.squad import read_quoref, read_squad
from tests.studyapp.questions import entry


def lines(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_it_works(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", entry(0), entry(1, answer=None), entry(2))
    findings = Findings(collect=True, roots=[path.parent])
    assert [record.external_id for record in read_hotpot(path, findings=findings)] == ["q0", "q2"]
    [refusal] = findings.refused
    assert (refusal.file, refusal.line, refusal.field) == ("a.jsonl", 2, "entry 2 (q1): answer")


def test_refusals_are_listed_up_to_a_bound_and_counted_beyond(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", *([1] * (MOST_REFUSALS + 5)))
    findings = Findings(collect=True, roots=[path.parent])
    assert list(read_hotpot(path, findings=findings)) == []
    assert (len(findings.refused), findings.refused_count) == (MOST_REFUSALS, MOST_REFUSALS + 5)


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", entry(0), entry(0))
    findings = Findings(collect=True, roots=[path.parent])
    assert len(list(read_hotpot(path, findings=findings))) == 1
    assert "'q0' is already on line 1" in findings.refused[0].reason


def test_reading_ends_where_a_file_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(entry(0)) + '\n{"_id": ', encoding="utf-8")
    findings = Findings(collect=True, roots=[path.parent])
    assert len(list(findings.read_until_broken(read_hotpot(path, findings=findings)))) == 1
    assert findings.refused[0].line == 2
    with pytest.raises(BadFile):
        list(Findings().read_until_broken(read_hotpot(path)))


def test_left_out_questions_are_counted_with_examples(tmp_path: Path) -> None:
    unanswered = [{"id": f"q{number}", "question": "Who?", "answers": []} for number in range(9)]
    parts = {"id": "p", "question": "Who?", "answers": [{"text": "Ann"}, {"text": "Bea"}]}
    paragraph = {"context": "Ann and Bea.", "qas": [*unanswered, parts]}
    path = lines(tmp_path / "a.json", {"data": [{"title": "T", "paragraphs": [paragraph]}]})
    findings = Findings(collect=True, roots=[path.parent])
    assert list(read_quoref(path, findings=findings)) == []
    assert findings.repairs["unanswered"].count == 9
    assert findings.repairs["unanswered"].examples == [f"q{number}" for number in range(MOST_EXAMPLES)]
    assert findings.repairs["several_answers"].examples == ["p"]


def test_every_wrong_field_of_squad_is_listed(tmp_path: Path) -> None:
    question = {"id": "q", "question": 3, "answers": [{}]}
    content = {"data": [{"title": "T", "paragraphs": [{"context": "x", "qas": [question]}]}]}
    path = lines(tmp_path / "a.json", content)
    findings = Findings(collect=True, roots=[path.parent])
    assert list(read_squad(path, findings=findings)) == []
    fields = [refusal.field.rpartition("qas[0].")[2] for refusal in findings.refused]
    assert fields == ["question", "answers[0].text"]


def test_predictions_list_all_wrong_fields_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"answer": {"a": 1,\n"b": 2},\n"sp": {"a": [["T"]]}}', encoding="utf-8")
    findings = Findings(collect=True, roots=[path.parent])
    assert read_predictions(path, findings, strict=True).content.answer == {}
    listed = [(refusal.line, refusal.field) for refusal in findings.refused]
    assert listed == [(1, "answer.a"), (2, "answer.b"), (3, "sp.a[0][1]")]


@pytest.mark.parametrize("content", [b"\x1f\x8bnothing", b"PK\x03\x04nothing"])
def test_broken_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(content)
    with (
        pytest.raises(BadFile, match=r"a\.gz: is a broken (zip|gzip) file"),
        delete_before_and_after(tmp_path / "out"),
    ):
        unpack_file(path, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["a.gz"]


def test_plain_files_stay_as_they_are(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.json", {})
    assert unpack_file(path, tmp_path / "out") == path
