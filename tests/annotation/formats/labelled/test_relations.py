"""Files of other tools hold relations, or count those that they leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.content.labels import LabelTask, read_label_task
from annotation.content.schemas import Document, ItemRecord
from annotation.formats.checks import check_record
from annotation.formats.labelled import entries, items
from annotation.formats.labelled.losses import LOSSES
from foundation.imports.findings import Findings
from tests.annotation.factories import PASSAGE, SPANS
from tests.annotation.formats.labelled.plain_items import read, written
from tests.annotation.test_relations import ENTITIES, RELATIONS, SAME, TASK, related, relation

TEXT_FORMATS = ("jsonl", "labelstudio", "doccano", "prodigy", "brat", "w3c", "webanno", "conll")


def item() -> ItemRecord:
    document = related(
        relation("r", "a", "b"), relation("s", "b", "a"), relation("t", "c", "a", "lives in"),
        same=[relation("u", "a", "b", "same as")],
    )  # fmt: skip
    return check_record(
        ItemRecord(
            external_id="text-1",
            kind="spans",
            program=read_label_task(TASK).text,
            text="",
            passage=PASSAGE,
            tokens=SPANS.tokens,
            gold=document,
        )
    )


def list_relations(document: Document | None, node: int) -> set[tuple[Any, ...]]:
    """Return the relations of a layer by the words of their ends."""
    assert document is not None
    words = {mark.id: mark.quote for mark in document.layers[ENTITIES].objects}  # type: ignore[union-attr]
    return {
        (relation.label, *(words[end] for end in relation.ends))  # type: ignore[union-attr]
        for relation in document.layers[node].objects
    }


@pytest.mark.parametrize("with_task", [True, False])
@pytest.mark.parametrize("name", ["labelstudio", "brat"])
def test_relations_come_back(tmp_path: Path, name: str, with_task: bool) -> None:
    lost, findings = Findings(), Findings()
    task = read_label_task(TASK) if with_task else None
    [again] = read(name, written(name, [item()], tmp_path, lost), task=task, findings=findings)
    assert not lost.repairs
    assert not findings.repairs
    for node in (RELATIONS, SAME):
        assert list_relations(again.gold, node) == list_relations(item().gold, node)
    layers = LabelTask.model_validate_json(again.program).layers
    assert [layer.directed for layer in layers if layer.type == "relations"] == [True, False]


def test_label_studio_and_json_lines_lose_nothing(tmp_path: Path) -> None:
    for name in ("labelstudio", "jsonl"):
        [again] = read(name, written(name, [item()], tmp_path))
        assert again == item()


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_other_formats_count_what_they_leave_out(tmp_path: Path, name: str) -> None:
    lost = Findings()
    written(name, [item()], tmp_path, lost)
    assert lost.count(entries.RELATIONS) == (4 if entries.RELATIONS in LOSSES[name] else 0)
    assert (entries.RELATIONS in LOSSES[name]) == (name not in ("jsonl", "labelstudio", "brat"))


def test_directions_of_label_studio_and_relations_without_a_label(tmp_path: Path) -> None:
    path = written("labelstudio", [item()], tmp_path)
    [task] = json.loads(path.read_bytes())
    results = [result for result in task["annotations"][0]["result"] if result["type"] != "relation"]
    bare = {"type": "relation", "from_id": "a", "to_id": "b"}
    results += [
        bare | {"direction": "left"},
        bare | {"to_id": "c", "direction": "bi"},
        bare | {"from_id": "x"},
    ]
    del task["touchstone"]
    path.write_text(json.dumps([task | {"annotations": [{"result": results, "ground_truth": True}]}]))
    findings = Findings()
    [again] = read("labelstudio", path, findings=findings)
    first, second, third = (mark.quote for mark in again.gold.layers[1].objects)  # type: ignore[union-attr]
    label = entries.BARE_RELATION
    assert list_relations(again.gold, 2) == {
        (label, second, first),
        (label, first, third),
        (label, third, first),
    }
    assert findings.count(items.DANGLING_RELATION) == 1


def test_a_project_without_relations_leaves_them_out(tmp_path: Path) -> None:
    task = LabelTask(layers=read_label_task(TASK).layers[:1])
    for name in ("labelstudio", "brat"):
        findings = Findings()
        path = written(name, [item()], tmp_path)
        if name == "labelstudio":
            [exported] = json.loads(path.read_bytes())
            exported["annotations"][0].pop("touchstone")
            path.write_text(json.dumps([exported]))
        [again] = read(name, path, task=task, findings=findings)
        assert findings.count(entries.RELATIONS) == 4
        assert len(again.gold.layers[1].objects) == 3  # type: ignore[union-attr]
