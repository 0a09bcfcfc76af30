"""Rows of Parquet files, as the Hugging Face hub has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foundation.errors import BadFile
from foundation.parquet_rows import is_parquet, read_rows
from predictions.formats.hotpot import read_hotpot
from predictions.formats.rationales import read_esnli

PAIR = {"id": "p", "premise": "Two women hug.", "hypothesis": "The sisters hug."}


def written(path: Path, rows: Sequence[Mapping[str, object]], names: list[str] | None = None) -> Path:
    """Write rows; ``names`` are the classes of the column label, as the hub's library notes them."""
    table = pa.Table.from_pylist([*rows])
    if names is not None:
        note = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(note)})
    pq.write_table(table, path)
    return path


def test_numbers_of_classes_become_their_names(tmp_path: Path):
    names = ["entailment", "neutral", "contradiction"]
    path = written(tmp_path / "a.parquet", [PAIR | {"label": 2}, PAIR | {"id": "q", "label": 0}], names)
    assert is_parquet(path)
    assert [(row.line, row.value["label"]) for row in read_rows(path)] == [
        (1, "contradiction"),
        (2, "entailment"),
    ]
    assert [record.answer for record in read_esnli(path)] == ["contradiction", "entailment"]


def test_a_number_without_a_class_is_refused_by_row(tmp_path: Path):
    path = written(tmp_path / "a.parquet", [PAIR | {"label": -1}], ["entailment", "neutral"])
    with pytest.raises(BadFile, match=r"a\.parquet:1: entry 1 \(p\): label: .*found -1"):
        list(read_esnli(path))


def test_the_rows_of_hotpotqa_on_the_hub(tmp_path: Path):
    row: dict[str, object] = {
        "id": "h", "question": "Who?", "answer": "Ada", "type": "bridge", "level": "hard",
        "context": {"title": ["Ada"], "sentences": [["Ada sang."]]},
        "supporting_facts": {"title": ["Ada"], "sent_id": [0]},
    }  # fmt: skip
    (record,) = read_hotpot(written(tmp_path / "a.parquet", [row]))
    assert (record.context, record.supporting_facts) == ([("Ada", ["Ada sang."])], [("Ada", 0)])


def test_a_damaged_file_is_one_sentence(tmp_path: Path):
    path = written(tmp_path / "a.parquet", [PAIR | {"label": "neutral"}])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadFile, match=r"a\.parquet: is a broken Parquet file"):
        list(read_esnli(path))


def test_progress_ends_with_the_size_of_the_file(tmp_path: Path):
    path = written(tmp_path / "a.parquet", [PAIR | {"id": str(number)} for number in range(600)])
    seen: list[int] = []
    assert sum(1 for _row in read_rows(path, on_progress=seen.append)) == 600
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size
