"""Plain tasks in a real browser, at three widths.

The tests set labels by button and key, answer, undo and adjudicate.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.actions import assignments, data
from annotation.actions.labels import rename_label
from annotation.actions.projects import create_project
from annotation.content.labels import read_label_task
from annotation.content.schemas import Image, ItemRecord
from annotation.formats.texts import tokenize
from annotation.models import Gold, Project, Role
from tests import workspaces
from tests.annotation import factories
from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.steps import drag

pytestmark = [pytest.mark.service]

TEXT = "Ada Lovelace met Charles Babbage in London."
TASK = """
layers:
  - type: spans
    name: Entities
    hint: Mark names of people and places.
    labels: [{name: Person, color: "#1d6fb8"}, {name: Place, color: "#f2c744", key: j}]
  - {type: choice, name: Topic, labels: [Science, Sport]}
  - {type: choices, name: Tone, labels: [calm, funny], required: false}
  - {type: rating, name: Quality}
  - {type: text, name: Comment, required: false}
"""
BOXES = "layers: [{type: boxes, name: Objects, labels: [Ball, Tower]}]"
ENTITIES, TOPIC, TONE, QUALITY, COMMENT = range(1, 6)


def make(editor: Editor, task: str = TASK, kind: str = "spans", people: int = 1) -> list[int]:
    """Works of several people on one item."""
    labels = read_label_task(task)
    project = create_project(
        slug="plain", title="Plain", kind=kind, workspace=workspaces.main(), by=None, labels=labels,
        annotators_per_item=people,
    )  # fmt: skip
    fields: dict[str, Any] = {"external_id": "item", "kind": kind, "program": labels.text, "text": ""}
    if kind == "spans":
        fields |= {"passage": TEXT, "tokens": tokenize(TEXT)}
    else:
        fields |= {"images": (Image(name="left.png"),)}
    folder = editor.pictures if kind == "boxes" else None
    data.import_items(records=[ItemRecord.model_validate(fields)], project=project, image_folder=folder)
    members = [
        factories.make_member(project, Role.ADJUDICATOR if n else Role.ANNOTATOR) for n in range(people)
    ]
    return [assignments.assign_next_annotation(member=member).pk for member in members]


def look(page: Page, name: str) -> None:
    """Write a picture, if SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def word(page: Page, text: str) -> None:
    page.locator(".token", has_text=text).dblclick()


def saved(page: Page) -> None:
    expect(page.locator("#save-status")).to_contain_text("saved", ignore_case=True)


def test_it_works(editor: Editor, page: Page) -> None:
    [pk] = make(editor)
    editor.open(page, pk)
    word(page, "Lovelace")
    page.keyboard.press("j")  # the selected mark gets the label
    word(page, "London")  # and the next ones too
    look(page, "entities")
    expect(page.locator(".token[data-label]")).to_have_count(2)
    page.get_by_role("radio", name="Person").check()
    word(page, "Babbage")
    page.keyboard.press("d")
    expect(page.locator("#step-title")).to_have_text("Topic")
    look(page, "topic")
    page.keyboard.press("2")
    expect(page.locator("#step-title")).to_have_text("Quality")
    page.get_by_role("radio", name="4").check()
    page.get_by_role("option", name="Tone").click()
    page.keyboard.press("1")
    page.get_by_role("checkbox", name="funny").check()
    page.get_by_role("option", name="Comment").click()
    page.get_by_role("textbox", name="Comment").fill("Fine.")
    page.get_by_role("textbox", name="Comment").blur()
    look(page, "comment")
    saved(page)
    labels = {mark["quote"]: mark["label"] for mark in editor.objects(pk, ENTITIES)}
    # London was marked while Place was chosen; then a click on a button changed the mark that was selected.
    assert labels == {"Lovelace": "Place", "London": "Person", "Babbage": "Person"}
    assert [answer["value"] for answer in editor.objects(pk, TOPIC)] == ["Sport"]
    assert [answer["value"] for answer in editor.objects(pk, TONE)] == ["calm", "funny"]
    assert [answer["value"] for answer in editor.objects(pk, QUALITY)] == [4]
    assert [answer["value"] for answer in editor.objects(pk, COMMENT)] == ["Fine."]
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/annotate/plain/")


def test_boxes_have_labels_and_colours(editor: Editor, page: Page) -> None:
    [pk] = make(editor, BOXES, kind="boxes")
    editor.open(page, pk)
    for key, left in (("1", 0.1), ("2", 0.6)):
        page.keyboard.press("Escape")
        page.keyboard.press(key)
        drag(page, 0, (left, 0.3), (left + 0.2, 0.7))
        expect(page.locator(".tag")).to_have_count(1 if key == "1" else 2)
    page.keyboard.press("Escape")
    look(page, "boxes")
    expect(page.locator(".tag")).to_have_text(["Ball", "Tower"])
    page.keyboard.press("Control+z")
    expect(page.locator(".tag")).to_have_text(["Ball"])
    page.keyboard.press("Control+Shift+z")
    saved(page)
    assert [mark["label"] for mark in editor.objects(pk, 1)] == ["Ball", "Tower"]


def test_an_adjudicator_takes_over_marks_and_answers(editor: Editor, page: Page) -> None:
    first, second = make(editor, people=2)
    for pk, key in ((first, "1"), (second, "2")):
        editor.open(page, pk)
        word(page, "London")
        page.keyboard.press("1" if pk == first else "j")
        page.keyboard.press("d")
        page.keyboard.press(key)
        page.keyboard.press("3")
        expect(page.locator(".still-open")).to_have_text("All required steps done")
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/annotate/plain/**")
    item = editor.row(first).item
    judge = editor.row(second).annotator
    editor.log_in(page, judge)
    page.goto(f"{editor.server.url}/annotate/plain/items/{item.pk}/")
    look(page, "compared")
    page.get_by_role("button", name="Adjudicate").click()
    expect(page.locator("#editor[data-ready]")).to_be_attached()
    clusters = page.locator(".cluster")
    expect(clusters).to_have_text([re.compile("A.*Person: “London”"), re.compile("B.*Place: “London”")])
    look(page, "adjudication")
    clusters.nth(1).get_by_role("button", name="Add").click()
    page.keyboard.press("d")
    expect(page.locator("#step-title")).to_have_text("Topic")
    clusters.filter(has_text="Sport").get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Set as gold").click()
    page.wait_for_url("**/review/")
    gold = Gold.objects.get(item=item, current=True).document["layers"]
    assert [mark["label"] for mark in gold["1"]["objects"]] == ["Place"]
    assert [gold[node]["objects"][0]["value"] for node in ("2", "4")] == ["Sport", 3]


@pytest.mark.parametrize(("width", "height"), [(320, 700), (768, 1024), (1920, 1080)])
def test_every_width_shows_labels_without_scrolling_sideways(
    editor: Editor, page: Page, axe_script: str, width: int, height: int
) -> None:
    [pk] = make(editor)
    page.set_viewport_size({"width": width, "height": height})
    editor.open(page, pk)
    word(page, "Lovelace")
    look(page, f"editor-{width}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(axe_script)
    violations = page.evaluate(
        "axe.run().then(found => found.violations.map(each => [each.id, each.nodes[0].html]))"
    )
    assert violations == []


def test_an_open_editor_says_that_labels_have_changed(editor: Editor, page: Page) -> None:
    [pk] = make(editor)
    editor.open(page, pk)
    word(page, "Lovelace")
    saved(page)
    rename_label(project=Project.objects.get(), layer="Entities", label="Person", new_name="Human", by=None)
    word(page, "Babbage")
    expect(page.locator("#notice")).to_contain_text("A manager has changed the labels")
    saved(page)
    look(page, "labels-changed")
    page.get_by_role("button", name="Reload").click()
    expect(page.get_by_role("radio", name="Human")).to_be_visible()
    expect(page.locator("#notice")).to_be_hidden()
    assert [mark["label"] for mark in editor.objects(pk, ENTITIES)] == ["Human", "Human"]
