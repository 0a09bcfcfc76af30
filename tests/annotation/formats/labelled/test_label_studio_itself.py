"""Files that Label Studio itself exported, after it had imported ours.

Label Studio 1.23.2 was started from its package. Over its API it got projects with the configurations of
`build_labelling_config` and tasks that our writer made for `TEXTS` and `IMAGES`; the files are its exports of
them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.content.labels import read_label_task
from annotation.content.schemas import Document, Kind, Relation
from annotation.formats.labelled.documents import list_boxes
from foundation.imports.findings import Findings
from tests.annotation.formats.labelled.plain_items import read, spans_of

FILES = Path(__file__).parents[3] / "fixtures" / "label-studio-1.23"
TEXTS = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place]
    questions:
      - {type: choice, name: Certainty, labels: [sure, unsure]}
      - {type: rating, name: Fame, required: false}
      - {type: text, name: Why, required: false}
  - {type: relations, name: Links, labels: [lives in, knows]}
  - {type: choice, name: Topic, labels: [Science, Sport]}
  - {type: choices, name: Tone, labels: [calm, funny, grave], required: false}
  - {type: rating, name: Quality}
  - {type: text, name: Comment, required: false}
"""
IMAGES = """
layers:
  - type: boxes
    name: Boxes
    labels: [Dog, Cat]
    questions: [{type: choices, name: Seen, labels: [head, tail]}]
  - {type: polygons, name: Outlines, labels: [Lake]}
  - {type: ellipses, name: Rings, labels: [Ball]}
  - {type: points, name: Points, labels: [Nose, Ear]}
  - {type: choice, name: Light, labels: [day, night]}
"""


def gold(name: str, task: str, kind: Kind) -> Document:
    findings = Findings()
    [record] = read("labelstudio", FILES / name, task=read_label_task(task), kind=kind, findings=findings)
    assert not findings.repairs
    assert record.gold is not None
    return record.gold


def values(document: Document, node: int) -> list[Any]:
    return [answer.value for answer in document.layers[node].objects if hasattr(answer, "value")]


def test_texts_come_back() -> None:
    document = gold("texts.json", TEXTS, "spans")
    marks: list[Any] = list(document.layers[1].objects)
    assert [(mark.id, mark.span, mark.quote, mark.label, mark.answers) for mark in marks] == [
        ("a", (0, 3), "Ada", "Person", {"Certainty": ("sure",), "Fame": (4,), "Why": ("A name.",)}),
        ("b", (15, 21), "London", "Place", {"Certainty": ("unsure",)}),
        ("c", (29, 31), "Bo", "Person", {"Certainty": ("sure",)}),
    ]
    links = [relation for relation in document.layers[2].objects if isinstance(relation, Relation)]
    assert [(relation.ends, relation.label) for relation in links] == [
        (("a", "b"), "lives in"),
        (("c", "a"), "knows"),
    ]
    assert [values(document, node) for node in range(3, 7)] == [
        ["Science"], ["calm", "grave"], [3], ["Two lines,\none comment."],
    ]  # fmt: skip


def test_images_come_back() -> None:
    document = gold("images.json", IMAGES, "boxes")
    marks: list[Any] = [mark for node in range(1, 5) for mark in document.layers[node].objects]
    assert [(type(mark).__name__, mark.label) for mark in marks] == [
        ("Box", "Dog"), ("Polygon", "Lake"), ("Ellipse", "Ball"), ("KeyPoint", "Nose"),
    ]  # fmt: skip
    box, polygon, ellipse, point = marks
    assert (box.box, box.answers) == (pytest.approx((0.1, 0.2, 0.5, 0.9)), {"Seen": ("head", "tail")})
    assert polygon.polygon == ((0.1, 0.1), (0.4, 0.15), (0.3, 0.6))
    assert ellipse.box == pytest.approx((0.5, 0.5, 0.7, 0.8))
    assert point.point == (0.25, 0.75)
    assert values(document, 5) == ["day"]


def test_its_conll_and_voc_files_are_read() -> None:
    [text] = read("conll", FILES / "texts.conll")
    assert [(quote, label) for _layer, _span, quote, label in spans_of(text, text.gold)] == [
        ("Ada", "Person"), ("London.", "Place"), ("Bo", "Person"),
    ]  # fmt: skip
    [image] = read("voc", FILES / "dog.xml", kind="boxes")
    assert image.gold is not None
    [(_layer, box)] = list_boxes(image, image.gold)
    assert box.label == "Dog"
    assert box.box == pytest.approx((0.1, 0.2, 0.5, 0.9), abs=0.0101)  # a pixel
