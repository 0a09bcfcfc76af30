"""Each way to mark by mouse, keyboard and touch.

Marks are on words, on characters, and on images turned or lit otherwise.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from annotation.actions import data
from annotation.content.schemas import ItemRecord
from tests.functional.annotation.conftest import PHONE, Editor
from tests.functional.annotation.items import DOGS, FIND_DOGS, FIND_GOALS, GOALS, box, layer, span
from tests.functional.annotation.steps import at, drag, near, reload, saved, sheet
from tests.functional.annotation.test_editor import problems
from tests.functional.annotation.test_spans import KICKED, quotes, token

pytestmark = pytest.mark.service

TOKYO = "東京都の人口は約1400万人です。"
JAPANESE = {**GOALS, "passage": TOKYO, "tokens": [(0, 8), (8, 12), (12, 16), (16, 17)], "answer": None}
LONG = " ".join(f"Sentence {number} of a long passage ends here." for number in range(300))


@pytest.fixture
def goals(editor: Editor, page: Page) -> int:
    annotation = editor.make(**GOALS)
    editor.open(page, annotation)
    return annotation


def test_a_double_click_marks_one_word_once(editor: Editor, page: Page, goals: int):
    page.mouse.dblclick(*token(page, KICKED))
    saved(page)
    assert quotes(editor, goals) == ["kicked"]
    page.wait_for_timeout(600)  # so that the next two clicks are none of these
    page.mouse.dblclick(*token(page, KICKED))
    saved(page)
    assert quotes(editor, goals) == ["kicked"]
    page.mouse.click(*token(page, KICKED + 5))
    saved(page)
    assert quotes(editor, goals) == ["kicked"]


def test_a_double_click_marks_a_word_within_its_source(editor: Editor, page: Page):
    annotation = editor.make(
        **{**GOALS, "program": "find-max-num(find-num(find[field goals]))", "answer": None},
        layers={2: layer(span("a", KICKED, KICKED + 5), span("b", 50, 54), state="done")},
    )
    editor.open(page, annotation)
    page.mouse.dblclick(*token(page, KICKED + 2))
    saved(page)
    assert [mark["quote"] for mark in editor.objects(annotation, 1)] == ["23-yard"]


def test_a_drag_within_a_word_marks_it_and_a_trembling_click_does_not(editor: Editor, page: Page, goals: int):
    x, y = token(page, KICKED)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 2, y)
    page.mouse.up()
    x, y = token(page, KICKED + 4)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 15, y)
    page.mouse.up()
    saved(page)
    assert quotes(editor, goals) == ["goal"]


def test_one_click_marks_one_word_and_the_browser_keeps_it_so(editor: Editor, page: Page, goals: int):
    page.keyboard.press("q")
    expect(page.get_by_role("button", name="Mark with one click")).to_have_attribute("aria-pressed", "true")
    page.mouse.click(*token(page, KICKED))
    reload(page)
    page.mouse.click(*token(page, KICKED + 2))
    page.mouse.click(*token(page, KICKED))  # marked already: it is selected
    expect(page.locator(".object-row[aria-current]")).to_contain_text("kicked")
    saved(page)
    assert quotes(editor, goals) == ["kicked", "23-yard"]


def test_a_page_that_was_made_before_a_mark_was_saved_has_it(editor: Editor, page: Page, goals: int):
    def make_before(route: Route) -> None:
        earlier = route.fetch()
        while quotes(editor, goals) != ["kicked"]:
            time.sleep(0.05)
        time.sleep(0.5)  # by then the page that is left has the answer
        route.fulfill(response=earlier)

    page.mouse.dblclick(*token(page, KICKED))
    page.route(page.url, make_before, times=1)
    reload(page)
    expect(page.locator(".object-row")).to_contain_text("kicked")
    saved(page)
    assert quotes(editor, goals) == ["kicked"]
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('annotation:'))") == []


def test_a_finger_marks_a_word_with_one_tap(editor: Editor, browser: Browser):
    annotation = editor.make(**GOALS)
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = editor.open(context.new_page(), annotation)
    page.get_by_role("button", name="Mark with one click").tap()
    page.locator(".token").nth(KICKED).tap()
    saved(page)
    assert quotes(editor, annotation) == ["kicked"]
    context.close()


def test_scripts_without_spaces_are_marked_by_character(editor: Editor, page: Page):
    annotation = editor.make(**JAPANESE)
    editor.open(page, annotation)
    expect(page.get_by_role("button", name="Mark characters")).to_have_attribute("aria-pressed", "true")
    page.mouse.move(*token(page, 0))
    page.mouse.down()
    page.mouse.move(*token(page, 2))
    page.mouse.up()
    saved(page)
    [mark] = editor.objects(annotation, FIND_GOALS)
    assert (mark["quote"], mark["span"], mark["tokens"]) == ("東京都", [0, 3], [0, 1])
    page.get_by_role("button", name="Remove the last character").click()
    saved(page)
    assert quotes(editor, annotation) == ["東京"]
    page.keyboard.press("k")  # words again: the span still ends within its token
    expect(page.locator(".token")).to_have_count(8 + 3)
    reload(page)
    page.mouse.dblclick(*token(page, 4))
    saved(page)
    assert quotes(editor, annotation) == ["東京", "人口"]


def test_characters_are_marked_by_keyboard(editor: Editor, page: Page, goals: int):
    page.keyboard.press("e")
    for _step in range(KICKED):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("k")
    expect(page.locator("#announcer")).to_contain_text("Marking characters.")
    for key in ("Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("#announcer")).to_contain_text("kic, 3 characters")
    page.keyboard.press("Enter")
    saved(page)
    assert quotes(editor, goals) == ["kic"]
    page.keyboard.press("]")
    saved(page)
    assert quotes(editor, goals) == ["kick"]


def test_a_finger_marks_characters(editor: Editor, browser: Browser):
    annotation = editor.make(**JAPANESE)
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = editor.open(context.new_page(), annotation)
    page.locator(".token").nth(4).tap()
    page.locator(".token").nth(5).tap()
    page.get_by_role("button", name="Mark these 2 characters").tap()
    saved(page)
    assert quotes(editor, annotation) == ["人口"]
    context.close()


def test_no_character_is_cut(editor: Editor, page: Page):
    text = "👩\u200d👩\u200d👧 won e\u0301lan 🇩🇪🇫🇷 क्षि\r\na"
    characters = ["👩\u200d👩\u200d👧", *"won", "e\u0301", *"lan", "🇩🇪", "🇫🇷", "क्षि", "a"]
    points = [(number, number + 1) for number, character in enumerate(text) if not character.isspace()]
    annotation = editor.make(**{**GOALS, "passage": text, "tokens": points, "answer": None})
    editor.open(page, annotation)  # the file's tokens cut them, words do not
    expect(page.locator(".token")).to_have_text(characters, use_inner_text=True)
    page.keyboard.press("k")
    expect(page.locator(".passage.in-characters")).to_be_attached()
    expect(page.locator(".token")).to_have_text(characters, use_inner_text=True)
    page.keyboard.press("q")
    for index in (0, 4, 8):  # waits until the line stands: the fonts of these characters come late
        page.locator(".token").nth(index).click(position={"x": 6, "y": 8})
        saved(page)
    marked = editor.objects(annotation, FIND_GOALS)
    assert [mark["quote"] for mark in marked] == [characters[index] for index in (0, 4, 8)]
    assert all(mark["quote"] == text[slice(*mark["span"])] for mark in marked)


def test_a_long_passage_scrolls_by_keyboard(editor: Editor, page: Page, axe_script: str):
    annotation = editor.make(**{**GOALS, "passage": LONG, "tokens": _words(LONG), "answer": None})
    editor.open(page, annotation)
    assert problems(page, axe_script) == []
    page.keyboard.press("e")
    page.keyboard.press("PageDown")
    page.wait_for_timeout(500)
    assert page.evaluate("document.querySelector('#stage').scrollTop") > 100


@pytest.mark.parametrize("spans", [1, 7])
def test_the_frame_of_the_caret_stays_in_its_line(editor: Editor, page: Page, spans: int):
    over = layer(*(span(f"s{number}", 8, 30 + number) for number in range(spans)))
    editor.open(page, editor.make(**GOALS, layers={FIND_GOALS: over}))
    page.keyboard.press("e")
    for _step in range(9):
        page.keyboard.press("ArrowRight")
    frame: Any = page.locator(".token.caret").bounding_box()
    below = page.evaluate(
        """frame => Math.min(...[...document.querySelectorAll(".token")].flatMap(token => {
          const words = document.createRange();
          words.selectNodeContents(token);
          return [...words.getClientRects()].map(each => each.top).filter(top => top > frame.y + 20);
        }))""",
        frame,
    )
    assert frame["y"] + frame["height"] <= below + 1


def test_boxes_stay_in_their_place_where_the_view_is_turned(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    page.keyboard.press("v")
    image = sheet(page, 0)
    assert image["height"] > image["width"]
    drag(page, 0, (0.2, 0.1), (0.5, 0.3))  # as it is seen
    saved(page)
    [drawn] = editor.objects(annotation, FIND_DOGS)
    near(drawn["box"], (0.1, 0.5, 0.3, 0.8), 0.02)
    page.mouse.click(*at(page, 0, 0.35, 0.2))
    page.keyboard.press("Shift+ArrowRight")  # to the right as it is seen: up in the image
    saved(page)
    [moved] = editor.objects(annotation, FIND_DOGS)
    near(
        moved["box"],
        (drawn["box"][0], drawn["box"][1] - 10 / 480, drawn["box"][2], drawn["box"][3] - 10 / 480),
    )
    drag(page, 0, (0.36, 0.2), (0.46, 0.3))
    saved(page)
    near(
        editor.objects(annotation, FIND_DOGS)[0]["box"],
        (moved["box"][0] + 0.1, moved["box"][1] - 0.1, moved["box"][2] + 0.1, moved["box"][3] - 0.1),
        0.02,
    )
    for _quarter in range(3):
        page.keyboard.press("v")
    before = sheet(page, 0)
    assert before["width"] > before["height"]


def test_light_is_for_the_eye_alone_and_kept(editor: Editor, page: Page, axe_script: str):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    page.keyboard.press("i")
    slider = page.get_by_label("Brightness", exact=True)
    expect(slider).to_be_focused()
    for _press in range(4):
        page.keyboard.press("ArrowRight")
    assert problems(page, axe_script) == []
    filtered = "getComputedStyle(document.querySelector('.sheet img')).filter"
    assert page.evaluate(filtered) == "brightness(1.2) contrast(1)"
    page.keyboard.press("Escape")
    expect(slider).to_be_hidden()
    reload(page)
    assert page.evaluate(filtered) == "brightness(1.2) contrast(1)"
    page.keyboard.press("i")
    page.get_by_role("button", name="Reset").click()
    assert page.evaluate(filtered) == "none"
    assert editor.revision(annotation) == 0


def test_the_crosshair_follows_the_pointer(editor: Editor, page: Page):
    editor.open(page, editor.make(**DOGS))
    page.mouse.move(*at(page, 0, 0.5, 0.5))
    expect(page.locator(".cross").first).to_be_hidden()
    page.keyboard.press("k")
    page.mouse.move(*at(page, 0, 0.25, 0.5))
    expect(page.locator(".cross").first).to_be_visible()
    x = page.locator(".cross").first.evaluate("cross => parseFloat(cross.style.getPropertyValue('--x'))")
    assert x == pytest.approx(0.25 * sheet(page, 0)["width"], abs=1)
    page.mouse.move(*at(page, 1, 0.5, 0.5))
    expect(page.locator(".cross").first).to_be_hidden()


def test_a_zoomed_image_scrolls_by_keyboard(editor: Editor, page: Page, axe_script: str):
    editor.open(page, editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.2, 0.2))}))
    for _time in range(3):
        page.keyboard.press("+")
    assert problems(page, axe_script) == []
    page.locator("#stage").focus()
    before = sheet(page, 0)["x"]
    page.keyboard.press("ArrowRight")
    assert sheet(page, 0)["x"] < before


def test_images_of_the_next_item_are_loaded_before(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    row = editor.row(annotation)
    second = ItemRecord.model_validate(
        {
            "external_id": "second",
            "kind": "boxes",
            "program": DOGS["program"],
            "text": "?",
            "images": [{"name": "other.png"}],
        }
    )
    (editor.pictures / "other.png").write_bytes((editor.pictures / "left.png").read_bytes())
    data.import_items(records=[second], project=row.project, image_folder=editor.pictures)
    [file] = row.project.image_files.filter(name="other.png")
    with page.expect_request(lambda request: request.url.endswith(f"/images/{file.pk}/")):
        editor.open(page, annotation)
    assert row.item.project.annotations.count() == 1  # to look reserves nothing


def _words(text: str) -> list[tuple[int, int]]:
    bounds, start = [], 0
    for word in text.split(" "):
        bounds.append((start, start + len(word)))
        start += len(word) + 1
    return bounds
