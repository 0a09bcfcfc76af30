"""The editor in its frame: images fill the free space, panels fold.

The way to other pages stays.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from accounts.models import Role as WorkspaceRole
from annotation.models import Role
from tests.annotation import factories
from tests.functional.annotation.conftest import PHONE, Editor
from tests.functional.annotation.items import DOGS, FIND_DOGS, GOALS, box, layer
from tests.functional.annotation.steps import reload, saved, sheet
from tests.workspaces import give

pytestmark = pytest.mark.service

LAPTOP = ViewportSize(width=1280, height=800)
WIDE = ViewportSize(width=1920, height=1080)
SMALLEST = ViewportSize(width=320, height=844)
TABLET = ViewportSize(width=820, height=1180)
CAPTION, GAP = 20, 8  # pixels above an image and between two
SHAPE = 4 / 3  # of both images


def area(page: Page) -> float:
    """The square pixels that both images take."""
    return sum(sheet(page, image)["width"] * sheet(page, image)["height"] for image in (0, 1))


def best(stage: dict[str, float]) -> float:
    """The square pixels that two images could take beside or below each other."""
    width, height = stage["width"], stage["height"]
    beside = min(height - CAPTION, (width - GAP) / 2 / SHAPE)
    below = min(width / SHAPE, (height - GAP) / 2 - CAPTION)
    return float(2 * SHAPE * max(beside, below) ** 2)


@pytest.mark.parametrize(
    ("size", "folded", "least"),
    [
        # Shares of the window. With two columns of panels on every screen they were 0.22, 0.28 and 0.40.
        (LAPTOP, False, 0.33),
        (WIDE, False, 0.32),
        (TABLET, False, 0.5),
        (LAPTOP, True, 0.52),
        (WIDE, True, 0.6),
    ],
)
def test_images_take_what_is_free(
    editor: Editor, browser: Browser, size: ViewportSize, folded: bool, least: float
):
    annotation = editor.make(**DOGS)
    context = browser.new_context(viewport=size)
    page = editor.open(context.new_page(), annotation)
    if folded:
        page.keyboard.press("f")
        expect(page.locator("#program-part")).to_be_hidden()
    page.wait_for_timeout(200)  # the images follow the window
    stage: Any = page.locator("#stage").bounding_box()
    assert area(page) > 0.95 * best(stage)
    assert area(page) > least * size["width"] * size["height"]
    assert page.evaluate("document.documentElement.scrollHeight") == size["height"]
    context.close()


def test_images_fill_the_width_of_a_phone(editor: Editor, browser: Browser):
    annotation = editor.make(**DOGS)
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = editor.open(context.new_page(), annotation)
    expect(page.locator("#program-part")).to_be_hidden()  # else the images would begin out of sight
    image = sheet(page, 0)
    assert image["width"] > 0.94 * PHONE["width"]
    assert image["y"] + image["height"] < PHONE["height"]
    foot: Any = page.locator("#finishing").bounding_box()
    rail: Any = page.locator(".rail").bounding_box()
    assert foot["y"] + foot["height"] <= rail["y"] + 1
    page.get_by_role("button", name="Program", exact=True).tap()
    expect(page.locator("#program-part")).to_be_visible()
    context.close()


def test_the_tools_take_one_row_of_a_phone(editor: Editor, browser: Browser):
    annotation = editor.make(**DOGS)
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = editor.open(context.new_page(), annotation)
    tools: Any = page.locator("#toolbar").bounding_box()
    tool: Any = page.get_by_role("button", name="New box").bounding_box()
    assert tools["height"] < 1.5 * tool["height"]
    page.get_by_role("button", name="Keyboard shortcuts").tap()  # at its end, to which it scrolls
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    context.close()


def test_the_browser_keeps_the_folded_panels_of_each_person(editor: Editor, page: Page):
    annotation, other = editor.make(**DOGS), editor.make(**DOGS)
    editor.open(page, annotation)
    program, details = page.locator("#program-part"), page.locator("#details-part")
    page.keyboard.press("a")
    expect(program).to_be_hidden()
    page.get_by_role("button", name="Details of the step").click()
    expect(details).to_be_hidden()
    reload(page)
    expect(details).to_be_hidden()
    page.keyboard.press("t")  # a key that leads to a panel shows it
    expect(program).to_be_visible()
    page.keyboard.press("f")
    page.keyboard.press("f")
    expect(details).to_be_visible()
    expect(program).to_be_visible()
    page.keyboard.press("s")
    editor.open(page, other)
    expect(details).to_be_visible()


def test_the_current_step_is_in_sight(editor: Editor, browser: Browser):
    context = browser.new_context(viewport=ViewportSize(width=1000, height=560))
    page = editor.open(context.new_page(), editor.make(**DOGS))
    for _step in range(4):
        page.keyboard.press(".")
    step: Any = page.locator(".step[aria-selected=true]").bounding_box()
    steps: Any = page.locator("#program").bounding_box()
    assert steps["y"] <= step["y"]
    assert step["y"] + step["height"] <= steps["y"] + steps["height"]
    context.close()


def test_zoom_to_a_box_and_to_the_real_size(editor: Editor, page: Page):
    annotation = editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 1, 0.6, 0.6, 0.7, 0.7))})
    editor.open(page, annotation)
    page.keyboard.press("r")
    assert sheet(page, 0)["width"] == pytest.approx(640, abs=2)
    page.keyboard.press("0")
    expect(page.locator(".scale")).to_have_text("100%")
    page.locator(".object-row").click()
    page.keyboard.press("b")
    pane: Any = page.locator(".pane").nth(1).bounding_box()
    whole = sheet(page, 1)
    middle = (whole["x"] + 0.65 * whole["width"], whole["y"] + 0.65 * whole["height"])
    assert middle[0] == pytest.approx(pane["x"] + pane["width"] / 2, abs=12)
    assert middle[1] == pytest.approx(pane["y"] + pane["height"] / 2, abs=12)
    assert whole["width"] > 2 * pane["width"]


def test_the_frame_is_around_the_editor(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    project = editor.row(annotation).project
    editor.open(page, annotation)
    rail = page.get_by_role("navigation", name="Site")
    here = rail.get_by_role("link", name="Annotation")
    expect(here).to_have_attribute("aria-current", "page")
    assert rail.bounding_box()["width"] < 60  # type: ignore[index]
    here.hover()
    assert here.locator("span").evaluate("each => getComputedStyle(each).clipPath") == "none"
    crumbs = page.get_by_role("navigation", name="Breadcrumbs")
    expect(crumbs).to_contain_text("Open")
    crumbs.get_by_role("link", name=project.title).click()
    expect(page).to_have_url(f"{editor.server.url}/annotate/{project.slug}/")


def test_what_is_marked_keeps_its_colour_in_a_chosen_theme(editor: Editor, page: Page):
    annotation = editor.make(**GOALS)
    editor.open(page, annotation)
    colour = "getComputedStyle(document.documentElement).getPropertyValue('--span-own')"
    light = page.evaluate(colour)
    page.locator(".menu-user summary").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("#editor[data-ready]")).to_be_attached()
    assert page.evaluate(colour) != light


@pytest.mark.parametrize(
    "size", [SMALLEST, PHONE, TABLET, LAPTOP], ids=["smallest", "phone", "tablet", "laptop"]
)
def test_nothing_moves_when_the_result_of_the_program_appears(
    editor: Editor, browser: Browser, size: ViewportSize
):
    context = browser.new_context(viewport=size)
    page = editor.open(context.new_page(), editor.make(**GOALS))
    before = page.locator("#stage").bounding_box()
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("unlike the expected answer")
    assert page.locator("#stage").bounding_box() == before
    assert page.locator("#verdict").evaluate("line => line.scrollHeight <= line.clientHeight")  # not cut off
    page.keyboard.press("Control+Enter")
    expect(page.locator(".foot-message")).to_contain_text("Still open")
    assert page.locator("#stage").bounding_box() == before
    context.close()


def test_others_only_read_an_annotation(editor: Editor, page: Page):
    annotation = editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4))})
    manager = factories.make_member(editor.row(annotation).project, Role.MANAGER).user
    give(manager, WorkspaceRole.MANAGER)
    editor.log_in(page, manager)
    page.goto(f"{editor.server.url}/annotate/annotation/{annotation}/")
    expect(page.locator("#notice")).to_contain_text("You can only change your own annotations.")
    expect(page.get_by_role("button", name="New box")).to_be_disabled()
    page.keyboard.press("u")
    saved(page)
    assert editor.revision(annotation) == 0
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="item").click()
    expect(page.get_by_role("heading", name=DOGS["text"])).to_be_visible()
