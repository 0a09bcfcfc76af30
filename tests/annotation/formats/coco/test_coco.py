"""Our COCO files come back whole.

Those of others keep their IDs and what else they hold.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.actions.data import import_items
from annotation.content.schemas import ItemRecord
from annotation.formats.boxes import NO_AREA, PAST_THE_EDGE
from annotation.formats.coco import read_coco, reader, write_coco
from annotation.formats.images import ImageFolder
from annotation.formats.source import Source
from foundation.errors import BadFile, TouchstoneError
from foundation.imports.findings import Findings
from tests.annotation.factories import make_project
from tests.annotation.formats.closeness import close, same
from tests.annotation.formats.records import box_item, box_items, picture, span_item, unhurried


def again(folder: Path, items: list[ItemRecord]) -> list[ItemRecord]:
    write_coco(items, folder / "coco.json")
    return list(read_coco(Source(folder / "coco.json")))


def test_it_works(tmp_path: Path):
    items = [box_item(), box_item("other")]
    returned = again(tmp_path, items)
    assert len(returned) == 2
    assert all(map(same, returned, items))


@unhurried
@given(box_items())
def test_any_boxes_come_back(tmp_path_factory: pytest.TempPathFactory, item: ItemRecord):
    (returned,) = again(tmp_path_factory.mktemp("coco"), [item])
    for mark, expected in zip(returned.gold.layers[2].objects, item.gold.layers[2].objects, strict=True):
        assert mark.box == pytest.approx(expected.box, abs=1e-6)
    assert returned.gold.layers[4] == item.gold.layers[4]
    assert (returned.text, returned.images, returned.answer) == (item.text, item.images, item.answer)


def test_boxes_are_in_pixels_of_the_image_as_shown(tmp_path: Path):
    write_coco([box_item()], tmp_path / "coco.json")
    content = json.loads((tmp_path / "coco.json").read_text())
    assert content["images"][0] == {
        "id": 1, "file_name": "pairs/left.png", "width": 64, "height": 48, "item": "dogs-1",
    }  # fmt: skip
    first = content["annotations"][0]
    assert first["bbox"] == pytest.approx([6.4, 9.6, 12.8, 33.6])  # of 64 by 48
    assert first["area"] == pytest.approx(12.8 * 33.6)
    assert [category["name"] for category in content["categories"]] == ["find “dogs”", "filter “black”"]
    assert len(content["annotations"]) == 4  # the gold alone: what people drew is in works
    ids = [row["id"] for row in content["annotations"]]
    ids += [row["id"] for annotation in content["works"] for row in annotation["annotations"]]
    assert len(ids) == len(set(ids)) == 8


# --- files of others ---------------------------------------------------------------------------------


def outline(number: int, category: int = 90, image: int = 1000, **fields: Any) -> dict[str, Any]:
    values = {"id": number, "image_id": image, "category_id": category, "iscrowd": 0}
    return (
        values | {"bbox": [10.5, 20.25, 30, 10], "area": 123.5, "segmentation": [[1, 2, 3, 4, 5, 6]]} | fields
    )


def image(
    number: int = 1000, name: str = "a.jpg", width: int = 100, height: int = 50, **more: Any
) -> dict[str, Any]:
    return {"id": number, "file_name": name, "width": width, "height": height, **more}


def others(*outlines: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {
        "info": {"year": 2026},
        "images": [image(license=3)],
        "annotations": list(outlines),
        "categories": [
            {"id": 90, "name": "tooth brush", "supercategory": "indoor"}, {"id": 3, "name": "car [old]"},
        ],
    } | parts  # fmt: skip


def read(folder: Path, content: Any, findings: Findings | None = None, **options: Any) -> list[ItemRecord]:
    (folder / "in.json").write_text(json.dumps(content))
    return list(read_coco(Source(folder / "in.json", findings=findings or Findings(), **options)))


def test_an_image_of_others_becomes_a_program_over_its_categories(tmp_path: Path):
    findings = Findings()
    (item,) = read(tmp_path, others(outline(7), outline(8, 3, bbox=[0, 0, 100, 50])), findings)
    assert item.program == "and(exist(find[tooth brush]), exist(find[car \\[old\\]]))"
    assert item.external_id == "a.jpg"
    (brush,), (car,) = item.gold.layers[2].objects, item.gold.layers[4].objects
    assert brush.box == (0.105, 0.405, 0.405, 0.605)
    assert car.box == (0, 0, 1, 1)
    assert findings.count(reader.OUTLINE) == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "parts",
    [{"categories": [{"id": 90, "name": "cat \ud83d"}]}, {"images": [image(name="a\ud83d.jpg")]}],
    ids=["category", "image"],
)
def test_half_a_surrogate_pair_is_one_sentence(tmp_path: Path, parts: dict[str, Any]):
    project = make_project()
    (tmp_path / "in.json").write_text(json.dumps(others(outline(7, bbox=[1, 1, 2, 2]), **parts)))
    with pytest.raises(TouchstoneError, match="half of a surrogate pair") as refused:
        import_items(project=project, records=read_coco(Source(tmp_path / "in.json")))
    assert "\n" not in str(refused.value)
    assert not project.items.exists()


def test_one_category_is_looked_for_alone_and_none_has_no_program(tmp_path: Path):
    findings = Findings()
    images = [image(number, f"{number}.jpg", 9, 9) for number in (1000, 1001)]
    marked, unmarked = read(tmp_path, others(outline(7, bbox=[1, 1, 2, 2]), images=images), findings)
    assert (marked.program, unmarked.program, unmarked.gold) == ("find[tooth brush]", "", None)
    assert findings.count(reader.NO_CATEGORY) == 1


def test_ids_and_what_else_there_is_go_out_again(tmp_path: Path):
    content = others(outline(7, 3), outline(900, 90, score=0.5, bbox=[1, 2, 3.33, 4.1]))
    del content["info"]
    items = read(tmp_path, content)
    write_coco(items, tmp_path / "out.json")
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["annotations"] == content["annotations"]
    assert out["images"] == content["images"]
    assert sorted(out["categories"], key=lambda category: -category["id"]) == content["categories"]
    assert "items" not in out


def test_a_box_that_was_moved_loses_its_outline_but_keeps_its_id(tmp_path: Path):
    (item,) = read(tmp_path, others(outline(7)))
    layer = item.gold.layers[0]
    moved = layer.objects[0].model_copy(update={"box": (0.1, 0.2, 0.3, 0.4)})
    gold = item.gold.model_copy(update={"layers": {0: layer.model_copy(update={"objects": (moved,)})}})
    write_coco([item.model_copy(update={"gold": gold})], tmp_path / "out.json")
    (out,) = json.loads((tmp_path / "out.json").read_text())["annotations"]
    assert (out["id"], out["bbox"]) == (7, [10, 10, 20, 10])
    assert out["area"] == 200
    assert "segmentation" not in out


@unhurried
@given(
    st.integers(1, 5000), st.integers(1, 5000),
    st.lists(st.tuples(*[st.integers(0, 10**6)] * 4), min_size=1, max_size=4),
)  # fmt: skip
def test_boxes_of_others_go_out_as_they_came(
    tmp_path_factory: pytest.TempPathFactory, width: int, height: int, corners: list[tuple[int, ...]]
):
    """Pixels with up to two decimals, as COCO's own."""
    folder = tmp_path_factory.mktemp("coco")
    outlines: list[dict[str, Any]] = []
    for x, y, w, h in corners:
        left, top = x % (100 * width), y % (100 * height)
        bbox = [
            left / 100,
            top / 100,
            (w % (100 * width - left) + 1) / 100,
            (h % (100 * height - top) + 1) / 100,
        ]
        outlines.append(outline(len(outlines), bbox=bbox))
    images = [{"id": 1000, "file_name": "a.jpg", "width": width, "height": height}]
    items = read(folder, others(*outlines, images=images))
    write_coco(items, folder / "out.json")
    assert json.loads((folder / "out.json").read_text())["annotations"] == outlines


def test_work_of_people_on_an_image_of_others_comes_back(tmp_path: Path):
    (item,) = read(tmp_path, others(outline(7)))
    annotation = box_item().annotations[0].model_copy(update={"document": item.gold})
    item = item.model_copy(update={"annotations": (annotation,)})
    (returned,) = again(tmp_path, [item])
    assert close(returned.annotations[0].model_dump(mode="json"), annotation.model_dump(mode="json"))
    assert returned.extra == item.extra


def test_ids_that_clash_are_given_anew(tmp_path: Path):
    first = read(tmp_path, others(outline(7)))
    second = read(tmp_path, others(outline(7), images=[image(name="b.jpg")]))
    write_coco(first + second, tmp_path / "out.json")
    returned = list(read_coco(Source(tmp_path / "out.json")))
    assert [item.external_id for item in returned] == ["a.jpg", "b.jpg"]
    out = json.loads((tmp_path / "out.json").read_text())
    assert [row["id"] for row in out["annotations"]] == [7, 8]
    assert [row["id"] for row in out["images"]] == [1000, 1001]


def test_sizes_must_be_those_that_are_shown(tmp_path: Path):
    folder = ImageFolder(tmp_path)
    picture(tmp_path / "a.jpg", (100, 50))
    (item,) = read(tmp_path, others(outline(7)), images=folder)
    assert item.images[0].width == 100
    picture(tmp_path / "a.jpg", (100, 50), orientation=6)
    with pytest.raises(BadFile, match=r"'a\.jpg' is shown with 50 by 100 pixels, not 100 by 50; .* EXIF"):
        read(tmp_path, others(outline(7)), images=folder)


def test_boxes_at_the_edge_are_repaired(tmp_path: Path):
    findings = Findings()
    (item,) = read(
        tmp_path, others(outline(1, bbox=[-0.5, 0, 10, 50.2]), outline(2, bbox=[1, 1, 0, 4])), findings
    )
    assert item.gold.layers[0].objects[0].box == (0, 0, 0.095, 1)
    assert (findings.count(PAST_THE_EDGE), findings.count(NO_AREA)) == (1, 1)


def test_what_the_format_cannot_hold_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="game-1: COCO files hold boxes in images only"):
        write_coco([span_item()], tmp_path / "out.json")
    with pytest.raises(ValueError, match=r"dogs-1: the size of 'a\.png' is not known"):
        write_coco([box_item(images=[{"name": "a.png"}] * 2)], tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


OUT = outline(1)


@pytest.mark.parametrize(
    "content, message",
    [
        ([], "must be a mapping of fields"),
        ({"annotations": []}, "images: is missing"),
        (others(images=[image(width=0)]), "images[0].width: "),
        (others(OUT, images=[image(), image()]), "images[1].id: 1000 came"),
        (others(images=[image(1), image(2)]), "images[1].file_name: 'a.jpg' is already on line 1"),
        (others(categories=[{"id": 1, "name": "a"}] * 2), "categories[1].id: 1 came before"),
        (others(OUT | {"image_id": 4}), "annotations[0].image_id: there is no image 4"),
        (others(OUT | {"category_id": 4}), "annotations[0].category_id: there is no category 4"),
        (others(OUT | {"bbox": [1, 2, 3]}), "annotations[0].bbox[3]: is missing"),
        (others(OUT | {"bbox": None}), "annotations[0].bbox: "),
        (others(OUT, OUT | {"bbox": [90, 0, 30, 10]}), "annotations[1].bbox: the box (0.9, 0, 1.2"),
        (others(images=[image(item="x")]), "images[0].item: there is no item"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path: Path, content: Any, message: str):
    with pytest.raises(BadFile) as error:
        read(tmp_path, content)
    assert str(error.value).startswith(f"{tmp_path}/in.json:1: ")
    assert message in str(error.value)


def test_what_is_no_json_is_told_with_its_line(tmp_path: Path):
    (tmp_path / "in.json").write_text('{"images":\n[}')
    with pytest.raises(BadFile, match=r"in\.json:2: not JSON"):
        list(read_coco(Source(tmp_path / "in.json")))
    with pytest.raises(BadFile, match="there is no such file"):
        list(read_coco(Source(tmp_path / "none.json")))
