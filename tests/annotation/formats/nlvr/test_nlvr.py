"""NLVR drawings come with the boxes around their shapes as gold."""

import json
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from annotation.formats.images import ImageFolder
from annotation.formats.nlvr import read_nlvr
from annotation.formats.nlvr.nlvr import NOT_DRAWN, ORDERS
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.analysis.data import real_data
from tests.annotation.formats.records import picture

SQUARE = {"x_loc": 20, "y_loc": 30, "size": 10, "type": "square", "color": "Black"}
CIRCLE = {"x_loc": 70, "y_loc": 0, "size": 30, "type": "circle", "color": "Yellow"}


def example(**fields: Any) -> dict[str, Any]:
    values = {"identifier": "7-0", "sentence": "There is a circle.", "label": "true", "directory": "3"}
    return values | {"structured_rep": [[SQUARE], [], [CIRCLE]]} | fields


def written(folder: Path, *examples: dict[str, Any]) -> Path:
    path = folder / "dev.json"
    path.write_text("".join(json.dumps(example) + "\n" for example in examples))
    return path


def test_it_works(tmp_path: Path):
    (item,) = read_nlvr(Source(written(tmp_path, example())))
    assert (item.external_id, item.program, item.answer) == ("7-0-0", "find[object]", True)
    assert [(mark.id, mark.box) for mark in item.gold.layers[0].objects] == [
        ("s0-0", (0.05, 0.3, 0.075, 0.4)),  # 20 to 30 of 400 pixels across, 30 to 40 of 100 down
        ("s2-0", (0.925, 0.0, 1.0, 0.3)),  # 300 + 70 to 300 + 100, 0 to 30
    ]
    assert item.extra["nlvr"]["objects"]["s2-0"] == {"shape": "circle", "color": "Yellow", "size": 30}


def test_every_drawing_shows_the_boxes_in_another_order(tmp_path: Path):
    items = list(read_nlvr(Source(written(tmp_path, example())), drawings=range(6)))
    circles = [item.gold.layers[0].objects for item in items]
    slots = [next(int(mark.id[1]) for mark in objects if mark.box[3] == 0.3) for objects in circles]
    assert slots == [order.index(2) for order in ORDERS]
    assert [item.external_id for item in items] == [f"7-0-{number}" for number in range(6)]


def test_pictures_that_are_missing_or_of_another_size_are_told(tmp_path: Path):
    path, folder = written(tmp_path, example()), tmp_path / "images"
    folder.mkdir()
    with pytest.raises(BadFile, match=r"dev\.json:1: 7-0: none of its drawings"):
        list(read_nlvr(Source(path, images=ImageFolder(folder))))
    picture(folder / "3/dev-7-0-1.png", (400, 100))
    findings = Findings()
    (item,) = read_nlvr(Source(path, images=ImageFolder(folder), findings=findings), drawings=(0, 1))
    assert item.images[0].name == "3/dev-7-0-1.png"
    assert findings.count(NOT_DRAWN) == 1
    picture(folder / "3/dev-7-0-1.png", (100, 400))
    with pytest.raises(BadFile, match="has 100 × 400 pixels, not 400 × 100"):
        list(read_nlvr(Source(path, images=ImageFolder(folder)), drawings=(1,)))


@pytest.mark.parametrize(
    "lines, message",
    [
        ([example(), example()], ":2: identifier: '7-0' is already on line 1"),
        ([example(structured_rep=[[], []])], ":1: structured_rep[2]: is missing"),
        ([example(structured_rep=[[SQUARE | {"size": 0}], [], []])], ":1: structured_rep[0][0].size: "),
        ([example(structured_rep=[[SQUARE | {"x_loc": 101}], [], []])], ":1: structured_rep[0][0].x_loc: "),
        ([example(structured_rep=[[SQUARE | {"y_loc": 95}], [], []])], ":1: 7-0: the box (0.05, 0.95"),
        ([example(structured_rep=[[{"x_loc": 1}], [], []])], ":1: structured_rep[0][0].y_loc: is missing"),
        ([example(label="perhaps")], ":1: label: "),
        ([example(sentence=None)], ":1: sentence: "),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path: Path, lines: list[dict[str, Any]], message: str):
    path = written(tmp_path, *lines)
    with pytest.raises(BadFile) as error:
        list(read_nlvr(Source(path)))
    assert str(error.value).startswith(str(path) + message)


def test_the_released_drawings_have_their_shapes_where_the_gold_says():
    """The middle pixel of each box has the shape's colour.

    Boxes that another one covers are left out.
    """
    folder = ImageFolder(real_data("nlvr/images"))
    path, findings = real_data("nlvr/dev_sample.json"), Findings()
    items = list(read_nlvr(Source(path, images=folder, findings=findings), drawings=range(6)))
    assert len(items) == 500
    assert findings.count(NOT_DRAWN) == 6 * 300 - 500
    assert set(findings.repairs) == {NOT_DRAWN}
    colours = {"Yellow": (255, 255, 0), "Black": (0, 0, 0), "#0099ff": (0, 153, 255)}
    checked = 0
    for item in items[::10]:
        with PIL.Image.open(folder.root / item.images[0].name) as picture:
            pixels = picture.convert("RGB")
        boxes = item.gold.layers[0].objects
        for mark in boxes:
            x, y = (mark.box[0] + mark.box[2]) * 200, (mark.box[1] + mark.box[3]) * 50
            covering = [
                (left, top)
                for left, top, right, bottom in (other.box for other in boxes)
                if left * 400 - 2 < x < right * 400 + 2 and top * 100 - 2 < y < bottom * 100 + 2
            ]
            if len(covering) == 1:
                checked += 1
                look = item.extra["nlvr"]["objects"][mark.id]
                assert pixels.getpixel((int(x), int(y))) == colours[look["color"]]
    assert checked > 500


def test_all_released_examples_come_in():
    assert len(list(read_nlvr(Source(real_data("nlvr/dev.json"))))) == 989
