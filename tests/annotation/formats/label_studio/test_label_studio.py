"""Our Label Studio tasks come back whole.

Those of others keep what they hold besides.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from annotation.content.schemas import Chosen, Image, ItemRecord, Span
from annotation.formats import references
from annotation.formats.boxes import NO_AREA, PAST_THE_EDGE
from annotation.formats.images import ImageFolder
from annotation.formats.label_studio import read_label_studio, reader, results, write_label_studio
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.annotation.factories import make_record
from tests.annotation.formats.closeness import close, same
from tests.annotation.formats.records import box_item, box_items, passages, picture, span_item, unhurried


def again(folder: Path, items: list[ItemRecord]) -> list[ItemRecord]:
    write_label_studio(items, folder / "tasks.json")
    return list(read_label_studio(Source(folder / "tasks.json")))


def test_it_works(tmp_path: Path):
    items = [box_item(), box_item("other")]
    assert all(map(same, again(tmp_path, items), items))


def test_items_without_program_or_gold_come_back(tmp_path: Path):
    items = [box_item(program="", gold=None, annotations=[])]
    assert again(tmp_path, items) == items


@unhurried
@given(box_items())
def test_any_boxes_come_back(tmp_path_factory: pytest.TempPathFactory, item: ItemRecord):
    (returned,) = again(tmp_path_factory.mktemp("ls"), [item])
    assert same(returned, item)


@unhurried
@given(passages)
def test_any_spans_come_back(tmp_path_factory: pytest.TempPathFactory, passage: str):
    item = span_item(passage=passage)
    assert again(tmp_path_factory.mktemp("ls"), [item]) == [item]


def test_boxes_are_in_percent_of_their_image(tmp_path: Path):
    write_label_studio([box_item()], tmp_path / "tasks.json")
    (task,) = json.loads((tmp_path / "tasks.json").read_text())
    gold = task["annotations"][0]
    assert gold["ground_truth"] is True
    first = gold["result"][0]
    assert (first["from_name"], first["to_name"], first["type"]) == ("m2", "image0", "rectanglelabels")
    assert first["value"] == {
        "x": 10, "y": 20, "width": pytest.approx(20), "height": pytest.approx(70), "rotation": 0,
        "rectanglelabels": ["find “dogs”"],
    }  # fmt: skip
    assert (first["original_width"], first["original_height"]) == (64, 48)
    assert task["data"]["image1"] == "right.jpg"


# --- tasks of others ---------------------------------------------------------------------------------


def box(name: str = "r1", control: str = "m2", **value: Any) -> dict[str, Any]:
    values = {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["Dog"]}
    return {
        "id": name, "from_name": control, "to_name": "image0", "type": "rectanglelabels", "origin": "manual",
        "original_width": 200, "original_height": 100, "image_rotation": 0, "value": values | value,
    }  # fmt: skip


def task(*results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    data = {
        "image0": "l.png", "image1": "r.png", "text": "All dogs are black.", "file": "batch 7",
        "program": "equal(count(find[dogs]), count(filter[black](find[dogs])))",
    }  # fmt: skip
    annotation = {
        "id": 31, "completed_by": {"id": 4, "email": "cleo@example.org"}, "lead_time": 8.4,
        "was_cancelled": False, "created_at": "2026-01-02T03:04:05.600000Z",
        "updated_at": "2026-01-02T03:05:00Z", "result": list(results),
    }  # fmt: skip
    return {
        "id": 7,
        "project": 3,
        "data": data,
        "annotations": [annotation],
        "predictions": [{"score": 0.5}],
    } | fields


def text_task(*results: dict[str, Any], passage: str, program: str = "find[event]") -> dict[str, Any]:
    return task(*results) | {"data": {"passage": passage, "text": "When?", "program": program}}


def stretch(start: int, end: int, text: str | None = None, name: str = "r1") -> dict[str, Any]:
    value: dict[str, Any] = {"start": start, "end": end, "labels": ["Event"]}
    value |= {} if text is None else {"text": text}
    return {"id": name, "from_name": "m0", "to_name": "passage", "type": "labels", "value": value}


def read(
    folder: Path,
    *tasks: dict[str, Any],
    findings: Findings | None = None,
    **options: Any,
) -> list[ItemRecord]:
    (folder / "in.json").write_text(json.dumps(tasks), encoding="utf-8")
    source = Source(folder / "in.json", findings=findings or Findings(), **options)
    return list(read_label_studio(source))


def objects(item: ItemRecord, node: int) -> list[Any]:
    return list(item.annotations[0].document.layers[node].objects)


def test_what_an_item_has_no_place_for_goes_out_again(tmp_path: Path):
    choice = {
        "id": "x",
        "from_name": "quality",
        "to_name": "image0",
        "type": "choices",
        "value": {"choices": ["good"]},
    }
    relation = {"type": "relation", "from_id": "r1", "to_id": "r2", "direction": "right"}
    findings = Findings()
    (item,) = read(tmp_path, task(box(), choice, relation), findings=findings)
    assert findings.count(reader.OTHER_RESULT) == 2
    assert item.external_id == "7"
    assert item.annotations[0].annotator == "cleo@example.org"
    write_label_studio([item], tmp_path / "out.json")
    (out,) = json.loads((tmp_path / "out.json").read_text())
    original = task(box(), choice, relation)
    assert (out["id"], out["project"], out["predictions"]) == (7, 3, [{"score": 0.5}])
    assert out["data"] == original["data"] | {"external_id": "7"}
    (annotation,) = out["annotations"]
    for key in ("id", "completed_by", "lead_time"):
        assert annotation[key] == original["annotations"][0][key]
    assert annotation["created_at"] == "2026-01-02T03:04:05.600000Z"
    (written,) = [entry for entry in annotation["result"] if entry.get("from_name") == "m2"]
    assert close(written, box())
    assert choice in annotation["result"]
    assert relation in annotation["result"]


def test_boxes_of_choosing_steps_become_references_where_they_equal_one_below(tmp_path: Path):
    findings = Findings()
    chosen, new = box("r2", "m4"), box("r3", "m4", x=11)
    (item,) = read(tmp_path, task(box(), chosen, new), findings=findings)
    first, second = objects(item, 4)
    assert first == Chosen(id="r2", ref="r1")
    assert second.reason == "drawn in Label Studio"
    assert findings.count(references.UNMATCHED_OBJECT) == 1


def test_equal_steps_share_their_boxes(tmp_path: Path):
    findings = Findings()
    (item,) = read(tmp_path, task(box(), box("r2", "m5"), box("r3", "m5", x=11)), findings=findings)
    assert [mark.id for mark in objects(item, 2)] == ["r1", "r3"]
    assert findings.count(references.REPEATED_OBJECT) == 1


@pytest.mark.parametrize(
    "rotation, expected",
    [
        # 30 % by 40 % of 200 by 100 pixels is 60 by 40, turned clockwise about (20, 20).
        (90, (0.0, 0.2, 0.1, 0.8)),  # 40 pixels to the left, cut at 0, and 60 down
        (180, (0.0, 0.0, 0.1, 0.2)),
        (45, (0.0, 0.2, 0.312132034356, 0.907106781187)),
    ],
)
def test_a_rotated_box_becomes_the_upright_one_around_it(
    tmp_path: Path, rotation: float, expected: tuple[float, ...]
):
    findings = Findings()
    (item,) = read(tmp_path, task(box(rotation=rotation)), findings=findings)
    (mark,) = objects(item, 2)
    assert mark.box == pytest.approx(expected)
    assert findings.count(results.ROTATED_BOX) == 1


def test_boxes_at_the_edge_are_repaired(tmp_path: Path):
    findings = Findings()
    (item,) = read(tmp_path, task(box(x=-0.1, width=20), box("r2", width=0)), findings=findings)
    (mark,) = objects(item, 2)
    assert mark.box == pytest.approx((0.0, 0.2, 0.199, 0.6))
    assert (findings.count(PAST_THE_EDGE), findings.count(NO_AREA)) == (1, 1)


def test_offsets_in_utf_16_are_counted_again(tmp_path: Path):
    passage = "👩\u200d👩\u200d👧 won 👍🏽 twice"
    findings = Findings()
    unit = len("👩\u200d👩\u200d👧 ".encode("utf-16-le")) // 2
    (item,) = read(tmp_path, text_task(stretch(unit, unit + 3, "won"), passage=passage), findings=findings)
    (mark,) = objects(item, 0)
    assert (mark.quote, mark.span) == ("won", (6, 9))
    assert findings.count(results.UTF_16_OFFSETS) == 1


def test_white_space_around_a_span_is_left_out(tmp_path: Path):
    findings = Findings()
    passage = "It\r\nwon\u00a0twice"
    (item,) = read(tmp_path, text_task(stretch(2, 8, "\\nwon "), passage=passage), findings=findings)
    (mark,) = objects(item, 0)
    assert isinstance(mark, Span)
    assert (mark.quote, mark.tokens) == ("won", (1, 2))
    assert findings.count(results.TRIMMED_SPAN) == 1


def test_ids_that_cannot_be_used_are_renamed(tmp_path: Path):
    findings = Findings()
    (item,) = read(tmp_path, task(box("a b"), box("r1", x=1), box("r1", x=2)), findings=findings)
    assert [mark.id for mark in objects(item, 2)] == ["r.0", "r1", "r1.0"]
    assert findings.count(reader.RENAMED_ID) == 2


def test_the_author_of_an_annotation_may_be_unknown(tmp_path: Path):
    (item,) = read(tmp_path, task(annotations=[{"result": [box()]}]))
    assert item.annotations[0].annotator == "unknown"


def test_sizes_come_from_a_folder(tmp_path: Path):
    picture(tmp_path / "images/l.png", (20, 10), orientation=6)
    picture(tmp_path / "images/r.png", (8, 9))
    (item,) = read(tmp_path, task(), images=ImageFolder(tmp_path / "images"))
    assert [(image.width, image.height) for image in item.images] == [(10, 20), (8, 9)]


def test_ground_truth_is_gold_and_a_second_one_is_not(tmp_path: Path):
    true, other = task(box())["annotations"][0] | {"ground_truth": True}, task()["annotations"][0]
    findings = Findings()
    (item,) = read(
        tmp_path, task(annotations=[true, other | {"was_cancelled": True}, true]), findings=findings
    )
    assert [annotation.status for annotation in item.annotations] == ["skipped", "submitted"]
    assert item.gold.layers[2].objects == item.annotations[1].document.layers[2].objects
    assert findings.count(reader.SECOND_GOLD) == 1


PLAIN = task(box())


@pytest.mark.parametrize(
    "tasks, message",
    [
        ([{"id": 1}], "task 0: data: is missing"),
        ([PLAIN, PLAIN], "task 1: data.external_id: '7' is already on line 1"),
        ([task(annotations=[{"result": [3]}])], "task 0: annotations[0].result[0]: "),
        ([task(annotations=[{"created_at": "then"}])], "task 0: annotations[0].created_at: "),
        ([task(box(control="label"))], "annotations[0].result[0]: from_name: 'label' is not m and"),
        ([task(box(control="m17"))], "annotations[0].result[0]: from_name: the program has no step 17"),
        ([task(box(control="m1"))], "count is computed"),
        ([task(box() | {"to_name": "image2"})], "to_name: 'image2' is not one of the task's 2 images"),
        ([task(box() | {"image_rotation": 90})], "annotations[0].result[0]: image_rotation: "),
        ([task(box(x="left"))], "annotations[0].result[0].x: "),
        ([task(box(x=95))], "annotations[0].result[0]: the box (0.95, 0.2, 1.25, 0.6) leaves"),
        ([task(box(rotation=5) | {"original_width": None})], "original_width: is missing"),
        ([task(data=PLAIN["data"] | {"program": "count(find[dog)"})], "task 0: data.program: column"),
        ([task(box(), data={"image0": "a.png"})], "data.program: is missing"),
        ([task(meta={"touchstone": "=1"})], "meta.touchstone: must be a mapping of fields; found '=1'"),
        ([task(box() | {"meta": "x"})], "annotations[0].result[0]: "),
        ([text_task(stretch(0, 3, "lost"), passage="won it")], "value.text: is 'lost', but 'won'"),
        ([text_task(stretch(0, 30), passage="won it")], "outside the passage"),
        ([text_task(stretch(3, 3), passage="won it")], "outside the passage"),
        ([text_task(stretch(3, 4), passage="won it")], "outside the passage"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path: Path, tasks: list[dict[str, Any]], message: str):
    with pytest.raises(BadFile) as error:
        read(tmp_path, *tasks)
    assert str(error.value).startswith(f"{tmp_path}/in.json:1: task ")
    assert message in str(error.value)


def test_more_than_ten_images_keep_their_order(tmp_path: Path) -> None:
    images = tuple(Image(name=f"p{n}.png", width=100, height=100) for n in range(11))
    write_label_studio([make_record("x", images=images)], tmp_path / "a.json")
    (back,) = read_label_studio(Source(tmp_path / "a.json"))
    assert [image.name for image in back.images] == [image.name for image in images]
