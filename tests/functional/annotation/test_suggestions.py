"""Suggestions of models in a real browser.

Annotators accept, change or reject each by one key.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation.actions.outputs import import_outputs
from annotation.content.schemas import SystemRecord
from annotation.models import Annotation, Project
from tests.functional.annotation.conftest import PHONE, Editor
from tests.functional.annotation.items import DOGS, FIND_DOGS
from tests.functional.annotation.steps import reload, saved
from tests.functional.annotation.test_editor import OUTPUT
from tests.functional.annotation.test_plain_tasks import ENTITIES, TOPIC, look, make, word

pytestmark = pytest.mark.service

MARKS = {
    ENTITIES: [
        {"id": "a", "label": "Person", "span": [0, 12], "tokens": [0, 2], "quote": "Ada Lovelace"},
        {"id": "b", "label": "Place", "span": [17, 32], "tokens": [3, 5], "quote": "Charles Babbage"},
        {"id": "c", "label": "Place", "span": [13, 16], "tokens": [2, 3], "quote": "met"},
    ],
    TOPIC: [{"id": "d", "value": "Sport"}],
}


def suggested(editor: Editor) -> int:
    [pk] = make(editor)
    Project.objects.update(show_predictions=True)
    record = SystemRecord.model_validate({"id": "item", "marks": MARKS})
    import_outputs(records=[record], project=Project.objects.get(), system="reader", revision="1")
    return pk


def test_each_suggestion_is_decided_by_one_key(editor: Editor, page: Page) -> None:
    pk = suggested(editor)
    editor.open(page, pk)
    expect(page.locator(".suggestion")).to_have_count(0)
    page.keyboard.press("y")
    expect(page.locator("#announcer")).to_have_text("Show model outputs first.")
    page.keyboard.press("p")
    expect(page.locator(".suggestion")).to_have_count(3)
    look(page, "suggestions")
    page.keyboard.press("y")
    page.keyboard.press("z")
    page.locator(".label-option", has_text="Person").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Reject: Place: “met”").click()
    expect(page.locator(".suggestion")).to_have_count(0)
    expect(page.locator(".object-row").first).to_contain_text("from reader@1")
    expect(page.locator(".object-row").nth(1)).to_contain_text("changed from reader@1")
    look(page, "suggestions-decided")
    saved(page)
    layer = editor.layer(pk, ENTITIES)
    origins = [(mark["quote"], mark["label"], mark["suggested"]["changed"]) for mark in layer["objects"]]
    assert origins == [("Ada Lovelace", "Person", False), ("Charles Babbage", "Person", True)]
    assert len(layer["rejected"]) == 1
    assert Annotation.objects.get().predictions_shown == ["reader@1"]
    reload(page)
    expect(page.locator(".suggestion")).to_have_count(0)  # shown again without a key, and decided
    page.keyboard.press("Control+z")
    expect(page.locator(".suggestion")).to_have_count(1)


RELATED = """
layers:
  - {type: spans, name: Entities, labels: [Person, Place]}
  - {type: relations, name: Relations, labels: [knows, {name: lives in, key: l}]}
"""
RELATIONS = [
    {"id": "r", "ends": ["a", "b"], "label": "knows"},
    {"id": "s", "ends": ["b", "a"], "label": "lives in"},
    {"id": "t", "ends": ["a", "c"], "label": "knows"},
    {"id": "u", "ends": ["b", "c"], "label": "knows"},
]


def test_a_relation_brings_its_marks_along(editor: Editor, page: Page) -> None:
    [pk] = make(editor, RELATED)
    Project.objects.update(show_predictions=True)
    record = SystemRecord.model_validate({"id": "item", "marks": {1: MARKS[ENTITIES], 2: RELATIONS}})
    import_outputs(records=[record], project=Project.objects.get(), system="reader", revision="1")
    editor.open(page, pk)
    page.keyboard.press("p")
    word(page, "met")  # without the label that the model gives it
    page.get_by_role("button", name="Reject: Place: “met”").click()
    page.get_by_role("button", name="Reject: Place: “Charles Babbage”").click()
    page.keyboard.press("Control+z")
    page.keyboard.press(".")
    rows = page.locator(".suggestion .object-text")
    expect(rows).to_have_text(
        ["Person: “Ada Lovelace” – knows → Place: “Charles Babbage”",
         "Place: “Charles Babbage” – lives in → Person: “Ada Lovelace”"]
    )  # fmt: skip
    drawn, open_ones = page.locator(".arc:not(.key-predicted)"), page.locator(".arc.key-predicted")
    expect(open_ones).to_have_count(2)
    look(page, "suggested-relations-open")
    page.keyboard.press("y")
    expect(drawn).to_have_count(1)
    expect(open_ones).to_have_count(1)
    expect(page.locator(".object-row").last).to_contain_text("“Ada Lovelace” → “Charles Babbage”")
    look(page, "suggested-relations")
    page.keyboard.press("z")
    page.get_by_role("button", name="Reverse").click()
    saved(page)
    marks, relations = editor.objects(pk, 1), editor.objects(pk, 2)
    assert [(mark["quote"], "suggested" in mark) for mark in marks] == [
        ("met", False), ("Ada Lovelace", True), ("Charles Babbage", True),
    ]  # fmt: skip
    ada, charles = marks[1]["id"], marks[2]["id"]
    assert [
        (relation["ends"], relation["label"], relation["suggested"]["changed"]) for relation in relations
    ] == [
        ([ada, charles], "knows", False), ([ada, charles], "lives in", True),
    ]  # fmt: skip
    for _undo in range(3):
        page.keyboard.press("Control+z")
    expect(rows).to_have_count(2)
    saved(page)
    assert [mark["quote"] for mark in editor.objects(pk, 1)] == ["met"]


def test_an_answer_is_accepted_and_can_be_overruled(editor: Editor, page: Page) -> None:
    pk = suggested(editor)
    page.set_viewport_size(PHONE)
    editor.open(page, pk)
    page.keyboard.press("p")
    page.keyboard.press(".")
    expect(page.locator(".suggestion")).to_have_count(1)
    page.keyboard.press("z")
    expect(page.locator(".label-option", has_text="Sport")).to_contain_text("from reader@1")
    look(page, "suggestions-phone")
    page.keyboard.press("1")
    saved(page)
    (answer,) = editor.objects(pk, TOPIC)
    assert (answer["value"], answer["suggested"]["changed"]) == ("Science", True)


def test_boxes_of_a_network_are_accepted(editor: Editor, page: Page) -> None:
    pk = editor.make(**DOGS, predictions=OUTPUT)
    editor.open(page, pk)
    page.keyboard.press("p")
    expect(page.locator(".suggestion")).to_have_count(2)
    expect(page.locator(".suggestion").first).to_contain_text("visual-nmn@3 · 90 %")
    look(page, "suggestions-boxes")
    page.keyboard.press("y")
    page.keyboard.press("ArrowRight")
    saved(page)
    (drawn,) = editor.objects(pk, FIND_DOGS)
    assert drawn["suggested"]["by"] == "visual-nmn@3"
    assert drawn["image"] == 0


def test_a_relation_of_boxes_is_drawn_before_it_is_accepted(editor: Editor, page: Page) -> None:
    [pk] = make(editor, RELATED.replace("spans", "boxes"), kind="boxes")
    Project.objects.update(show_predictions=True)
    marks = [
        {"id": name, "image": 0, "box": box, "label": "Person"}
        for name, box in (("a", [0.1, 0.2, 0.3, 0.4]), ("b", [0.6, 0.5, 0.9, 0.9]))
    ]
    record = {"id": "item", "marks": {1: marks, 2: RELATIONS[:1]}}
    import_outputs(
        records=[SystemRecord.model_validate(record)],
        project=Project.objects.get(),
        system="seer",
        revision="1",
    )
    editor.open(page, pk)
    page.keyboard.press("p")
    page.keyboard.press(".")
    expect(page.locator(".tag.predicted", has_text="knows")).to_have_count(1)
    look(page, "suggested-relations-of-boxes")
    page.keyboard.press("y")
    expect(page.locator(".tag.predicted")).to_have_count(0)
    saved(page)
    assert len(editor.objects(pk, 1)) == 2
    assert len(editor.objects(pk, 2)) == 1
