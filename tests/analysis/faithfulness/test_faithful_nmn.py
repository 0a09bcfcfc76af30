"""Reading the released box CSV: usable examples, repairs, known counts."""

import csv
import json
from collections import Counter
from functools import cache

import numpy as np
import pytest

from analysis.faithfulness.boxes import score_boxes
from analysis.faithfulness.examples import OutputExample, OutputModule
from analysis.faithfulness.faithful_nmn import read_faithful_nmn
from analysis.faithfulness.reference import change
from analysis.io.errors import InputError
from tests.analysis.data import real_data

PROGRAM = "exist\n.filter[1]\n..in_left_image\n...find[2]"
TOKENS = "{0: 'a', 1: 'black', 2: 'dog'}"
WHOLE = {"left": "0.0", "top": "0.0", "width": "0.5", "height": "0.5"}
OTHER = {"left": "0.5", "top": "0.5", "width": "0.501", "height": "0.25"}
FIND, FILTER = "find[dog]", "filter[black]"


def write(tmp_path, rows, programs=((PROGRAM, TOKENS),)):
    """Write rows of (flag, id, node, module, cell), and programs.

    A cell that is not text is written as JSON.
    """
    with (tmp_path / "boxes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["Incorrect program", "Example No.", "identifier", "module_identifier", "module", "annotation"]
        )
        for flag, id, node, module, cell in rows:
            text = cell if isinstance(cell, str) else json.dumps(cell)
            writer.writerow([flag, 7, id, node and f"q7-{node}", module, text])
    with (tmp_path / "programs.tsv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["sentence", "annotation", "tokens", "all", "simple_count"])
        table.writerows([f"Sentence {n}", *program, 1, 0] for n, program in enumerate(programs))
    return tmp_path / "boxes.csv", tmp_path / "programs.tsv"


def rows_of(id="e", flag="", find=(WHOLE,), filtered=(WHOLE,)):
    return [
        (flag, id, "m3-0", FIND, list(find)),
        (flag, id, "m3-1", FIND, [WHOLE]),
        (flag, id, "m1-0", FILTER, list(filtered)),
        (flag, id, "m1-1", FILTER, [WHOLE]),
    ]


def drawn(examples):
    """Return the number of boxes by module."""
    counts: Counter[str] = Counter()
    for example in examples:
        for node in example.modules:
            counts[node.module] += sum(map(len, node.boxes or ()))
    return dict(counts)


def test_it_works(tmp_path):
    reading = read_faithful_nmn(*write(tmp_path, rows_of()))
    (example,) = reading.examples
    assert [(node.index, node.module) for node in example.modules] == [
        (1, "filter"),
        (2, "in-left-image"),
        (3, "find"),
    ]
    assert [image.tolist() for image in example.modules[2].boxes] == [[[0, 0, 0.5, 0.5]]] * 2
    assert reading.notes == {}
    (changed,) = change(reading.examples)
    assert [len(image) for image in changed.modules[0].boxes] == [1, 0]  # the left image is chosen


def test_repairs_are_made_and_told(tmp_path):
    rows = rows_of(find=[WHOLE, WHOLE, OTHER, {**WHOLE, "width": "0"}], filtered=[])
    rows[2] = ("", "e", "m1-0", FILTER, WHOLE)  # an object in place of a list
    rows += [("", "e", "m1-1", FILTER, ""), ("", "", "", "", "")]
    files = write(tmp_path, rows)
    reading = read_faithful_nmn(*files)
    filtered, _, find = reading.examples[0].modules
    assert find.boxes[0].tolist() == [[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 0.75]]
    assert [len(image) for image in filtered.boxes] == [1, 0]
    assert reading.notes == {
        "boxes clipped to the image": 1,
        "boxes without area dropped": 1,
        "boxes given twice dropped": 1,
        "cells with an object in place of a list": 1,
        "repeated cells: the last counts": 1,
        "rows without a module skipped": 1,
    }
    raw = read_faithful_nmn(*files, as_released=True)
    assert [len(image) for image in raw.examples[0].modules[2].boxes] == [4, 1]
    assert [len(image) for image in raw.examples[0].modules[0].boxes] == [0, 0]


def test_what_is_left_out_and_why(tmp_path):
    rows = [
        *rows_of("good"),
        *rows_of("flagged"),
        *rows_of("remark", "1 (odd)"),
        ("1", "flagged", "m3-0", FIND, ""),
    ]
    rows += [("", "other", "m1-0", "find[cat]", "")]
    reading = read_faithful_nmn(*write(tmp_path, rows))
    assert [example.id for example in reading.examples] == ["good", "remark"]
    assert reading.notes["examples left out: flagged as having a wrong program"] == 1
    assert reading.notes["examples left out: no program fits the annotated lines"] == 1


@pytest.mark.parametrize(
    "other, reason",
    [
        (PROGRAM.replace("left", "right"), "programs that fit differ in the images they choose"),
        (PROGRAM.replace("exist", "union"), "a program that fits does not type-check"),
        (PROGRAM, ""),
    ],
)
def test_programs_that_fit_alike(tmp_path, other, reason):
    files = write(tmp_path, rows_of(), [(PROGRAM, TOKENS), (other, TOKENS.replace("'", ""))])
    reading = read_faithful_nmn(*files)
    assert len(reading.examples) == (not reason)
    assert list(reading.notes) == ([f"examples left out: {reason}"] if reason else [])


@pytest.mark.parametrize(
    "row, field, problem",
    [
        (("", "e", "n3-0", FIND, ""), "module_identifier", "is not of the form q1-m2-0"),
        (("", "e", "m3-0", FIND, "[{"), "annotation", "is not JSON"),
        (
            ("", "e", "m3-0", FIND, [{"left": "0"}]),
            "annotation",
            "must be an object with left, top, width, height",
        ),
        (("", "e", "m3-0", FIND, [{**WHOLE, "top": "high"}]), "annotation", "in numbers"),
        (("", "e", "m3-0", FIND, [{**WHOLE, "top": "nan"}]), "annotation", "finite"),
    ],
)
def test_each_mistake_names_file_line_and_field(tmp_path, row, field, problem):
    with pytest.raises(InputError, match=problem) as caught:
        read_faithful_nmn(*write(tmp_path, [*rows_of(), row]))
    assert (caught.value.path.name, caught.value.where, caught.value.field) == ("boxes.csv", "line 6", field)


def test_a_file_of_another_form(tmp_path):
    boxes, programs = write(tmp_path, rows_of())
    with pytest.raises(InputError, match=r"programs.tsv, Incorrect program: the column is missing"):
        read_faithful_nmn(programs, programs)
    with pytest.raises(InputError, match=r"boxes.csv, sentence: the column is missing"):
        read_faithful_nmn(boxes, boxes)
    with pytest.raises(InputError, match="there is no such file"):
        read_faithful_nmn(tmp_path / "none.csv", programs)


@cache
def released(split, **options):
    return read_faithful_nmn(
        real_data(f"faithful_nmn/nlvr2_{split}_box_annotations.csv"),
        real_data("faithful_nmn/all_annotations_round4.tsv"),
        **options,
    )


def test_the_released_test_file():
    """536 examples; boxes before and after the changes of the released code."""
    ids = json.loads(real_data("faithful_nmn/test_box_ids_536.json").read_text("utf-8"))
    before, raw = released("test", as_released=False), released("test", as_released=True)
    assert {example.id for example in before.examples} == {example.id for example in raw.examples} == set(ids)
    assert len(before.examples) == 536
    nothing = {"count": 0} | {name: 0 for name in drawn(before.examples) if name.startswith("in-")}
    assert drawn(before.examples) == {
        "find": 4841, "filter": 1703, "with-relation": 943, "project": 456, **nothing,
    }  # fmt: skip
    changed = drawn(change(raw.examples))
    scored = {name: count for name, count in changed.items() if not name.startswith("in-")}
    assert scored == {"find": 4841, "filter": 1508, "with-relation": 852, "project": 354, "count": 0}
    # Two cells hold an object: one box each for us, none for the released code.
    assert drawn(raw.examples)["filter"] == 1701


def test_the_released_development_file():
    assert len(released("dev").examples) == 151


@pytest.mark.parametrize("reference", [False, True])
def test_gold_given_as_proposals_scores_1(reference):
    gold = released("test", as_released=reference).examples
    gold = change(gold) if reference else gold
    outputs = [perfect(example) for example in gold[:60]]
    scores = score_boxes(gold, outputs, reference=reference, partial=True)
    assert all(score.f1 == 1 for score in scores.table("per_example").values())
    assert len(scores.examples) == 60


def perfect(example):
    """Return outputs whose proposals are all gold boxes of the example.

    Each node predicts its own boxes.
    """
    nodes = [node for node in example.modules if node.boxes is not None]
    proposals = tuple(np.concatenate([node.boxes[image] for node in nodes]) for image in (0, 1))
    outputs = []
    for node in nodes:
        pairs = zip(proposals, node.boxes, strict=True)
        matches = [(image[:, None] == drawn[None]).all(axis=2).any(axis=1) for image, drawn in pairs]
        outputs.append(OutputModule(node.index, node.module, np.concatenate(matches).astype(float)))
    return OutputExample(example.id, proposals, tuple(outputs))
