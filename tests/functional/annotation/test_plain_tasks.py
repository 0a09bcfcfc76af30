"""Plain tasks in a real browser: labels by button and key, answers, undo, adjudication, at three widths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.actions import assignments, data
from annotation.actions.projects import create_project
from annotation.formats.texts import tokenize
from annotation.labels import read_label_task
from annotation.models import Role
from annotation.schemas import Image, ItemRecord
from tests import workspaces
from tests.annotation import factories
from tests.functional.annotation.conftest import Editor

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
    given = {"external_id": "item", "kind": kind, "program": labels.text, "text": ""}
    if kind == "spans":
        given |= {"passage": TEXT, "tokens": tokenize(TEXT)}
    else:
        given |= {"images": (Image(name="left.png"),)}
    folder = editor.pictures if kind == "boxes" else None
    data.import_items(records=[ItemRecord.model_validate(given)], project=project, image_folder=folder)
    members = [factories.make_member(project, Role.ADJUDICATOR if n else Role.ANNOTATOR) for n in range(people)]
    return [assignments.next_annotation(member=member).pk for member in members]


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
    labels = {each["quote"]: each["label"] for each in editor.objects(pk, ENTITIES)}
    # London was marked while Place was chosen; then a click on a button changed the mark that was selected.
    assert labels == {"Lovelace": "Place", "London": "Person", "Babbage": "Person"}
    assert [each["value"] for each in editor.objects(pk, TOPIC)] == ["Sport"]
    assert [each["value"] for each in editor.objects(pk, TONE)] == ["calm", "funny"]
    assert [each["value"] for each in editor.objects(pk, QUALITY)] == [4]
    assert [each["value"] for each in editor.objects(pk, COMMENT)] == ["Fine."]
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Submitted. Thank you.")).to_be_visible()
