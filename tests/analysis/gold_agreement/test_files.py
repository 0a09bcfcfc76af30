"""Gold files with several people's annotations, read by ``agreement``."""

import json
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.gold_agreement.files import FINISHED, read_annotations
from analysis.io.errors import InputError
from analysis.programs import parse
from annotation.content.agreement import build_agreement_item
from annotation.content.schemas import ItemRecord
from tests.paths import ROOT

BOXES = ROOT / "tests" / "fixtures" / "gold-0.1" / "boxes.jsonl"
SPANS = BOXES.with_name("spans.jsonl")


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


def two_people(source: Path, path: Path) -> Path:
    """Add a second annotator to the items of a file.

    The second person leaves out the last object of each step.
    """
    rows = lines(source)
    for row in rows:
        for annotation in row["annotations"][:1]:
            other = json.loads(json.dumps(annotation)) | {"annotator": "second"}
            for layer in other["document"].get("layers", {}).values():
                layer["objects"] = layer.get("objects", [])[:-1]
            row["annotations"].append(other)
    return write(path, rows)


@pytest.mark.parametrize("source", [BOXES, SPANS], ids=["boxes", "spans"])
def test_items_are_those_that_the_site_compares(source: Path, tmp_path: Path):
    path = two_people(source, tmp_path / "gold.jsonl")
    kind, items = read_annotations(path)
    assert [item.id for item in items] == [row["external_id"] for row in lines(path)]
    for item, line in zip(items, path.read_text("utf-8").splitlines(), strict=True):
        record = ItemRecord.model_validate_json(line)
        documents = {
            annotation.annotator: annotation.document
            for annotation in record.annotations
            if annotation.status in FINISHED and not annotation.document.problem
        }
        program = parse(record.program, kind=kind)
        assert item == build_agreement_item(item.id, program, documents, tokens=record.tokens)


def test_the_command_prints_measures_as_a_table_and_as_json(tmp_path: Path, capsys):
    path = two_people(BOXES, tmp_path / "gold.jsonl")
    assert main(["agreement", str(path), "--resamples", "0"]) == 0
    assert "Inter-annotator agreement on boxes" in capsys.readouterr().out
    assert main(["agreement", str(path), "--json", "--resamples", "0"]) == 0
    rows = json.loads(capsys.readouterr().out)["groups"]
    values = {row["measure"]: row["value"] for row in rows if row["by"] == "drawn nodes"}
    assert values["f1_50"] == pytest.approx(2 / 3)  # one box of two is missing: 2 · 1 / (2 + 1)


def test_annotations_in_progress_and_rejected_programs_take_no_part(tmp_path: Path):
    rows = lines(two_people(BOXES, tmp_path / "gold.jsonl"))
    rows[0]["annotations"][1]["status"] = "reserved"
    _kind, items = read_annotations(write(tmp_path / "other.jsonl", rows))
    assert "second" not in items[0].objects
    rows[0]["annotations"][1] |= {"status": "submitted"}
    rows[0]["annotations"][1]["document"]["problem"] = {"kind": "other"}
    _kind, items = read_annotations(write(tmp_path / "other.jsonl", rows))
    assert "second" not in items[0].objects


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "points"}, "line 1, column kind"),
        ({"program": "find["}, "line 1, column program"),
        ({"annotations": [{"annotator": "a", "document": {"layers": {"3": {"objects": [{}]}}}}]}, "id"),
    ],
)
def test_errors_name_line_and_field(tmp_path: Path, change: dict, message: str):
    path = write(tmp_path / "gold.jsonl", [lines(BOXES)[0] | change])
    with pytest.raises(InputError) as caught:
        read_annotations(path)
    assert message in str(caught.value)


def test_one_annotator_is_not_enough(capsys):
    assert main(["agreement", str(BOXES)]) == 1
    assert "no item has finished annotations of two people" in capsys.readouterr().err
