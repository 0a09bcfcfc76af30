"""Gold stays equal as random texts and images go through each format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.content.labels import LabelTask
from annotation.content.schemas import ItemRecord
from annotation.formats.labelled import LABELLED_READERS, LABELLED_WRITERS
from annotation.formats.labelled.documents import list_boxes
from annotation.formats.labelled.losses import EMPTY_ITEMS, LOSSES
from annotation.formats.registry import PLAIN_WRITERS
from foundation.imports.findings import Findings
from tests.annotation.formats.labelled.plain_items import (
    WORDS,
    boxes_of,
    classes_of,
    image_items,
    image_task,
    read,
    spans_of,
    text_items,
    text_task,
    tokens_of,
    written,
)

hurry = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS: dict[str, dict[str, Any]] = {
    "labelstudio": {"people": True},
    "prodigy": {"people": True},
    "doccano": {},
    "brat": {"classes": 0, "people": True},
    "w3c": {"people": True},
    "webanno": {"classes": 0, "whole_tokens": True},
}
IMAGES = ("labelstudio", "prodigy", "coco", "yolo", "voc", "cvat", "w3c")
HOLDS_PEOPLE = {"labelstudio", "prodigy", "brat", "w3c"}


def several(strategy: Callable[[str], st.SearchStrategy[ItemRecord]]) -> st.SearchStrategy[list[ItemRecord]]:
    return st.tuples(strategy("one"), strategy("two")).map(list)


def test_each_format_is_read_and_written_and_says_what_it_holds() -> None:
    assert LABELLED_READERS.keys() == LABELLED_WRITERS.keys()
    assert LOSSES.keys() == PLAIN_WRITERS.keys()


@pytest.mark.parametrize("name", TEXTS)
@hurry
@given(st.data())
def test_texts_come_back_with_equal_gold(tmp_path: Path, name: str, data: st.DataObject) -> None:
    options = TEXTS[name]
    items = data.draw(several(lambda key: text_items(name=key, **options)))
    path, findings = written(name, items, tmp_path, lost := Findings()), Findings()
    if lost.count(EMPTY_ITEMS) == len(items):
        return
    back = {item.external_id: item for item in read(name, path, task=text_task(), findings=findings)}
    assert not findings.repairs
    for item in items:
        again = back.get(item.external_id)
        if again is None:  # a page of annotations has no item without any
            assert lost.count(EMPTY_ITEMS)
            assert not any(
                spans_of(item, document) or classes_of(item, document) for document in documents(item)
            )
            continue
        if name != "webanno":
            assert again.passage == item.passage
        assert spans_of(again, again.gold) == spans_of(item, item.gold)
        assert classes_of(again, again.gold) == classes_of(item, item.gold)
        if name in HOLDS_PEOPLE:
            assert people(again) == people(item, empty=name != "w3c")


def documents(item: ItemRecord) -> list[Any]:
    return [item.gold, *(annotation.document for annotation in item.annotations)]


def people(item: ItemRecord, *, empty: bool = True) -> dict[str, Any]:
    by_name = {
        annotation.annotator: (spans_of(item, annotation.document), classes_of(item, annotation.document))
        for annotation in item.annotations
    }
    return {name: content for name, content in by_name.items() if empty or any(content)}


@hurry
@given(several(lambda key: text_items(name=key, classes=0, labels=WORDS, whole_tokens=True, apart=True)))
def test_words_and_tags_come_back(tmp_path: Path, items: list[ItemRecord]) -> None:
    back = read("conll", written("conll", items, tmp_path), task=text_task(WORDS))
    assert [tokens_of(item, item.gold) for item in back] == [tokens_of(item, item.gold) for item in items]
    assert [item.external_id for item in back] == ["one", "two"]


@hurry
@given(several(lambda key: text_items(name=key, classes=1, whole_tokens=True)))
def test_rationales_come_back(tmp_path: Path, items: list[ItemRecord]) -> None:
    back = read("eraser", written("eraser", items, tmp_path), task=text_task())
    for item, again in zip(items, back, strict=True):
        assert tokens_of(again, again.gold) == tokens_of(item, item.gold)
        assert classes_of(again, again.gold) == classes_of(item, item.gold)


@pytest.mark.parametrize("name", IMAGES)
@hurry
@given(st.data())
def test_boxes_come_back(tmp_path: Path, name: str, data: st.DataObject) -> None:
    items = data.draw(st.tuples(image_items(name="a/ü 1.png"), image_items(name="b.jpg")))
    path = written(name, items, tmp_path, lost := Findings())
    if lost.count(EMPTY_ITEMS) == len(items):
        return
    back = {item.external_id: item for item in read(name, path, task=image_task(), kind="boxes")}
    for item in items:
        if name == "w3c" and item.external_id not in back:
            assert not boxes_of(item, item.gold)
            continue
        again = back[item.external_id]
        assert [image.name for image in again.images] == [image.name for image in item.images]
        assert len(boxes_of(again, again.gold)) == len(boxes_of(item, item.gold))
        drawn, redrawn = (
            {box.label: box.box for _layer, box in list_boxes(record, record.gold)}
            for record in (item, again)
        )
        for label, edges in drawn.items():
            assert redrawn[label] == pytest.approx(edges, abs=1e-5)


@hurry
@given(text_items(people=True))
def test_label_studio_loses_nothing(tmp_path: Path, item: ItemRecord) -> None:
    findings = Findings()
    [again] = read("labelstudio", written("labelstudio", [item], tmp_path, findings))
    assert again == item
    assert not findings.repairs


@pytest.mark.parametrize("name", ["labelstudio", "doccano", "prodigy", "w3c", "brat", "webanno"])
@hurry
@given(text_items(classes=0, whole_tokens=True, labels=("Person", "Place")))
def test_without_a_task_the_labels_are_those_of_the_file(tmp_path: Path, name: str, item: ItemRecord) -> None:
    drawn = spans_of(item, item.gold)
    if not drawn:
        return
    [again] = read(name, written(name, [item], tmp_path))
    [layer, *_rest] = LabelTask.model_validate_json(again.program).layers
    assert {label for *_place, label in drawn} <= set(layer.names)
    assert layer.name == ("SpanEntities" if name == "webanno" else "Entities")
    assert [mark[1:] for mark in spans_of(again, again.gold)] == [mark[1:] for mark in drawn]
