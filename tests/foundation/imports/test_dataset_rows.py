"""Rows of the Parquet and Arrow files of the Hugging Face hub are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.content.label_templates import TEMPLATES
from annotation.content.labels import LabelTask
from annotation.formats.plain import read_plain
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.dataset_rows import has_rows, read_rows
from foundation.imports.findings import Findings
from foundation.imports.zip_files import unpack_file
from predictions.formats.hotpot import read_hotpot
from predictions.formats.rationales import read_esnli

PAIR = {"id": "p", "premise": "Two women hug.", "hypothesis": "The sisters hug."}


def written(path: Path, rows: Sequence[Mapping[str, object]], names: list[str] | None = None) -> Path:
    """Write rows to a Parquet file.

    ``names`` are the classes of the column label, as the hub's library notes them.
    """
    table = pa.Table.from_pylist([*rows])
    if names is not None:
        note = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(note)})
    pq.write_table(table, path)
    return path


def test_numbers_of_classes_become_their_names(tmp_path: Path):
    names = ["entailment", "neutral", "contradiction"]
    path = written(tmp_path / "a.parquet", [PAIR | {"label": 2}, PAIR | {"id": "q", "label": 0}], names)
    assert has_rows(path)
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
    with pytest.raises(BadFile, match=r"a\.parquet: is a broken Parquet or Arrow file"):
        list(read_esnli(path))


def test_progress_ends_with_the_size_of_the_file(tmp_path: Path):
    path = written(tmp_path / "a.parquet", [PAIR | {"id": str(number)} for number in range(600)])
    offsets: list[int] = []
    assert sum(1 for _row in read_rows(path, on_progress=offsets.append)) == 600
    assert offsets == sorted(offsets)
    assert offsets[-1] == path.stat().st_size


def saved(folder: Path, rows: Sequence[Mapping[str, object]], *, parts: int = 1) -> Path:
    """Write a folder of Arrow streams and their names.

    It is as `save_to_disk` of the hub's library writes it.
    """
    folder.mkdir(parents=True)
    note = {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}
    names = [f"data-{part:05}-of-{parts:05}.arrow" for part in range(parts)]
    for part, name in enumerate(names):
        table = pa.Table.from_pylist([*rows][part::parts])
        table = table.replace_schema_metadata({"huggingface": json.dumps(note)})
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    state = {"_data_files": [{"filename": name} for name in names], "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps(note["info"]))
    return folder


TEXTS = [{"text": f"Text {number}.", "label": number % 2} for number in range(4)]


def test_a_saved_dataset_is_read_part_by_part(tmp_path: Path):
    folder = saved(tmp_path / "train", TEXTS, parts=2)
    assert has_rows(folder)
    assert has_rows(folder / "data-00000-of-00002.arrow")
    assert [(row.line, row.value["text"], row.value["label"]) for row in read_rows(folder)] == [
        (1, "Text 0.", "neg"),
        (2, "Text 2.", "neg"),
        (3, "Text 1.", "pos"),
        (4, "Text 3.", "pos"),
    ]


def test_arrow_files_are_read_in_both_forms(tmp_path: Path):
    table = pa.Table.from_pylist(TEXTS)
    path = tmp_path / "a.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert [row.value for row in read_rows(path)] == TEXTS
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadFile, match=r"a\.arrow: is a broken Parquet or Arrow file"):
        list(read_rows(path))


def test_a_folder_says_what_it_lacks(tmp_path: Path):
    folder = saved(tmp_path / "train", TEXTS)
    (folder / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(BadFile, match=r"names data-00000-of-00001\.arrow, which is missing"):
        list(read_rows(folder))
    (folder / "state.json").write_text('{"_data_files": 3}')
    with pytest.raises(BadFile, match="does not name the files"):
        list(read_rows(folder))


def test_a_zip_file_holds_one_split(tmp_path: Path):
    for name in ("train", "test"):
        saved(tmp_path / "two" / name, TEXTS)
    (tmp_path / "two" / "dataset_dict.json").write_text("{}")
    split, both = packed(tmp_path / "two" / "train"), packed(tmp_path / "two")
    assert len(list(read_rows(unpack_file(split, tmp_path / "one")))) == 4
    with pytest.raises(BadFile, match=r"several splits \(test, train\)"):
        unpack_file(both, tmp_path / "both")


def packed(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder.parent / f"{folder.name}-packed"), "zip", folder))


def test_texts_of_a_saved_dataset_are_items_to_annotate(tmp_path: Path):
    rows = [
        {**TEXTS[0], "id": "a", "note": None, "raw": b"\x00"},
        {**TEXTS[1], "id": "b", "note": "x", "raw": b""},
    ]
    program = LabelTask.model_validate({"layers": TEMPLATES["classification"]}).text
    findings = Findings(collect=True)
    folder = saved(tmp_path / "train", rows)
    first, second = read_plain(Source(folder, kind="spans", task=program, findings=findings))
    assert (first.external_id, first.passage, first.extra) == ("a", "Text 0.", {"fields": {"label": "neg"}})
    assert second.extra == {"fields": {"label": "pos", "note": "x"}}
    assert findings.repairs["column of bytes, left out"].count == 2


def test_images_in_a_dataset_are_refused_in_words(tmp_path: Path):
    folder = saved(tmp_path / "train", [{"image": {"bytes": b"\x89PNG", "path": None}}])
    program = LabelTask.model_validate({"layers": TEMPLATES["boxes"]}).text
    with pytest.raises(BadFile, match="holds the images themselves; pack them into a zip file"):
        list(read_plain(Source(folder, kind="boxes", task=program)))
