"""Relations and conditional layers in a browser, from marks to gold.

They are made by mouse and keyboard.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from annotation.models import Gold
from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.steps import drag
from tests.functional.annotation.test_plain_tasks import look, make, saved, word

pytestmark = [pytest.mark.service]

TASK = """
layers:
  - {type: spans, name: Entities, labels: [Person, Place]}
  - {type: choice, name: Related, labels: ["yes", "no"]}
  - {type: relations, name: Relations, labels: [knows, {name: met in, color: "#c2410c"}],
     show_if: {layer: Related, labels: "yes"}}
"""
ENTITIES, RELATED, RELATIONS = range(1, 4)
BOXES = """
layers:
  - {type: boxes, name: Objects, labels: [Ball, Tower]}
  - {type: relations, name: Relations, labels: [beside], directed: false}
"""


def mark_entities(page: Page) -> None:
    word(page, "Lovelace")
    word(page, "Babbage")
    word(page, "London")
    page.keyboard.press("2")
    page.keyboard.press("d")
    expect(page.locator("#step-title")).to_have_text("Related")


def test_relations_of_words(editor: Editor, page: Page, axe_script: str) -> None:
    [pk] = make(editor, TASK)
    editor.open(page, pk)
    mark_entities(page)
    step = page.get_by_role("option", name="Relations")
    expect(step).to_be_hidden()
    page.keyboard.press("1")  # yes
    expect(page.locator("#step-title")).to_have_text("Relations")
    expect(step).to_be_visible()
    # By mouse: a mark, the button, the other mark.
    page.locator(".token", has_text="Lovelace").click()
    page.get_by_role("button", name="Relate").click()
    look(page, "relating")
    page.locator(".token", has_text="Babbage").click()
    rows = page.locator(".object-row")
    expect(rows.last).to_contain_text(re.compile("“Lovelace” → “Babbage”.*knows"))
    expect(page.locator(".arc")).to_have_count(1)
    # By keyboard: the second label, then the marks one after another.
    page.locator("#stage").focus()
    page.keyboard.press("Escape")
    for key in ("2", "Home", "ArrowRight", "Space", "l", "Tab", "Tab", "l"):
        page.keyboard.press(key)
    expect(rows.last).to_contain_text(re.compile("“Lovelace” → “London”.*met in"))
    page.get_by_role("button", name="Reverse").click()
    expect(rows.last).to_contain_text(re.compile("“London” → “Lovelace”.*met in"))
    for width, height in ((390, 844), (1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        look(page, f"relations-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(axe_script)
    violations = page.evaluate(
        "axe.run().then(found => found.violations.map(each => [each.id, each.nodes[0].html]))"
    )
    assert violations == []
    saved(page)
    assert [relation["label"] for relation in editor.objects(pk, RELATIONS)] == ["knows", "met in"]
    # A deleted mark takes its relation along, and undo brings both back.
    page.get_by_role("option", name="Entities").click()
    page.locator(".token", has_text="London").click()
    page.keyboard.press("Delete")
    saved(page)
    assert [relation["label"] for relation in editor.objects(pk, RELATIONS)] == ["knows"]
    page.keyboard.press("Control+z")
    saved(page)
    assert [relation["label"] for relation in editor.objects(pk, RELATIONS)] == ["knows", "met in"]
    # Another answer hides the step, and the item can be submitted without it.
    page.get_by_role("option", name="Related").click()
    page.keyboard.press("2")
    expect(step).to_be_hidden()
    expect(page.locator(".still-open")).to_have_text("All steps done")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/annotate/plain/")


def test_an_adjudicator_takes_over_relations_of_boxes(editor: Editor, page: Page) -> None:
    works = make(editor, BOXES, kind="boxes", people=2)
    for pk in works:
        editor.open(page, pk)
        for left in (0.1, 0.6):
            page.keyboard.press("Escape")
            drag(page, 0, (left, 0.3), (left + 0.2, 0.7))
        page.keyboard.press("d")
        expect(page.locator("#step-title")).to_have_text("Relations")
        if pk == works[0]:
            page.locator(".object-row").nth(0).click()
            page.get_by_role("button", name="Relate").click()
            page.locator(".object-row").nth(1).click()
            expect(page.locator(".object-row").last).to_contain_text(re.compile("Ball 1 – Ball 2.*beside"))
            look(page, "relation-of-boxes")
            page.keyboard.press("d")
        else:
            page.keyboard.press("x")
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/annotate/plain/**")
    item = editor.row(works[0]).item
    editor.log_in(page, editor.row(works[1]).annotator)
    page.goto(f"{editor.server.url}/annotate/plain/items/{item.pk}/")
    expect(page.locator("main")).to_contain_text("beside")
    look(page, "relation-compared")
    page.get_by_role("button", name="Adjudicate").click()
    expect(page.locator("#editor[data-ready]")).to_be_attached()
    clusters = page.locator(".cluster")
    expect(clusters).to_have_text([re.compile("A.*beside")])
    look(page, "relation-adjudicated")
    clusters.get_by_role("button", name="Add").click()
    page.keyboard.press("d")
    page.get_by_role("button", name="Set as gold").click()
    page.wait_for_url("**/review/")
    gold = Gold.objects.get(item=item, current=True).document["layers"]
    assert [relation["label"] for relation in gold["2"]["objects"]] == ["beside"]
    assert set(gold["2"]["objects"][0]["ends"]) == {mark["id"] for mark in gold["1"]["objects"]}


def test_relations_by_touch(editor: Editor, browser: Browser) -> None:
    [pk] = make(editor, TASK)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    editor.open(page, pk)
    for text in ("Lovelace", "London"):
        page.locator(".token", has_text=text).tap()
        page.get_by_role("button", name="Mark this word").tap()
    page.get_by_role("button", name="Done").tap()
    page.get_by_role("radio", name="yes").tap()
    expect(page.locator("#step-title")).to_have_text("Relations")
    page.locator(".token", has_text="London").tap()
    page.get_by_role("button", name="Relate").tap()
    page.locator(".token", has_text="Lovelace").tap()
    expect(page.locator(".object-row").last).to_contain_text("“London” → “Lovelace”")
    saved(page)
    look(page, "relations-touch")
    assert [relation["label"] for relation in editor.objects(pk, RELATIONS)] == ["knows"]
    context.close()
