"""Polygons, ellipses and key points through each format and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.content.labels import LabelTask
from annotation.content.schemas import Ellipse, ItemRecord, KeyPoint, Polygon
from annotation.formats.checks import check_record
from annotation.formats.labelled import items, losses
from annotation.formats.labelled.documents import list_image_marks
from foundation.imports.findings import Findings
from tests.annotation.formats.labelled.plain_items import read, written

LAYERS = [
    {"type": "polygons", "name": "Outlines", "labels": ["Ball", "Größe 2"]},
    {"type": "ellipses", "name": "Ellipses", "labels": ["Ball"]},
    {"type": "points", "name": "Key points", "labels": ["Top", "Bottom"]},
]
MARKS: dict[str, list[dict[str, Any]]] = {
    "1": [{"polygon": [[0.1, 0.2], [0.5, 0.2], [0.3, 0.75]], "label": "Größe 2"}],
    "2": [{"box": [0.25, 0.5, 0.5, 0.75], "shape": "ellipse", "label": "Ball"}],
    "3": [{"point": [0.25, 0.5], "label": "Top"}, {"point": [0, 1], "label": "Bottom"}],
}


def shape_task() -> LabelTask:
    return LabelTask.model_validate({"layers": LAYERS})


def item() -> ItemRecord:
    """An image with a mark of each shape."""
    layers = {
        node: {"state": "done", "objects": [{"id": f"m{node}-{at}", "image": 0, **mark} for at, mark in rows]}
        for node, rows in ((node, list(enumerate(marks))) for node, marks in MARKS.items())
    }
    record: dict[str, Any] = {
        "external_id": "a.png",
        "kind": "boxes",
        "program": shape_task().text,
        "text": "",
    }
    record |= {"images": [{"name": "a.png", "width": 200, "height": 100}], "gold": {"layers": layers}}
    return check_record(ItemRecord.model_validate(record))


def shapes_of(record: ItemRecord) -> dict[type, list[tuple[str, list[float]]]]:
    """Return label and coordinates of each mark, by its type."""
    shapes: dict[type, list[tuple[str, list[float]]]] = {}
    for _layer, mark in list_image_marks(record, record.gold):
        edges = list(mark.box)
        if isinstance(mark, Polygon):
            edges = [edge for corner in mark.polygon for edge in corner]
        shapes.setdefault(type(mark), []).append((mark.label, edges))
    return {kind: sorted(marks) for kind, marks in shapes.items()}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("labelstudio", {Polygon, Ellipse, KeyPoint}),
        ("w3c", {Polygon, Ellipse, KeyPoint}),
        ("cvat", {Polygon, Ellipse, KeyPoint}),
        ("coco", {Polygon, KeyPoint}),
        ("yolo", {Polygon}),
        ("prodigy", {Polygon}),
    ],
)
def test_shapes_come_back(tmp_path: Path, name: str, kinds: set[type]) -> None:
    lost = Findings()
    path = written(name, [item()], tmp_path, lost)
    for task in (shape_task(), None):
        if name in {"coco", "yolo", "prodigy"} and task is None:
            continue  # an ellipse that became a polygon or a box shares the layer
        [again] = read(name, path, task=task, kind="boxes")
        drawn, back = shapes_of(item()), shapes_of(again)
        for kind in kinds:
            for label, edges in drawn[kind]:
                like = [other for same, other in back[kind] if same == label and len(other) == len(edges)]
                assert like[0] == pytest.approx(edges, abs=1e-5), (name, kind)
    assert lost.count(losses.POINTS) == (0 if KeyPoint in kinds else 2)


def test_pascal_voc_holds_the_boxes_and_says_so(tmp_path: Path) -> None:
    lost = Findings()
    path = written("voc", [item()], tmp_path, lost)
    assert (lost.count(losses.POLYGONS), lost.count(losses.ELLIPSES), lost.count(losses.POINTS)) == (1, 1, 2)
    [again] = read("voc", path, kind="boxes")
    [boxes] = shapes_of(again).values()
    assert [label for label, _edges in boxes] == ["Ball", "Größe 2"]


def test_json_lines_lose_nothing(tmp_path: Path) -> None:
    [again] = read("jsonl", written("jsonl", [item()], tmp_path), task=shape_task(), kind="boxes")
    assert again == item()


def test_a_project_of_boxes_takes_the_box_around_a_polygon(tmp_path: Path) -> None:
    boxes = LabelTask.model_validate(
        {"layers": [{"type": "boxes", "name": "Objects", "labels": ["Ball", "Größe 2", "Top", "Bottom"]}]}
    )
    record = item()
    assert record.gold is not None
    layers = {node: layer for node, layer in record.gold.layers.items() if node != 3}
    path = written(
        "cvat",
        [record.model_copy(update={"gold": record.gold.model_copy(update={"layers": layers})})],
        tmp_path,
    )
    findings = Findings()
    [again] = read("cvat", path, task=boxes, kind="boxes", findings=findings)
    assert findings.count(items.TO_BOX) == 2
    assert [edges for _label, edges in shapes_of(again)[next(iter(shapes_of(again)))]][1] == pytest.approx(
        [0.1, 0.2, 0.5, 0.75]
    )
