"""Questions about marks in a real browser, by mouse, keys and touch.

The tests also undo answers, and use the form of a project.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from accounts.models import Role
from annotation.content.labels import LabelTask
from annotation.models import Annotation, Project
from tests import workspaces
from tests.annotation import factories
from tests.functional.annotation.conftest import PHONE, Editor
from tests.functional.annotation.steps import drag
from tests.functional.annotation.test_plain_tasks import look, make, saved, word
from tests.functional.annotation.test_reviewing import problems

pytestmark = [pytest.mark.service]

TASK = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place]
    questions:
      - {type: choice, name: Certainty, labels: [sure, unsure]}
      - {type: choices, name: Roles, labels: [author, reader], required: false}
      - {type: rating, name: Fame, required: false}
      - {type: text, name: Why, required: false}
"""
IF_TASK = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place]
    questions:
      - {type: choice, name: Known, labels: ["yes", "no"], show_if: {labels: Person}}
      - {type: text, name: Source, show_if: {question: Known, labels: "yes"}}
"""
BOXES = """
layers:
  - type: boxes
    name: Objects
    labels: [Ball, Tower]
    questions: [{type: choice, name: Cut off, labels: ["yes", "no"]}]
"""


def about(editor: Editor, pk: int) -> dict[str, dict[str, Any]]:
    """Return the stored answers about each mark, by its words."""
    return {mark["quote"]: mark.get("answers", {}) for mark in editor.objects(pk, 1)}


def test_it_works(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK)
    editor.open(page, pk)
    word(page, "Lovelace")
    page.get_by_role("radio", name="sure", exact=True).check()
    page.keyboard.press("5")  # the label "author" has the fifth key
    page.get_by_role("checkbox", name="reader").check()
    page.get_by_role("group", name="Fame").get_by_role("radio", name="4").check()
    page.get_by_role("textbox", name="Why").fill("She wrote it.")
    look(page, "questions")
    word(page, "London")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".foot-message")).to_contain_text(
        "1 question about a mark is open, such as “Certainty”."
    )
    page.locator(".token", has_text="London").click()
    page.keyboard.press(";")
    page.keyboard.press("Space")
    saved(page)
    assert about(editor, pk) == {
        "Lovelace": {
            "Certainty": ["sure"],
            "Roles": ["author", "reader"],
            "Fame": [4],
            "Why": ["She wrote it."],
        },
        "London": {"Certainty": ["sure"]},
    }
    page.keyboard.press("Control+z")
    saved(page)
    assert about(editor, pk)["London"] == {}
    page.keyboard.press("4")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".foot-message")).to_contain_text("Still open: Entities.")
    page.keyboard.press("d")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/annotate/plain/")
    assert about(editor, pk)["London"] == {"Certainty": ["unsure"]}


def test_a_new_mark_opens_a_step_that_was_done(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK)
    editor.open(page, pk)
    word(page, "Lovelace")
    page.keyboard.press("3")
    page.keyboard.press("d")
    expect(page.locator(".still-open")).to_have_text("All steps done")
    word(page, "London")
    expect(page.locator(".still-open")).to_have_text("1 step still open")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".foot-message")).to_contain_text("Still open: Entities. 1 question about a mark")
    page.keyboard.press("3")
    expect(page.locator(".still-open")).to_have_text("All steps done")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/annotate/plain/")
    assert Annotation.objects.get(pk=pk).status == Annotation.Status.SUBMITTED


def test_a_question_appears_for_its_labels_and_answers(editor: Editor, page: Page) -> None:
    [pk] = make(editor, IF_TASK)
    editor.open(page, pk)
    word(page, "Lovelace")
    known_question, source_question = (
        page.get_by_role("group", name="Known"),
        page.get_by_role("textbox", name="Source"),
    )
    expect(source_question).to_have_count(0)
    page.keyboard.press("3")  # yes
    source_question.fill("Her letters.")
    page.keyboard.press("Escape")
    page.locator(".token", has_text="Lovelace").click()
    page.keyboard.press("2")  # a place, about which nothing is asked
    expect(known_question).to_have_count(0)
    look(page, "questions-hidden")
    expect(page.locator(".object-row")).not_to_contain_text("Her letters.")
    page.keyboard.press("3")
    page.keyboard.press("d")
    expect(page.locator(".still-open")).to_have_text("All steps done")
    page.keyboard.press("1")
    expect(known_question.get_by_role("radio", name="yes")).to_be_checked()
    expect(source_question).to_have_value("Her letters.")
    saved(page)
    assert about(editor, pk)["Lovelace"] == {"Known": ["yes"], "Source": ["Her letters."]}


def test_a_box_is_answered_about_by_touch(editor: Editor, browser: Browser, axe_script: str) -> None:
    [pk] = make(editor, BOXES, kind="boxes")
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = editor.open(context.new_page(), pk)
    drag(page, 0, (0.2, 0.3), (0.5, 0.7))
    page.locator(".about .label-option", has_text="no").tap()
    look(page, "questions-phone")
    saved(page)
    assert problems(page, axe_script) == []
    [box] = editor.objects(pk, 1)
    assert box["answers"] == {"Cut off": ["no"]}
    context.close()


def test_labels_stand_inside_others(editor: Editor, page: Page, axe_script: str) -> None:
    editor.log_in(page, workspaces.give(factories.make_user(), Role.MANAGER))
    page.goto(f"{editor.server.url}/annotate/new/")
    page.get_by_label("Title").fill("Nested")
    page.get_by_label("Short name").fill("nested")
    page.get_by_label("Task", exact=True).select_option(label="Classification")
    for number in (2, 3, 3):
        page.get_by_role("button", name=f"Put label {number} inside the one above").click()
    expect(page.get_by_role("button", name="Put label 3 inside the one above")).to_be_disabled()
    page.get_by_role("button", name="Take label 3 out again").click()
    look(page, "nested-builder")
    assert problems(page, axe_script) == []
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/annotate/nested/items/upload/")
    task = LabelTask.model_validate(Project.objects.get(slug="nested").labels)
    parents = [label.parent for label in task.layers[0].labels]
    assert parents == ["", task.layers[0].names[0], task.layers[0].names[0]]
    [pk] = make(editor, json.dumps(task.model_dump()))
    editor.open(page, pk)
    options = page.locator(".label-option")
    edges = [options.nth(index).bounding_box()["x"] for index in range(3)]
    assert edges[0] < edges[1] == edges[2]
    look(page, "nested")
    page.keyboard.press("3")
    saved(page)
    assert editor.objects(pk, 1)[0]["value"] == task.layers[0].names[2]


def test_a_manager_asks_about_marks(editor: Editor, page: Page, axe_script: str) -> None:
    editor.log_in(page, workspaces.give(factories.make_user(), Role.MANAGER))
    page.goto(f"{editor.server.url}/annotate/new/")
    page.get_by_label("Title").fill("Aspects")
    page.get_by_label("Short name").fill("aspects")
    page.get_by_label("Task", exact=True).select_option(label="Opinions on aspects of a text")
    page.get_by_role("button", name="Ask about each mark").click()
    second = page.get_by_role("group", name="Question 2 about each mark")
    second.get_by_label("Type").select_option(label="Rating")
    second.get_by_label("Name").fill("Strength")
    second.get_by_label("Annotators have to answer it").uncheck()
    second.get_by_label("Ask this question").select_option(label="by the answer of “Opinion”")
    second.get_by_label("bad").check()
    first = page.get_by_role("group", name="Question 1 about each mark")
    first.get_by_label("Ask this question").select_option(label="by the label of the mark")
    look(page, "questions-builder")
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/annotate/aspects/items/upload/")
    layer = LabelTask.model_validate(Project.objects.get(slug="aspects").labels).layers[0]
    assert [(question.name, question.type, question.required) for question in layer.questions] == [
        ("Opinion", "choice", True),
        ("Strength", "rating", False),
    ]
    assert [
        question.show_if and (question.show_if.question, question.show_if.labels)
        for question in layer.questions
    ] == [
        ("", ("Product",)),
        ("Opinion", ("good", "bad")),
    ]
    page.set_viewport_size({"width": 320, "height": 800})
    for name in ("labels", "outputs", "settings"):
        page.goto(f"{editor.server.url}/annotate/aspects/{name}/")
        look(page, f"questions-{name}")
        assert problems(page, axe_script) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
