"""Boxes in the browser, by mouse and by keyboard.

The tests draw, move, resize, choose, link and undo them.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.items import DOGS, FILTER, FIND_DOGS, box, layer
from tests.functional.annotation.steps import at, drag, near, reload, saved, sheet

pytestmark = pytest.mark.service

PIXEL = 1 / 640


def test_a_box_is_drawn_moved_and_resized_by_mouse(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    drag(page, 0, (0.2, 0.3), (0.5, 0.6))
    saved(page)
    [drawn] = editor.objects(annotation, FIND_DOGS)
    near(drawn["box"], (0.2, 0.3, 0.5, 0.6))
    assert drawn["image"] == 0
    drag(page, 0, (0.35, 0.45), (0.45, 0.55))  # inside: it moves
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.3, 0.4, 0.6, 0.7))
    drag(page, 0, (0.6, 0.7), (0.8, 0.9))  # its corner
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.3, 0.4, 0.8, 0.9))
    drag(page, 0, (0.05, 0.05), (0.2, 0.2))  # next to the selected one: a second box, at once
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 2
    drag(page, 1, (0.1, 0.1), (0.4, 0.4))
    saved(page)
    assert [mark["image"] for mark in editor.objects(annotation, FIND_DOGS)] == [0, 0, 1]


def test_a_box_may_be_released_or_pushed_outside_of_the_image(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    drag(page, 0, (0.7, 0.7), (1.02, 1.3))
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.7, 0.7, 1, 1))
    drag(
        page, 0, (0.85, 0.85), (0.05, 0.02)
    )  # beyond the left and upper edge: it stops there, as large as before
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0, 0, 0.3, 0.3))


def test_a_box_lives_by_keyboard_alone(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    page.keyboard.press("e")
    expect(page.locator("#stage")).to_be_focused()
    page.keyboard.press("n")
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.4, 0.4, 0.6, 0.6))
    for key in ["ArrowRight"] * 3 + ["Shift+ArrowDown", "Alt+ArrowLeft", "Alt+Shift+ArrowDown"]:
        page.keyboard.press(key)
    saved(page)
    left, top, right, bottom = editor.objects(annotation, FIND_DOGS)[0]["box"]
    assert left == pytest.approx(0.4 + 3 * PIXEL, abs=1e-5)
    assert top == pytest.approx(0.4 + 10 / 480, abs=1e-5)
    assert right - left == pytest.approx(0.2 - PIXEL, abs=1e-5)
    assert bottom - top == pytest.approx(0.2 + 10 / 480, abs=1e-5)
    page.keyboard.press("m")  # the other image
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    saved(page)
    assert [mark["image"] for mark in editor.objects(annotation, FIND_DOGS)] == [0, 1]
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".object-row[aria-current]")).to_contain_text("left image")
    expect(page.locator("#announcer")).to_contain_text("Box 1 of 2")
    page.keyboard.press("Delete")
    saved(page)
    assert [mark["image"] for mark in editor.objects(annotation, FIND_DOGS)] == [1]


def test_the_images_are_no_keyboard_trap(editor: Editor, page: Page):
    annotation = editor.make(
        **DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4), box("b", 0, 0.5, 0.5, 0.9, 0.9))}
    )
    editor.open(page, annotation)
    page.locator("#stage").focus()
    for _press in range(2):
        page.keyboard.press("Tab")
        expect(page.locator("#stage")).to_be_focused()
    page.keyboard.press("Tab")  # after the last box
    expect(page.locator("#stage")).not_to_be_focused()
    page.locator("#stage").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#stage")).not_to_be_focused()


def test_places_are_typed_as_numbers(editor: Editor, page: Page):
    annotation = editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4))})
    editor.open(page, annotation)
    page.locator(".object-row").click()
    page.get_by_role("spinbutton", name="Left").fill("25.5")
    page.get_by_role("spinbutton", name="Left").press("Enter")
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.255, 0.1, 0.555, 0.4), 1e-6)
    page.get_by_role("spinbutton", name="Width").fill("300")  # more than there is: as wide as the image
    page.get_by_role("spinbutton", name="Width").press("Tab")
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0, 0.1, 1, 0.4), 1e-6)


def test_the_program_is_walked_from_its_leaves_and_equal_steps_are_one(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    rows = page.locator(".step")
    texts = page.locator(".step-module").all_inner_texts()
    assert texts == ["find", "count", "find", "filter", "count", "equal"]
    expect(rows.nth(2)).to_contain_text("same as above")
    page.keyboard.press("t")
    walked = []
    for _step in range(5):
        walked.append(page.locator(".step[aria-selected=true]").first.get_attribute("data-node"))
        page.keyboard.press("ArrowDown")
    assert walked == ["2", "1", "4", "3", "0"]
    rows.nth(2).click()
    expect(rows.nth(0)).to_have_attribute("aria-selected", "true")


def test_choosing_refers_to_the_child_and_values_follow(editor: Editor, page: Page):
    annotation = editor.make(
        **DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4), box("b", 1, 0.5, 0.5, 0.9, 0.9))}
    )
    editor.open(page, annotation)
    page.keyboard.press("d")
    expect(page.locator("#step-title")).to_contain_text("black")
    page.mouse.click(*at(page, 0, 0.2, 0.2))
    page.keyboard.press("2")
    saved(page)
    assert [choice["ref"] for choice in editor.objects(annotation, FILTER)] == ["a", "b"]
    values = page.locator(".step-value")
    expect(values.nth(5)).to_contain_text("true")
    page.mouse.click(*at(page, 1, 0.7, 0.7))  # again: no longer
    saved(page)
    assert [choice["ref"] for choice in editor.objects(annotation, FILTER)] == ["a"]
    expect(values.nth(5)).to_contain_text("false")
    expect(page.locator("#verdict")).to_contain_text("unlike the expected answer")
    page.keyboard.press(",")
    page.keyboard.press(",")
    page.locator(".object-row").first.click()
    page.keyboard.press("Delete")  # what was chosen from it goes with it, and comes back with it
    saved(page)
    assert editor.objects(annotation, FILTER) == []
    page.keyboard.press("Control+z")
    saved(page)
    assert [choice["ref"] for choice in editor.objects(annotation, FILTER)] == ["a"]
    assert [mark["id"] for mark in editor.objects(annotation, FIND_DOGS)] == ["b", "a"]


def test_a_new_box_where_one_chooses_needs_a_reason(editor: Editor, page: Page):
    annotation = editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4), state="done")})
    editor.open(page, annotation)
    drag(page, 1, (0.2, 0.2), (0.5, 0.5))
    page.get_by_role("button", name="Discard").click()
    drag(page, 1, (0.2, 0.2), (0.5, 0.5))
    page.get_by_label("Reason").fill("The dog behind the fence was missed.")
    page.get_by_role("button", name="Add the box").click()
    expect(page.locator(".object-row")).to_have_count(2)
    saved(page)
    [new] = editor.objects(annotation, FILTER)
    assert new["reason"] == "The dog behind the fence was missed."


def test_a_linked_box_names_its_source(editor: Editor, page: Page):
    annotation = editor.make(
        program="count(project[collar](find[dogs]))",
        text="There are two collars.",
        layers={2: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4), box("b", 0, 0.5, 0.5, 0.9, 0.9), state="done")},
    )
    editor.open(page, annotation)
    drag(page, 0, (0.15, 0.15), (0.3, 0.3))
    page.keyboard.press("d")
    expect(page.locator(".foot-message")).to_contain_text("has no source")
    page.mouse.click(*at(page, 0, 0.8, 0.8))
    saved(page)
    assert editor.objects(annotation, 1)[0]["links"] == ["b"]
    page.keyboard.press("l")
    page.keyboard.press("Enter")
    saved(page)
    assert editor.objects(annotation, 1)[0]["links"] == ["b", "a"]
    page.keyboard.press("d")
    saved(page)
    assert editor.layer(annotation, 1)["state"] == "done"


def test_undo_and_redo_survive_a_reload(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    drag(page, 0, (0.2, 0.3), (0.5, 0.6))
    drag(page, 1, (0.2, 0.3), (0.5, 0.6))
    page.keyboard.press("u")
    saved(page)
    assert (editor.layer(annotation, FIND_DOGS)["state"], len(editor.objects(annotation, FIND_DOGS))) == (
        "unsure",
        2,
    )
    reload(page)
    for left in (("open", 2), ("open", 1), ("open", 0)):
        page.keyboard.press("Control+z")
        saved(page)
        assert (
            editor.layer(annotation, FIND_DOGS)["state"],
            len(editor.objects(annotation, FIND_DOGS)),
        ) == left
    reload(page)
    page.keyboard.press("Control+Shift+z")
    page.keyboard.press("Control+Shift+z")
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 2
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()


def test_zoom_keeps_places(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    for _time in range(3):
        page.keyboard.press("+")
    expect(page.locator(".scale")).to_have_text("300%")
    pane: Any = page.locator(".pane").first.bounding_box()
    x, y = pane["x"] + pane["width"] / 2, pane["y"] + pane["height"] / 2
    before = sheet(page, 0)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20)
    page.mouse.move(x + 60, y + 40)
    page.mouse.up()
    saved(page)
    corner = ((x - before["x"]) / before["width"], (y - before["y"]) / before["height"])
    near(editor.objects(annotation, FIND_DOGS)[0]["box"][:2], corner)
    page.keyboard.press("h")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 50, y - 30)
    page.mouse.up()
    assert sheet(page, 0)["x"] == pytest.approx(before["x"] - 50, abs=2)
    assert len(editor.objects(annotation, FIND_DOGS)) == 1
