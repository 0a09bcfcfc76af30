"""Questions of GQA with scene graphs become items.

The items have programs and gold boxes.
"""

import json

import numpy as np
import pytest

from modelserver.__main__ import main
from modelserver.inputs.json_stream import read_entries
from modelserver.modular.visual import gqa
from modelserver.modular.visual.regions import Regions
from modelserver.modular.visual.scene_data import read_items
from modelserver.wire.errors import UnreadableData

CAR = {"name": "car", "x": 10, "y": 20, "w": 40, "h": 20, "attributes": ["red", "parked"], "relations": []}
OBJECTS = {
    "7": CAR,
    "8": {**CAR, "x": 60, "attributes": ["white"]},
    "9": {**CAR, "name": "truck", "y": 60, "w": 90, "attributes": []},  # past the edge of the image
    "10": {**CAR, "name": "sign", "h": 0},  # without area
}
GRAPHS = {"31": {"width": 100, "height": 100, "objects": OBJECTS, "location": "street"}}


def step(operation, argument, *dependencies):
    return {"operation": operation, "argument": argument, "dependencies": list(dependencies)}


def question(text, answer, *semantic, image="31"):
    return {
        "question": text, "answer": answer, "imageId": image, "semantic": list(semantic),
        "isBalanced": True, "types": {"detailed": "existAttrC"},
    }  # fmt: skip


RED_CARS = question(
    "Are there any red cars?", "yes",
    step("select", "cars (7)"), step("filter color", "red", 0), step("exist", "?", 1),
)  # fmt: skip
EITHER = question(
    "Are there either trucks or white cars?", "yes",
    step("select", "vehicle (9)"), step("exist", "?", 0),
    step("select", "car (-)"), step("filter color", "white", 2), step("exist", "?", 3), step("or", "", 1, 4),
)  # fmt: skip


@pytest.fixture
def convert(tmp_path, capsys):
    def run(questions, graphs=GRAPHS, *more):
        (tmp_path / "questions.json").write_text(json.dumps(questions))
        (tmp_path / "graphs.json").write_text(json.dumps(graphs))
        files = [
            "--questions",
            str(tmp_path / "questions.json"),
            "--scene-graphs",
            str(tmp_path / "graphs.json"),
        ]
        status = main(["gqa-items", *files, "--out", str(tmp_path / "items.jsonl"), *more])
        return status, tmp_path / "items.jsonl", capsys.readouterr().err

    return run


def test_it_works(convert):
    status, path, message = convert({"0701": RED_CARS, "0702": EITHER})
    assert status == 0
    assert message == f"{path}: 2 items\n"
    regions = {"31": Regions(np.zeros((1, 4), np.float32), np.zeros((1, 8), np.float32))}
    first, second = read_items(path, regions)
    assert (first.id, first.sentence, first.label) == ("0701", "Are there any red cars?", True)
    assert str(first.question.plan.program) == "exist(filter[red](find[cars]))"
    cars = [[0.1, 0.2, 0.5, 0.4], [0.6, 0.2, 1.0, 0.4]]
    assert first.gold[2][0].tolist() == [pytest.approx(box) for box in cars]
    assert first.gold[1][0].tolist() == [pytest.approx(cars[0])]
    assert str(second.question.plan.program) == "or(exist(find[vehicle]), exist(filter[white](find[car])))"
    assert second.gold[2][0].tolist() == [pytest.approx([0.1, 0.6, 1.0, 0.8])]  # named by its id alone
    assert len(second.gold[4][0]) == 1


def test_other_questions_are_counted_by_reason(convert):
    select = step("select", "car (7)")
    questions = {
        "place": question("?", "yes", select, step("filter hposition", "left", 0), step("exist", "?", 1)),
        "not": question("?", "yes", select, step("filter color", "not(red)", 0), step("exist", "?", 1)),
        "wrong": question("?", "no", select, step("exist", "?", 0)),
        "query": question("What is red?", "car", select, step("query", "name", 0)),
        "relate": question("?", "yes", select, step("relate", "truck,near,s (9)", 0), step("exist", "?", 1)),
        "later": question("?", "yes", step("exist", "?", 0)),
        "elsewhere": question("?", "yes", select, step("exist", "?", 0), image="32"),
    }
    status, path, messages = convert(questions)
    assert status == 0
    assert path.read_text() == ""
    counts = {
        line.partition(" questions left out: they ")[2]: line.split()[0] for line in messages.splitlines()
    }
    assert counts.items() >= {
        (gqa.OTHER_FILTERS, "2"), (gqa.CONTRADICTED, "1"), (gqa.OTHER_FORM, "3"), (gqa.NO_SCENE, "1")
    }  # fmt: skip


def test_attributes_of_visual_genome_are_read_with_the_sizes_of_its_images(convert, tmp_path):
    objects = [
        {**fields, "object_id": int(name), "names": [fields["name"]]} for name, fields in OBJECTS.items()
    ]
    sizes = tmp_path / "image_data.json"
    sizes.write_text(json.dumps([{"image_id": 31, "width": 100, "height": 100, "url": ""}]))
    graphs = [{"image_id": 31, "attributes": objects}]
    _, expected, _ = convert({"0701": RED_CARS, "0702": EITHER})
    text = expected.read_text()
    status, path, _ = convert({"0701": RED_CARS, "0702": EITHER}, graphs, "--image-data", str(sizes))
    assert (status, path.read_text()) == (0, text)
    status, _, message = convert({"0701": RED_CARS}, graphs)
    assert status == 1
    assert "name --image-data" in message
    sizes.write_text("[]")
    status, _, message = convert({"0701": RED_CARS}, graphs, "--image-data", str(sizes))
    assert "has no image 31" in message


@pytest.mark.parametrize(
    "questions, graphs, message",
    [
        ({"1": {"question": "?"}}, GRAPHS, "question 1: imageId"),
        ({"1": RED_CARS}, {"31": {"width": 1, "height": 1, "objects": {"7": {}}}}, "image 31: objects.7.x"),
        ([], 7, "expected an object or a list"),
    ],
)
def test_a_malformed_file_is_named_with_entry_and_field(convert, questions, graphs, message):
    status, path, output = convert(questions, graphs)
    assert status == 1
    assert message in output
    assert not path.exists()


def test_a_large_file_is_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.io.json_window.BLOCK", 3)
    values = {"f": 12.5, "a": [1, {"b": "é, }"}], "n": 12345, "e": {}}  # the first is cut before its point
    for whole in (values, list(values.values()), {}, []):
        (tmp_path / "file.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False), encoding="utf-8")
        read = dict(read_entries(tmp_path / "file.json"))
        expected = whole if isinstance(whole, dict) else {str(n): v for n, v in enumerate(whole, 1)}
        assert read == expected
    for text in ('{"a": 1', '{"a" 1}', '{"a": [1, 2}', ""):
        (tmp_path / "file.json").write_text(text)
        with pytest.raises(UnreadableData, match=r"file\.json: not JSON"):
            list(read_entries(tmp_path / "file.json"))
