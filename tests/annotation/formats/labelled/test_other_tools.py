"""Files as other tools write them are read, repaired or refused.

Refusals name the place in the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.content.labels import LabelTask
from annotation.content.schemas import ItemRecord, Kind
from annotation.errors import Conflict
from annotation.formats import registry
from annotation.formats.images import ImageFolder
from annotation.formats.label_studio.results import UTF_16_OFFSETS
from annotation.formats.labelled import brat, entries, items, label_studio, losses, mark_positions
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.annotation.formats.labelled.plain_items import (
    boxes_of,
    classes_of,
    image_task,
    read,
    spans_of,
    text_task,
    written,
)
from tests.annotation.formats.records import picture


def result(kind: str, value: dict[str, Any], name: str = "label", **more: Any) -> dict[str, Any]:
    return {"id": "r1", "type": kind, "from_name": name, "to_name": "text", "value": value, **more}


def task_of(data: dict[str, Any], *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    annotation = {"completed_by": 3, "result": list(results), "was_cancelled": False, "ground_truth": True}
    return {"id": 7, "data": data, "annotations": [annotation | more], "predictions": []}


def read_record(
    folder: Path, name: str, content: object, suffix: str = ".json", **options: Any
) -> ItemRecord:
    path = folder / f"file{suffix}"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    [record] = read(name, path, **options)
    return record


def layers_of(record: ItemRecord) -> dict[str, tuple[str, ...]]:
    return {layer.name: layer.names for layer in LabelTask.model_validate_json(record.program).layers}


def test_label_studio_needs_nothing_but_its_file(tmp_path: Path) -> None:
    person = result("labels", {"start": 0, "end": 3, "text": "Ada", "labels": ["Person"]})
    sport = result("choices", {"choices": ["Sport"]}, "topic")
    other = task_of({"text": "Bo lost."}, result("choices", {"choices": ["Film"]}, "topic")) | {"id": 8}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task_of({"text": "Ada won."}, person, sport), other]))
    record, second = read("labelstudio", path)
    assert layers_of(record) == {"label": ("Person",), "topic": ("Sport", "Film")}
    assert (record.external_id, second.external_id) == ("7", "8")
    assert spans_of(record, record.gold) == [("label", (0, 3), "Ada", "Person")]
    assert classes_of(second, second.gold) == [("topic", ["Film"])]


def test_the_paths_of_a_taxonomy_are_nested_labels(tmp_path: Path) -> None:
    first = task_of({"text": "A."}, result("taxonomy", {"taxonomy": [["Animal", "Dog"], ["Plant"]]}, "kind"))
    more = task_of({"text": "B."}, result("taxonomy", {"taxonomy": [["Animal", "Cat", "Lynx"]]}, "kind"))
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([first, more | {"id": 8}]))
    records = read("labelstudio", path)
    [layer] = LabelTask.model_validate_json(records[0].program).layers
    assert [(label.name, label.parent) for label in layer.labels] == [
        *(("Animal", ""), ("Dog", "Animal"), ("Cat", "Animal"), ("Lynx", "Cat"), ("Plant", "")),
    ]
    assert [classes_of(record, record.gold) for record in records] == [
        [("kind", ["Dog", "Plant"])],
        [("kind", ["Lynx"])],
    ]
    other = result("taxonomy", {"taxonomy": [["Plant", "Dog"]]}, "kind")
    path.write_text(json.dumps([first, task_of({"text": "B."}, other) | {"id": 8}]))
    with pytest.raises(BadFile, match="“Dog” stands inside “Plant” and elsewhere; a label has one place"):
        read("labelstudio", path)


def test_the_quote_decides_between_code_points_and_utf_16(tmp_path: Path) -> None:
    text, findings = "🏆🏆 Ada won.", Findings()
    units = result("labels", {"start": 5, "end": 8, "text": "Ada", "labels": ["Person"]})
    record = read_record(tmp_path, "labelstudio", [task_of({"text": text}, units)], findings=findings)
    points = result("labels", {"start": 3, "end": 6, "text": "Ada", "labels": ["Person"]})
    same = read_record(tmp_path, "labelstudio", [task_of({"text": text}, points)])
    assert spans_of(record, record.gold) == spans_of(same, same.gold)
    assert findings.count(UTF_16_OFFSETS) == 1


def test_a_rotated_box_is_reported_and_its_size_is_that_of_the_file(tmp_path: Path) -> None:
    value = {"x": 50, "y": 10, "width": 20, "height": 10, "rotation": 90, "rectanglelabels": ["Dog"]}
    size = {"original_width": 200, "original_height": 100}
    findings = Findings()
    drawn = result("rectanglelabels", value, **size)
    record = read_record(
        tmp_path, "labelstudio", [task_of({"image": "/data/upload/1/a1b2c3d4-dog.png"}, drawn)],
        kind="boxes", findings=findings,
    )  # fmt: skip
    assert (record.images[0].width, record.images[0].height) == (200, 100)
    assert boxes_of(record, record.gold) == [("label", "Dog", (0.45, 0.1, 0.5, 0.5))]
    assert findings.count(label_studio.ROTATED_SHAPE) == 1


def test_an_image_is_found_without_what_an_upload_puts_before_its_name(tmp_path: Path) -> None:
    picture(tmp_path / "pictures" / "dog.png", (40, 20))
    path = tmp_path / "tasks.json"
    value = {"x": 0, "y": 0, "width": 50, "height": 50, "rectanglelabels": ["Dog"]}
    task = task_of({"image": "/data/upload/1/a1b2c3d4-dog.png"}, result("rectanglelabels", value))
    path.write_text(json.dumps([task]))
    source = Source(path=path, kind="boxes", images=ImageFolder(tmp_path / "pictures"))
    [record] = registry.read("labelstudio", source)
    assert (record.images[0].name, record.images[0].width) == ("dog.png", 40)


SQUARE = {"x": 1, "y": 1, "width": 5, "height": 5}


def test_what_has_no_place_is_left_out_and_counted(tmp_path: Path) -> None:
    results = [
        result("brushlabels", {"format": "rle", "rle": [0, 1], "brushlabels": ["Dog"]}),
        {"type": "relation", "from_id": "a", "to_id": "b"},
        result("rectangle", SQUARE) | {"id": "r2"},
        result("choices", {"x": 1, "y": 1, "choices": ["small"]}, "size") | {"id": "of no mark"},
        result("number", {"number": 4}, "count"),
        result("rectanglelabels", {**SQUARE, "rectanglelabels": ["Dog", "Cat"]}),
    ]  # fmt: skip
    task, findings = task_of({"image": "dog.png"}, *results), Findings()
    task["predictions"] = [{"result": []}]
    record = read_record(tmp_path, "labelstudio", [task], kind="boxes", findings=findings)
    assert [label for _layer, label, _box in boxes_of(record, record.gold)] == ["Cat", "Dog"]
    assert {kind: repair.count for kind, repair in findings.repairs.items()} == {
        mark_positions.OTHER_SHAPES: 1,
        items.DANGLING_RELATION: 1,
        entries.NO_LABEL: 1,
        entries.SEVERAL_LABELS: 1,
        entries.ABOUT_A_MARK: 1,
        label_studio.OTHER_RESULT: 1,
        label_studio.PREDICTION: 1,
    }


DOCCANO = {"id": 3, "text": "Ada won in Rome.", "label": [[0, 3, "PER"], [11, 15, "LOC"]], "source": "web"}
PRODIGY = {
    "text": "Ada won.", "_input_hash": 5, "_task_hash": 6, "answer": "accept", "_annotator_id": "ann",
    "tokens": [{"text": "Ada", "start": 0, "end": 3}, {"text": "won.", "start": 4, "end": 8}],
    "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}],
}  # fmt: skip


def test_doccano_lines_have_spans_or_classes(tmp_path: Path) -> None:
    findings = Findings()
    record = read_record(tmp_path, "doccano", DOCCANO, ".jsonl", findings=findings)
    assert [mark[2:] for mark in spans_of(record, record.gold)] == [("Ada", "PER"), ("Rome", "LOC")]
    assert (record.extra, findings.count(entries.UNSHOWN_FIELD)) == ({"fields": {"source": "web"}}, 1)
    classes = '{"id": 1, "text": "a", "label": ["good"]}\n{"id": 2, "text": "b", "label": ["bad", "good"]}\n'
    path = tmp_path / "classes.jsonl"
    path.write_text(classes)
    first, second = read("doccano", path)
    assert layers_of(first) == {"Class": ("good", "bad")}
    assert classes_of(second, second.gold) == [("Class", ["bad", "good"])]
    entities = {
        "id": 1,
        "text": "Ada",
        "entities": [{"id": 9, "label": "PER", "start_offset": 0, "end_offset": 3}],
    }
    [mark] = spans_of(record := read_record(tmp_path, "doccano", entities, ".jsonl"), record.gold)
    assert mark[2:] == ("Ada", "PER")


def test_prodigy_lines_of_one_task_become_one_item(tmp_path: Path) -> None:
    other = PRODIGY | {"_annotator_id": "bo", "spans": []}
    rejected = PRODIGY | {"_annotator_id": "cy", "answer": "reject"}
    text = "".join(json.dumps(task) + "\n" for task in (PRODIGY, other, rejected))
    record = read_record(tmp_path, "prodigy", text, ".jsonl")
    assert (record.gold, [annotation.annotator for annotation in record.annotations]) == (None, ["ann", "bo"])
    assert spans_of(record, record.annotations[0].document) == [("Entities", (0, 3), "Ada", "PER")]
    assert record.tokens == ((0, 3), (4, 8))


CONLL = (
    "-DOCSTART- -X- O O\n\nAda NNP I-NP B-PER\nLovelace NNP I-NP I-PER\nwon VBD I-VP O\n\nRome N I-NP I-LOC\n"
)


@pytest.mark.parametrize(
    ("tags", "runs"),
    [
        (["B-A", "I-A", "O"], [(0, 2)]),
        (["I-A", "I-A", "B-A"], [(0, 2), (2, 3)]),  # IOB1
        (["B-A", "E-A", "S-A"], [(0, 2), (2, 3)]),  # BIOES
        (["B-A", "L-A", "U-A"], [(0, 2), (2, 3)]),  # BILOU
        (["I-A", "I-B", "O"], [(0, 1), (1, 2)]),
    ],
)
def test_tags_of_all_schemes_are_read(tmp_path: Path, tags: list[str], runs: list[tuple[int, int]]) -> None:
    text = "".join(f"w{index}\t{tag}\n" for index, tag in enumerate(tags))
    path = tmp_path / "a.conll"
    path.write_text(text)
    [record] = read("conll", path, task=text_task(("A", "B")))
    assert record.gold is not None
    assert sorted(span.tokens for span in record.gold.layers[1].objects) == runs  # type: ignore[union-attr]


def test_conll_files_of_four_columns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text(CONLL)
    first, second = read("conll", path)
    assert spans_of(first, first.gold) == [("Entities", (0, 12), "Ada Lovelace", "PER")]
    assert (second.passage, second.external_id) == ("Rome", "2")


BRAT = "T1\tPER 0 3\tAda\nT2\tLOC 0 3;11 15\tAda Rome\nR1\tIn Arg1:T1 Arg2:T2\nA1\tSure T1\n#1\tNote T1\thm\n"


def test_brat_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Ada won in Rome.\r\n")
    (tmp_path / "a.ann").write_text(BRAT)
    findings = Findings()
    [record] = read("brat", tmp_path, findings=findings)
    assert [mark[2:] for mark in spans_of(record, record.gold)] == [
        ("Ada", "PER"),
        ("Ada won in Rome", "LOC"),
    ]
    counts = {kind: repair.count for kind, repair in findings.repairs.items()}
    assert counts == {brat.SPLIT_SPAN: 1, entries.ATTRIBUTES: 1, entries.ABOUT_A_MARK: 1}
    task = LabelTask.model_validate_json(record.program)
    assert [(layer.type, layer.names) for layer in task.layers] == [
        ("spans", ("PER", "LOC")),
        ("relations", ("In",)),
    ]
    assert record.gold is not None
    assert [relation.ends for relation in record.gold.layers[2].objects] == [("T1", "T2")]  # type: ignore[union-attr]


COCO = {
    "info": {"year": 2017}, "licenses": [{"id": 1, "name": "CC"}],
    "images": [{"id": 9, "file_name": "a.jpg", "width": 100, "height": 50, "license": 1},
               {"id": 4, "file_name": "b.jpg", "width": 10, "height": 10}],
    "categories": [{"id": 18, "name": "dog"}, {"id": 90, "name": "brush"}],
    "annotations": [{"id": 1, "image_id": 9, "category_id": 18, "bbox": [10, 5, 20, 10], "iscrowd": 0,
                     "area": 200, "segmentation": [[10, 5, 30, 5, 30, 15]]}],
}  # fmt: skip


def test_coco_keeps_info_and_licenses_and_all_categories(tmp_path: Path) -> None:
    path, findings = tmp_path / "a.json", Findings()
    path.write_text(json.dumps(COCO))
    records = read("coco", path, kind="boxes", findings=findings)
    assert layers_of(records[0]) == {"Objects": ("dog", "brush")}
    assert boxes_of(records[0], records[0].gold) == [("Objects", "dog", (0.1, 0.1, 0.3, 0.3))]
    assert records[1].gold is not None
    assert not findings.repairs  # the outline is a polygon
    again = json.loads(written("coco", records, tmp_path).read_text())
    assert (again["info"], again["licenses"]) == (COCO["info"], COCO["licenses"])
    assert again["images"][0]["license"] == 1
    assert [category["name"] for category in again["categories"]] == ["dog", "brush"]
    assert again["annotations"][0]["bbox"] == [10, 5, 20, 10]


def test_coco_keeps_labels_inside_others(tmp_path: Path) -> None:
    names = (
        ("dog", "animal"),
        ("animal", "animal"),
        ("puppy", "dog"),
        ("brush", "indoor"),
        ("a", "b"),
        ("b", "a"),
    )
    categories = [
        {"id": 18 + index, "name": name, "supercategory": above} for index, (name, above) in enumerate(names)
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(COCO | {"categories": categories}))
    records = read("coco", path, kind="boxes")
    nested = [("animal", ""), ("dog", "animal"), ("puppy", "dog"), ("brush", ""), ("a", ""), ("b", "")]
    for record in (*records, *read("coco", written("coco", records, tmp_path), kind="boxes")):
        [layer] = LabelTask.model_validate_json(record.program).layers
        assert [(label.name, label.parent) for label in layer.labels] == nested


VOC = """<annotation><filename>a.jpg</filename>
<size><width>100</width><height>50</height><depth>3</depth></size>
<object><name>dog</name><bndbox><xmin>11</xmin><ymin>6</ymin><xmax>30</xmax><ymax>15</ymax></bndbox></object>
</annotation>"""
CVAT = """<annotations><version>1.1</version><image id="0" name="a.jpg" width="100" height="50">
<box label="dog" xtl="10" ytl="5" xbr="30" ybr="15" occluded="0"/><polygon label="dog" points="1,1;2,2"/>
</image></annotations>"""


@pytest.mark.parametrize(("name", "text", "lost"), [("voc", VOC, 0), ("cvat", CVAT, 1)])
def test_xml_files_are_read(tmp_path: Path, name: str, text: str, lost: int) -> None:
    findings = Findings()
    record = read_record(tmp_path, name, text, ".xml", kind="boxes", findings=findings)
    assert boxes_of(record, record.gold) == [("Objects", "dog", (0.1, 0.1, 0.3, 0.3))]
    assert findings.count(mark_positions.OTHER_SHAPES) == lost


def test_yolo_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    picture(tmp_path / "images" / "a.jpg", (100, 50))
    (tmp_path / "labels" / "a.txt").write_text("1 0.2 0.2 0.2 0.2\n")
    (tmp_path / "data.yaml").write_text("names: {0: cat, 1: dog}\n")
    [record] = read("yolo", tmp_path, kind="boxes")
    assert boxes_of(record, record.gold) == [("Objects", "dog", (0.1, 0.1, 0.3, 0.3))]
    assert layers_of(record) == {"Objects": ("cat", "dog")}


def test_eraser_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d1").write_text("a good film .\nbut long .")
    evidence = {"docid": "d1", "start_token": 0, "end_token": 3, "text": "a good film", "start_sentence": 0}
    line = {"annotation_id": "x", "classification": "POS", "evidences": [[evidence]], "query": "Is it?"}
    other = line | {"annotation_id": "y", "classification": "NEG", "docids": ["d1"], "evidences": []}
    (tmp_path / "train.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(other)}\n")
    record, _other = read("eraser", tmp_path)
    assert spans_of(record, record.gold) == [("Rationale", (0, 11), "a good film", "Evidence")]
    assert (record.text, classes_of(record, record.gold)) == ("Is it?", [("Class", ["POS"])])


def test_exports_count_what_a_format_cannot_hold(tmp_path: Path) -> None:
    people = {"annotator": "ann", "document": {"layers": {}}}
    mark = {"id": "a", "span": [1, 3], "tokens": [0, 1], "quote": "da", "label": "A"}
    gold = {
        "1": {"state": "done", "objects": [mark]},
        "2": {"state": "unsure", "objects": [{"id": "c", "value": "yes"}, {"id": "d", "value": "no"}]},
    }
    fields = {
        "external_id": "x",
        "kind": "spans",
        "program": text_task(("A",)).text,
        "text": "",
        "passage": "Ada",
    }
    record = ItemRecord.model_validate(
        fields | {"tokens": [(0, 3)], "gold": {"layers": gold}, "annotations": [people]}
    )
    written("conll", [record], tmp_path, findings := Findings())
    assert {kind: repair.count for kind, repair in findings.repairs.items()} == {
        losses.PEOPLE: 1, losses.CHOICES: 2, losses.STATES: 1, losses.WHOLE_TOKENS: 1,
    }  # fmt: skip
    written("jsonl", [record], tmp_path, findings := Findings())
    assert not findings.repairs


@pytest.mark.parametrize("form", ["conll", "webanno", "brat"])
def test_an_item_that_nobody_labelled_does_not_come_back_as_gold(form: str, tmp_path: Path) -> None:
    """Its words without tags would say that nothing is marked in them."""
    gold = {"layers": {"1": {"state": "nothing", "objects": []}}}
    fields = {
        "kind": "spans",
        "program": text_task(("A",)).text,
        "text": "",
        "passage": "Ada",
        "tokens": [(0, 3)],
    }
    records = [
        ItemRecord.model_validate(fields | {"external_id": "done", "gold": gold}),
        ItemRecord.model_validate(fields | {"external_id": "open"}),
    ]
    path = written(form, records, tmp_path, findings := Findings())
    assert findings.repairs[losses.UNLABELLED_ITEMS].count == 1
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    assert not [file for file in files if "open" in file.stem or "id = open" in file.read_text("utf-8")]


@pytest.mark.parametrize("form", ["voc", "yolo"])
def test_two_items_with_gold_on_one_image_do_not_overwrite_each_other(form: str, tmp_path: Path) -> None:
    mark = {"id": "m", "image": 0, "box": (0.1, 0.1, 0.5, 0.5), "label": "dog"}
    gold = {"layers": {"1": {"state": "done", "objects": [mark]}}}
    image = {"name": "a/x.png", "width": 100, "height": 100}
    task = LabelTask.model_validate({"layers": [{"type": "boxes", "name": "Animals", "labels": ["dog"]}]})
    fields = {"kind": "boxes", "program": task.text, "text": "", "images": [image]}
    first, second = (
        ItemRecord.model_validate(fields | {"external_id": name, "gold": gold}) for name in ("one", "two")
    )
    with pytest.raises(Conflict, match="of another item"):
        written(form, [first, second], tmp_path / "both", Findings())
    unlabelled = ItemRecord.model_validate(fields | {"external_id": "two"})
    path = written(form, [first, unlabelled], tmp_path / "one", Findings())
    assert any("dog" in file.read_text("utf-8") for file in path.rglob("*.*") if file.is_file())


BOB = result("labels", {"start": 0, "end": 3, "text": "Bob", "labels": ["P"]})
REFUSED: list[tuple[str, str, str, str, int | None, str]] = [
    ("labelstudio", ".json", "{", "spans", 1, "not JSON"),
    ("labelstudio", ".json", '[\n{"data": {"a": 1}}]', "spans", 2, "data: has neither a text nor an image"),
    (
        "labelstudio",
        ".json",
        json.dumps([task_of({"text": "Ada won."}, BOB)]),
        "spans",
        1,
        "value.text: is 'Bob', but 'Ada' is at these offsets",
    ),
    (
        "labelstudio",
        ".json",
        json.dumps([task_of({"image": "https://a.org/b.png"}, result("choices", {"choices": ["x"]}))]),
        "boxes",
        1,
        "is an address, and images are not fetched",
    ),
    (
        "labelstudio",
        ".json",
        '[{"id": 1, "data": {"text": "a"}}]',
        "spans",
        None,
        "holds no labels; create a project",
    ),
    (
        "doccano",
        ".jsonl",
        '{"text": "a", "label": ["x"]}\n{"text": ""}',
        "spans",
        2,
        "text: is missing or empty",
    ),
    ("doccano", ".jsonl", '{"text": "Ada", "label": [[0, 9, "x"]]}', "spans", 1, "0 to 9 is outside"),
    ("doccano", ".jsonl", '{"text": "Ada", "label": [7]}', "spans", 1, "is not as expected"),
    ("doccano", ".jsonl", "[]", "spans", 1, "expected an object"),
    ("prodigy", ".jsonl", '{"text": "a", "spans": [{"label": "x"}]}', "spans", 1, "is not as expected"),
    ("conll", ".txt", "Ada B-PER\nwon\n", "spans", 2, "'won' does not end in a tag"),
    ("conll", ".txt", "", "spans", None, "holds no items"),
    ("webanno", ".tsv", "1-1\t0-3\tAda\n", "spans", 1, "is not WebAnno TSV 3"),
    ("brat", ".txt", "Ada", "spans", None, "needs its .txt and .ann files"),
    ("yolo", ".txt", "0 1 1 1 1", "boxes", None, "in one folder or zip file"),
    ("eraser", ".jsonl", "{}", "spans", None, "has no folder docs"),
    ("coco", ".json", json.dumps(COCO | {"categories": []}), "boxes", None, "there is no category 18"),
    ("coco", ".json", json.dumps(COCO | {"images": []}), "boxes", None, "there is no image 9"),
    (
        "coco",
        ".json",
        json.dumps(COCO).replace('"width": 100, ', ""),
        "boxes",
        None,
        "the size of 'a.jpg' is unknown",
    ),
    ("coco", ".json", json.dumps(COCO).replace("dog", "d" * 70), "boxes", None, "at most 60 characters"),
    ("voc", ".xml", "<annotation>", "boxes", 1, "this is not XML"),
    ("voc", ".xml", "<!DOCTYPE a []><annotation/>", "boxes", 1, "declares a document type"),
    ("voc", ".xml", VOC.replace("<xmin>11", "<xmin>x"), "boxes", None, "xmin: 'x' is not a number"),
    ("voc", ".xml", VOC.replace(">30<", ">130<"), "boxes", None, "leaves its image"),
    (
        "cvat",
        ".xml",
        CVAT.replace('width="100"', 'width="wide"'),
        "boxes",
        None,
        "width: is missing or not a number",
    ),
    ("cvat", ".xml", "<annotation/>", "boxes", 1, "is not a file of CVAT for images"),
    ("w3c", ".json", "{}", "spans", 1, "items: is missing"),
    (
        "w3c",
        ".json",
        '{"items": [{"target": {"source": "x"}}, {"target": {"source": "x", "selector": 3}}]}',
        "spans",
        1,
        "the text of 'x' is missing",
    ),
    ("w3c", ".json", '{"items": [{"target": {}}]}', "spans", 1, "is not as expected"),
    (
        "labelstudio",
        ".json",
        '[{"data": {"text": "a"}, "annotations": [{"result": [{"value": 3}]}]}]',
        "spans",
        1,
        "is not as expected",
    ),
    ("voc", ".xml", VOC.replace("<width>100", "<width>1e999"), "boxes", None, "is not as expected"),
    (
        "webanno",
        ".tsv",
        "#FORMAT=WebAnno TSV 3.3\n\n#Text=a\n1-1\t9000000000-9000000001\ta\t\n",
        "spans",
        None,
        "begins too far behind",
    ),
    ("w3c", ".json", '{"items": [{"target": "x"}]}', "spans", 1, "expected an annotation with one target"),
]


@pytest.mark.parametrize(("name", "suffix", "text", "kind", "line", "message"), REFUSED)
def test_what_is_wrong_is_refused_with_its_place(
    tmp_path: Path, name: str, suffix: str, text: str, kind: Kind, line: int | None, message: str
) -> None:
    path, findings = tmp_path / f"file{suffix}", Findings(collect=True)
    path.write_text(text, encoding="utf-8")
    records = findings.read_until_broken(
        registry.read(name, Source(path=path, kind=kind, plain=True, findings=findings))
    )
    list(records)
    assert any(message in str(refusal) for refusal in findings.refused), [
        str(refusal) for refusal in findings.refused
    ]
    refusal = next(refusal for refusal in findings.refused if message in str(refusal))
    assert refusal.file == str(path)
    assert line is None or refusal.line == line


def test_labels_that_a_project_lacks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(DOCCANO))
    with pytest.raises(BadFile, match=r"a.jsonl:1: .*'PER' is not a label of “Entities”"):
        read("doccano", path, task=text_task(("A",)))
    with pytest.raises(BadFile, match="the project has no layer “Entities” of type spans; it has “Objects”"):
        read("doccano", path, task=image_task())


def test_spans_that_overlap_are_refused_by_conll_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(DOCCANO | {"label": [[0, 3, "PER"], [0, 7, "LOC"]]}))
    records = read("doccano", path)
    with pytest.raises(registry.Conflict, match="spans that overlap at “Ada won”, which CoNLL cannot hold"):
        written("conll", records, tmp_path)
    assert written("webanno", records, tmp_path).is_dir()
