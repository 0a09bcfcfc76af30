"""Files of gold and outputs: content, and an error for each mistake."""

import json
from typing import Any

import numpy as np
import pytest

from analysis.faithfulness.boxes import score_boxes
from analysis.faithfulness.files import read_box_gold, read_box_outputs, read_span_gold, read_span_outputs
from analysis.io.errors import InputError

BOX = [0, 0, 0.5, 0.5]
GOLD: dict[str, Any] = {"id": "e", "modules": [{"index": 2, "module": "with_relation", "boxes": [[BOX], []]}]}
OUT = {
    "id": "e",
    "proposals": [[BOX], []],
    "modules": [{"index": 2, "module": "with-relation", "probabilities": [1]}],
}
SPANS = {"id": "q", "modules": [{"module": "find", "spans": [[0, 2]]}]}
ATTENTION = {"id": "q", "modules": [{"module": "find", "attention": [0.5, 0.5]}]}


def write(path, *lines):
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines), "utf-8")
    return path


def test_it_works(tmp_path):
    (gold,) = read_box_gold(write(tmp_path / "g.jsonl", GOLD, ""))
    assert (gold.id, gold.modules[0].index, gold.modules[0].module) == ("e", 2, "with-relation")
    assert [image.tolist() for image in gold.modules[0].boxes] == [[BOX], []]
    out = read_box_outputs(write(tmp_path / "o.jsonl", OUT))["e"]
    assert out.modules[0].module == gold.modules[0].module
    assert out.proposals[1].shape == (0, 4)
    (spans,) = read_span_gold(write(tmp_path / "s.jsonl", SPANS))
    assert spans.modules[0][1].tolist() == [[0, 2]]
    merged = {"id": "q", "modules": [{"module": "find", "attention": [[0, 1], [1, 0]]}]}
    assert read_span_outputs(write(tmp_path / "a.jsonl", merged))["q"].modules[0][1].shape == (2, 2)
    assert read_span_outputs(write(tmp_path / "a.jsonl", ATTENTION))["q"].modules[0][1].shape == (1, 2)


def test_gold_may_lack_boxes_and_files_may_hold_more(tmp_path):
    record = {**GOLD, "note": 1, "modules": [{"index": 0, "module": "count"}]}
    assert read_box_gold(write(tmp_path / "g.jsonl", record))[0].modules[0].boxes is None


def test_nodes_that_are_not_scored_need_nothing(tmp_path):
    count = {"index": 0, "module": "count"}
    gold = {**GOLD, "modules": [{**count, "boxes": []}, *GOLD["modules"]]}
    (example,) = read_box_gold(write(tmp_path / "g.jsonl", gold))
    outputs = read_box_outputs(write(tmp_path / "o.jsonl", {**OUT, "modules": [count, *OUT["modules"]]}))
    assert [node.index for node in outputs["e"].modules] == [2]
    assert score_boxes([example], outputs).table("per_example")["overall"].f1 == 1


def changed(value, change):
    """Return the value with one part replaced; dots separate the path."""
    copy = json.loads(json.dumps(value))
    path, new = change
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    holder = copy
    for part in way:
        holder = holder[part]
    holder[last] = new
    return copy


@pytest.mark.parametrize(
    "reader, good, change, field, problem",
    [
        (read_box_gold, GOLD, ("id", ""), "id", "at least 1 character"),
        (read_box_gold, GOLD, ("modules.0.index", -1), "modules.0.index", "greater than or equal to 0"),
        (read_box_gold, GOLD, ("modules.0.boxes.0.0", [0, 0, 1]), "modules.0.boxes.0.0.3", "is missing"),
        (read_box_gold, GOLD, ("modules.0.boxes.0.0.2", "x"), "modules.0.boxes.0.0.2", "valid number"),
        (read_box_gold, GOLD, ("modules.0.boxes.0.0.2", -1), "modules.0.boxes.0.0", "right and bottom"),
        (read_box_gold, GOLD, ("modules", GOLD["modules"] * 2), "modules.1.index", "node 2 is there twice"),
        (
            read_box_gold,
            GOLD,
            ("modules", [*GOLD["modules"], {"index": 0, "module": "find", "boxes": [[]]}]),
            "modules",
            "differ in their number of images",
        ),
        (read_box_outputs, OUT, ("modules.0.probabilities.0", 1.5), "modules.0.probabilities.0", "less than"),
        (
            read_box_outputs,
            OUT,
            ("modules.0.probabilities", []),
            "modules.0.probabilities",
            "0 probabilities for 1",
        ),
        (read_box_outputs, OUT, ("proposals", None), "proposals", "valid array"),
        (read_span_gold, SPANS, ("modules.0.spans.0", [2]), "modules.0.spans.0.1", "is missing"),
        (
            read_span_outputs,
            ATTENTION,
            ("modules.0.attention", [[1], [1, 0]]),
            "modules.0.attention",
            "same tokens",
        ),
    ],
)
def test_each_mistake_names_file_line_and_field(tmp_path, reader, good, change, field, problem):
    path = write(tmp_path / "x.jsonl", {**good, "id": "other"}, "", changed(good, change))
    with pytest.raises(InputError) as caught:
        reader(path)
    error = caught.value
    assert (error.path, error.where, error.field) == (path, "line 3", field)
    assert problem in error.problem
    assert "\n" not in str(error)


def test_files_that_are_no_such_files(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_box_gold(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="holds no example"):
        read_box_outputs(write(tmp_path / "empty.jsonl"))
    with pytest.raises(InputError, match=r"x.jsonl, line 1: Invalid JSON"):
        read_box_outputs(write(tmp_path / "x.jsonl", '{"id": '))
    with pytest.raises(InputError, match=r"line 2, column id: 'e' is already in line 1"):
        read_box_gold(write(tmp_path / "x.jsonl", GOLD, GOLD))
    with pytest.raises(InputError, match="released DROP module outputs"):
        read_span_gold(write(tmp_path / "x.json", {"p": {"qa_pairs": [{"query_id": "q"}]}}))


def test_boxes_are_exact(tmp_path):
    drawn = np.random.default_rng(1).random((5, 2))
    rows = np.concatenate([drawn / 2, drawn], axis=1).tolist()
    gold = changed(GOLD, ("modules.0.boxes.0", rows))
    assert read_box_gold(write(tmp_path / "g.jsonl", gold))[0].modules[0].boxes[0].tolist() == rows
