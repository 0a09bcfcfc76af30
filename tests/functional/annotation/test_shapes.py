"""Polygons, ellipses and key points, by mouse, keyboard and touch.

The tests also undo and adjudicate them.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from annotation.actions.outputs import import_outputs
from annotation.content.schemas import Document, SystemRecord
from annotation.models import Annotation, Project
from tests.functional.annotation.conftest import PHONE, Editor
from tests.functional.annotation.steps import at, drag, near, reload, saved
from tests.functional.annotation.test_plain_tasks import look, make

pytestmark = pytest.mark.service

TASK = """
layers:
  - {type: polygons, name: Outlines, labels: [Ball, Tower]}
  - {type: ellipses, name: Rounds, labels: [Ball]}
  - {type: points, name: Points, labels: [Top, Bottom]}
"""
OUTLINES, ROUNDS, POINTS = 1, 2, 3


def click(page: Page, across: float, down: float) -> None:
    page.mouse.click(*at(page, 0, across, down))


def flat(mark: dict[str, Any]) -> list[float]:
    return [edge for corner in mark["polygon"] for edge in corner]


def test_a_polygon_that_is_not_closed_is_not_lost(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    editor.open(page, pk)
    for corner in ((0.2, 0.2), (0.5, 0.2), (0.5, 0.6)):
        click(page, *corner)
    for name in ("Done", "Next step", "Submit"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("alert")).to_contain_text("The polygon is not closed.")
    page.locator("#program .step").nth(1).click()
    page.get_by_role("button", name="Close polygon").click()
    page.get_by_role("button", name="Done").click()
    saved(page)
    assert len(editor.objects(pk, OUTLINES)) == 1


def test_undo_takes_back_corners_before_it_takes_back_changes(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    editor.open(page, pk)
    for corner in ((0.2, 0.2), (0.5, 0.2), (0.5, 0.6), (0.2, 0.2)):
        click(page, *corner)
    saved(page)
    for corner in ((0.6, 0.6), (0.8, 0.6)):
        click(page, *corner)
    undo = page.get_by_role("button", name="Undo")
    undo.click()
    page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name="Close polygon")).to_be_hidden()
    assert len(editor.objects(pk, OUTLINES)) == 1
    undo.click()
    saved(page)
    assert editor.objects(pk, OUTLINES) == []
    expect(undo).to_be_disabled()


def test_a_polygon_is_drawn_by_clicks_and_changed_at_its_corners(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    editor.open(page, pk)
    for corner in ((0.2, 0.2), (0.5, 0.2), (0.5, 0.6), (0.2, 0.6)):
        click(page, *corner)
    page.keyboard.press("Backspace")  # takes the last corner back
    click(page, 0.3, 0.5)
    look(page, "polygon-draft")
    click(page, 0.2, 0.2)  # closes it
    saved(page)
    [mark] = editor.objects(pk, OUTLINES)
    near(flat(mark), (0.2, 0.2, 0.5, 0.2, 0.5, 0.6, 0.3, 0.5))
    near(mark["box"], (0.2, 0.2, 0.5, 0.6))
    assert mark["label"] == "Ball"
    look(page, "polygon-selected")
    drag(page, 0, (0.5, 0.2), (0.7, 0.1))  # a corner
    saved(page)
    near(flat(editor.objects(pk, OUTLINES)[0]), (0.2, 0.2, 0.7, 0.1, 0.5, 0.6, 0.3, 0.5))
    drag(page, 0, (0.4, 0.4), (0.5, 0.4))  # the whole
    saved(page)
    near(flat(editor.objects(pk, OUTLINES)[0]), (0.3, 0.2, 0.8, 0.1, 0.6, 0.6, 0.4, 0.5))
    page.keyboard.press("Control+z")
    saved(page)
    near(flat(editor.objects(pk, OUTLINES)[0]), (0.2, 0.2, 0.7, 0.1, 0.5, 0.6, 0.3, 0.5))
    page.keyboard.press("Escape")
    click(page, 0.4, 0.4)  # inside selects it, and draws nothing
    page.keyboard.press("2")
    saved(page)
    [mark] = editor.objects(pk, OUTLINES)
    assert mark["label"] == "Tower"
    page.keyboard.press("Escape")
    page.keyboard.down("Shift")
    for corner in ((0.4, 0.3), (0.45, 0.3), (0.45, 0.4)):
        click(page, *corner)
    page.keyboard.up("Shift")
    page.keyboard.press("Enter")
    saved(page)
    assert len(editor.objects(pk, OUTLINES)) == 2
    click(page, 0.9, 0.9)
    page.keyboard.press("Escape")  # gives the drawing up
    click(page, 0.43, 0.32)
    reload(page)
    assert len(editor.objects(pk, OUTLINES)) == 2


def test_all_shapes_by_keyboard(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    editor.open(page, pk)
    page.keyboard.press("n")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("q")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator("#announcer")).to_contain_text("Corner 1 of 4")
    page.get_by_role("button", name="Add a corner after this one").press("Enter")
    page.get_by_role("button", name="Remove this corner").press("Enter")
    look(page, "polygon-keyboard")
    saved(page)
    [mark] = editor.objects(pk, OUTLINES)
    right, down = 10 / 640, 20 / 480
    near(flat(mark), (0.4 + right, 0.4 + down, 0.6 + right, 0.4, 0.6 + right, 0.6, 0.4 + right, 0.6), 0.001)
    page.keyboard.press("d")
    page.keyboard.press("n")
    page.keyboard.press("Alt+Shift+ArrowRight")
    look(page, "ellipse-keyboard")
    page.keyboard.press("d")
    page.keyboard.press("n")
    page.keyboard.press("Shift+ArrowLeft")
    saved(page)
    look(page, "point-keyboard")
    [ellipse], [point] = editor.objects(pk, ROUNDS), editor.objects(pk, POINTS)
    near(ellipse["box"], (0.4, 0.4, 0.6 + right, 0.6), 0.001)
    assert ellipse["shape"] == "ellipse"
    near(point["point"], (0.5 - right, 0.5), 0.001)
    page.get_by_label("Left, percent of the image").fill("10")
    page.keyboard.press("Tab")
    saved(page)
    near(editor.objects(pk, POINTS)[0]["point"], (0.1, 0.5), 0.001)


def test_ellipses_and_points_by_mouse(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    editor.open(page, pk)
    page.get_by_role("option", name="Rounds").click()
    drag(page, 0, (0.2, 0.4), (0.45, 0.75))
    saved(page)
    near(editor.objects(pk, ROUNDS)[0]["box"], (0.2, 0.4, 0.45, 0.75))
    drag(page, 0, (0.3, 0.6), (0.4, 0.6))
    saved(page)
    look(page, "ellipse-moved")
    [ellipse] = editor.objects(pk, ROUNDS)
    near(ellipse["box"], (0.3, 0.4, 0.55, 0.75))
    assert ellipse["shape"] == "ellipse"
    page.get_by_role("option", name="Points").click()
    click(page, 0.5, 0.5)
    page.keyboard.press("2")
    click(page, 0.6, 0.3)
    saved(page)
    assert [mark["label"] for mark in editor.objects(pk, POINTS)] == ["Bottom", "Bottom"]
    drag(page, 0, (0.6, 0.3), (0.7, 0.4))  # the selected one
    saved(page)
    near(editor.objects(pk, POINTS)[1]["point"], (0.7, 0.4))
    look(page, "points")
    click(page, 0.5, 0.5)
    page.keyboard.press("Delete")
    saved(page)
    [mark] = editor.objects(pk, POINTS)
    near(mark["point"], (0.7, 0.4))


def test_shapes_that_a_model_suggests(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    corners = [[0.2, 0.2], [0.6, 0.2], [0.4, 0.7]]
    marks = {
        OUTLINES: [{"id": "a", "image": 0, "polygon": corners, "label": "Tower"}],
        POINTS: [{"id": "b", "image": 0, "point": [0.5, 0.25], "label": "Top"}],
    }
    record = SystemRecord.model_validate({"id": "item", "marks": marks})
    project = Project.objects.get()
    import_outputs(records=[record], project=project, system="finder", revision="1")
    Project.objects.update(show_predictions=True)
    editor.open(page, pk)
    page.keyboard.press("p")
    expect(page.locator(".suggestion")).to_contain_text("Tower: 40 × 50 %")
    look(page, "shapes-suggested")
    page.keyboard.press("z")
    page.keyboard.press("q")
    page.keyboard.press("Shift+ArrowLeft")
    page.get_by_role("option", name="Points").click()
    look(page, "point-suggested")
    page.keyboard.press("y")
    saved(page)
    [polygon], [point] = editor.objects(pk, OUTLINES), editor.objects(pk, POINTS)
    near(flat(polygon), (0.2 - 10 / 640, 0.2, 0.6, 0.2, 0.4, 0.7), 0.001)
    assert (polygon["label"], polygon["suggested"]["changed"]) == ("Tower", True)
    assert (point["point"], point["suggested"]["changed"]) == ([0.5, 0.25], False)


def test_on_a_turned_image_clicks_land_where_they_are_seen(editor: Editor, page: Page) -> None:
    [pk] = make(editor, TASK, "boxes")
    editor.open(page, pk)
    page.get_by_role("option", name="Points").click()
    page.keyboard.press("v")
    table: Any = page.locator(".turntable").bounding_box()
    page.mouse.click(table["x"] + 0.25 * table["width"], table["y"] + 0.1 * table["height"])
    saved(page)
    near(editor.objects(pk, POINTS)[0]["point"], (0.1, 0.75))
    look(page, "points-turned")


def test_a_polygon_by_taps_on_a_phone(browser: Browser, editor: Editor) -> None:
    [pk] = make(editor, TASK, "boxes")
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = editor.open(context.new_page(), pk)
    for corner in ((0.2, 0.2), (0.7, 0.2), (0.7, 0.8)):
        page.locator(".sheet").scroll_into_view_if_needed()
        page.touchscreen.tap(*at(page, 0, *corner))
    look(page, "polygon-phone")
    page.get_by_role("button", name="Close polygon").tap()
    saved(page)
    near(flat(editor.objects(pk, OUTLINES)[0]), (0.2, 0.2, 0.7, 0.2, 0.7, 0.8))
    context.close()


def test_an_ellipse_and_a_point_by_touch(browser: Browser, editor: Editor) -> None:
    [pk] = make(editor, TASK, "boxes")
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = editor.open(context.new_page(), pk)
    session = context.new_cdp_session(page)
    page.keyboard.press(".")
    page.locator(".sheet").scroll_into_view_if_needed()
    for kind, corner in (("Start", (0.2, 0.3)), ("Move", (0.5, 0.6)), ("Move", (0.6, 0.7)), ("End", None)):
        points = [] if corner is None else [dict(zip("xy", at(page, 0, *corner), strict=True))]
        session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    saved(page)
    page.keyboard.press(".")
    page.locator(".sheet").scroll_into_view_if_needed()
    page.touchscreen.tap(*at(page, 0, 0.25, 0.75))
    saved(page)
    look(page, "shapes-phone")
    [ellipse], [point] = editor.objects(pk, ROUNDS), editor.objects(pk, POINTS)
    near(ellipse["box"], (0.2, 0.3, 0.6, 0.7), 0.02)
    assert ellipse["shape"] == "ellipse"
    near(point["point"], (0.25, 0.75), 0.02)
    context.close()


def test_a_pen_draws_as_a_mouse_does(browser: Browser, editor: Editor) -> None:
    [pk] = make(editor, TASK, "boxes")
    context = browser.new_context()
    page = editor.open(context.new_page(), pk)
    session = context.new_cdp_session(page)

    def pen(kind: str, *corner: float) -> None:
        across, down = at(page, 0, *corner)
        about = {"type": f"mouse{kind}", "x": across, "y": down, "button": "left", "clickCount": 1}
        session.send("Input.dispatchMouseEvent", {**about, "buttons": 1, "pointerType": "pen"})

    page.evaluate("addEventListener('pointerdown', event => { window.seen = event.pointerType }, true)")
    page.keyboard.press(".")
    pen("Pressed", 0.2, 0.3)
    for corner in ((0.4, 0.5), (0.6, 0.7)):
        pen("Moved", *corner)
    pen("Released", 0.6, 0.7)
    saved(page)
    assert page.evaluate("window.seen") == "pen"
    near(editor.objects(pk, ROUNDS)[0]["box"], (0.2, 0.3, 0.6, 0.7))
    context.close()


def test_an_adjudicator_takes_over_shapes(editor: Editor, page: Page) -> None:
    first, second = make(editor, TASK, "boxes", people=2)
    # Of the second person alone: the other half of the same box.
    rest = {"id": "b", "image": 0, "polygon": [[0.1, 0.1], [0.1, 0.6], [0.5, 0.6]], "label": "Ball"}
    for pk, more in ((first, 0.0), (second, 0.02)):
        drawn: dict[int, dict[str, Any]] = {
            OUTLINES: {"polygon": [[0.1, 0.1], [0.5 + more, 0.1], [0.5, 0.6]], "label": "Ball"},
            POINTS: {"point": [0.3 + more, 0.3], "label": "Top"},
        }
        layers: dict[int, dict[str, Any]] = {
            node: {"state": "done", "objects": [{"id": f"a{node}", "image": 0, **mark}]}
            for node, mark in drawn.items()
        }
        if more:
            layers[OUTLINES]["objects"].append(rest)
        Annotation.objects.filter(pk=pk).update(
            document=Document.model_validate({"layers": layers}).model_dump(mode="json"),
            status="submitted",
            submitted_at=timezone.now(),
        )
    item = editor.row(first).item
    editor.log_in(page, editor.row(second).annotator)
    page.goto(f"{editor.server.url}/annotate/plain/items/{item.pk}/")
    look(page, "shapes-compared")
    expect(page.locator("svg.overlay polygon")).to_have_count(3)
    page.get_by_role("button", name="Adjudicate").click()
    expect(page.locator("#editor[data-ready]")).to_be_attached()
    page.get_by_role("option", name="Outlines").click()
    page.locator(".cluster").filter(has_not_text="✓ added").get_by_role("button", name="Add").click()
    look(page, "outlines-adjudication")
    page.get_by_role("option", name="Points").click()
    look(page, "shapes-adjudication")
    expect(page.locator(".cluster")).to_contain_text("Top: 31 %, 30 %")
    expect(page.get_by_text("✓ added")).to_have_count(1)
    page.locator("#panel .object-row").click()
    page.keyboard.press("Delete")
    page.locator(".cluster").get_by_role("button", name="Add").click()
    saved(page)
    work = Annotation.objects.exclude(pk__in=(first, second)).get()
    near(editor.objects(work.pk, POINTS)[0]["point"], (0.31, 0.3))
    assert [len(mark["polygon"]) for mark in editor.objects(work.pk, OUTLINES)] == [3, 3]
