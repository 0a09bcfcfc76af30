"""Items of a file become examples.

Messages about malformed ones name line, item and field.
"""

import json

import numpy as np
import pytest

from modelserver.modular.visual.regions import Regions
from modelserver.modular.visual.scene_data import read_items
from modelserver.wire.errors import UnreadableData

REGIONS = {"a": Regions(np.array([[0, 0, 1, 1]], np.float32), np.ones((1, 4), np.float32))}
BOX = [0.1, 0.1, 0.5, 0.5]
ITEM = {
    "external_id": "x",
    "text": "There is a dog.",
    "program": "exist(find[dog])",
    "answer": True,
    "images": [{"name": "a.png"}, {"name": "a.png"}],
}


def gold(*objects, node=1):
    return {"gold": {"layers": {str(node): {"objects": list(objects)}}}}


def write(path, *items):
    path.write_text("".join(json.dumps({**ITEM, **item}) + "\n" for item in items))
    return path


def test_it_works(tmp_path):
    layers = {
        "0": {"value": True},
        "1": {"objects": [{"id": "s", "ref": "t"}]},
        "2": {"objects": [{"id": "t", "image": 1, "box": BOX}]},
        "3": {"objects": []},
    }
    program = "exist(intersect(filter[big](find[dog]), find[cat]))"
    layers = {"0": {"value": True}, "2": layers["1"], "3": layers["2"], "4": layers["3"]}
    path = write(tmp_path / "items.jsonl", {"program": program, "gold": {"layers": layers}})
    (example,) = read_items(path, REGIONS)
    assert (example.id, example.label, len(example.regions)) == ("x", True, 2)
    assert [[len(boxes) for boxes in example.gold[node]] for node in example.gold] == [[0, 1], [0, 1], [0, 0]]
    assert example.gold[2][1] == pytest.approx(np.array([BOX]))
    assert example.gold[4][0].shape == (0, 4)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"images": []}, "images: 0 are listed"),
        ({"images": [{"name": "a"}] * 3}, "images: 3 are listed"),
        ({"images": ["a.png"]}, "images.0: "),
        ({"images": [{"name": "b"}]}, "images: there are no region features of 'b'"),
        ({"answer": 1}, "answer: "),
        ({"text": None}, "text: "),
        ({"program": "exist(find[dog]"}, "program, column 6: the bracket"),
        ({"program": "find[dog]"}, "program: find gives boxes; a statement is true or false"),
        ({"program": "count(find[dog])"}, "program: count gives number"),
        ({"gold": []}, "gold: "),
        (gold(node=9), "gold.layers.9: the program has no node 9; its last is 1"),
        (gold({"id": "m", "image": 0, "box": BOX}, node=0), "gold.layers.0: exist gives truth, not boxes"),
        (gold({"id": "m", "ref": "m"}), "gold.layers.1.objects 'm': ref leads back to 'm'"),
        (gold({"id": "m", "ref": "n"}, {"id": "n", "ref": "m"}), "objects 'm': ref leads back to 'n'"),
        (gold({"id": "m", "ref": "n"}), "objects 'm': ref is 'n', which is not an id of any layer"),
        (gold({"id": "m", "image": 0}), "objects 'm': has neither a ref nor an image and a box"),
        (gold({"id": "m", "image": 7, "box": BOX}), "objects 'm': image is 7; the item has 2"),
        (gold({"id": "m", "image": 0, "box": [9, 9, 20, 20]}), "gold.layers.1.objects.0.box.0: "),
        (gold({"id": "m", "image": 0, "box": BOX[::-1]}), "box [0.5, 0.5, 0.1, 0.1] ends before it starts"),
        ({"external_id": "first"}, "external_id: line 1 has it already"),
    ],
)
def test_a_malformed_item_is_rejected_by_line_id_and_field(tmp_path, wrong, message):
    path = write(tmp_path / "items.jsonl", {"external_id": "first"}, wrong)
    with pytest.raises(UnreadableData) as caught:
        read_items(path, REGIONS)
    name = wrong.get("external_id", "x")
    assert str(caught.value).startswith(f"{path}, line 2: item '{name}': ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
