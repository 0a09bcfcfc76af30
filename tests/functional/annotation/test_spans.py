"""Spans in the browser, by mouse, touch and keyboard.

The tests mark, extend and delete spans, and count characters.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from tests.functional.annotation.conftest import PHONE, Editor
from tests.functional.annotation.items import FIND_GOALS, GOALS, PASSAGE, layer, span, tokens_of
from tests.functional.annotation.steps import reload, saved

pytestmark = pytest.mark.service

KICKED = tokens_of(PASSAGE).index((PASSAGE.index("kicked"), PASSAGE.index("kicked") + 6))


def token(page: Page, index: int) -> tuple[float, float]:
    # A line may end at the hyphen of a word, so its first part counts.
    rectangle: Any = page.locator(".token").nth(index).evaluate("token => token.getClientRects()[0].toJSON()")
    return rectangle["x"] + 6, rectangle["y"] + 8


def mark(page: Page, start: int, end: int) -> None:
    """Drag from one token to another, which is the last one of the span."""
    page.mouse.move(*token(page, start))
    page.mouse.down()
    page.mouse.move(*token(page, (start + end) // 2))
    page.mouse.move(*token(page, end))
    page.mouse.up()


def quotes(editor: Editor, annotation: int) -> list[str]:
    return [mark["quote"] for mark in editor.objects(annotation, FIND_GOALS)]


def test_spans_are_marked_extended_and_deleted_by_mouse(editor: Editor, page: Page):
    annotation = editor.make(**GOALS)
    editor.open(page, annotation)
    mark(page, KICKED + 1, KICKED + 4)
    saved(page)
    assert quotes(editor, annotation) == ["a 23-yard field goal"]
    mark(page, KICKED + 4, KICKED + 2)  # from right to left, over the first one
    saved(page)
    assert quotes(editor, annotation) == ["a 23-yard field goal", "23-yard field goal"]
    page.get_by_role("button", name="Add the word after").click()
    saved(page)
    assert quotes(editor, annotation)[1] == "23-yard field goal,"
    page.mouse.click(*token(page, KICKED + 1))  # only the first one lies there
    expect(page.locator(".object-row[aria-current]")).to_contain_text("a 23-yard field goal")
    page.get_by_role("button", name="Delete").click()
    saved(page)
    assert quotes(editor, annotation) == ["23-yard field goal,"]


def test_spans_live_by_keyboard_alone(editor: Editor, page: Page):
    annotation = editor.make(**GOALS)
    editor.open(page, annotation)
    page.keyboard.press("e")
    for _step in range(KICKED):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#announcer")).to_have_text("kicked")
    for _step in range(4):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#announcer")).to_have_text("kicked a 23-yard field goal, 5 words")
    page.keyboard.press("Enter")
    saved(page)
    assert quotes(editor, annotation) == ["kicked a 23-yard field goal"]
    # Pushes within a second or so are one; here they take no time, however slow the machine is.
    page.clock.set_fixed_time(page.evaluate("Date.now() + 10_000"))
    for key in ["]", "]", "}", "[", "{", "{"]:
        page.keyboard.press(key)
    saved(page)
    assert quotes(editor, annotation) == ["a 23-yard field goal,"]
    page.keyboard.press("Control+z")  # all six were one push of one span
    saved(page)
    assert quotes(editor, annotation) == ["kicked a 23-yard field goal"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    saved(page)
    assert len(quotes(editor, annotation)) == 2
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Delete")
    saved(page)
    assert len(quotes(editor, annotation)) == 1
    reload(page)
    page.keyboard.press("Control+z")
    saved(page)
    assert "kicked a 23-yard field goal" in quotes(editor, annotation)


def test_a_finger_taps_the_first_and_the_last_word(editor: Editor, browser: Browser):
    annotation = editor.make(**GOALS)
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = editor.open(context.new_page(), annotation)
    page.locator(".token").nth(KICKED + 2).tap()
    expect(page.get_by_role("button", name="Mark this word")).to_be_visible()
    page.locator(".token").nth(KICKED + 4).tap()
    page.get_by_role("button", name="Mark these 3 words").tap()
    saved(page)
    assert quotes(editor, annotation) == ["23-yard field goal"]
    context.close()


def test_spans_over_each_other_keep_lines_of_their_own(editor: Editor, page: Page):
    spans = layer(*(span(f"s{number}", 10 - number, 11 + number) for number in range(5)))
    annotation = editor.make(**GOALS, layers={FIND_GOALS: spans})
    editor.open(page, annotation)
    classes = page.locator(".token").nth(10).get_attribute("class") or ""
    assert {name for name in classes.split() if name.startswith("own-")} == {
        f"own-{lane}" for lane in range(5)
    }
    page.mouse.click(*token(page, 10))  # the shortest first, then one after the other
    for number in (0, 1, 2):
        expect(page.locator(".object-row[aria-current] .number-tag")).to_have_text(str(number + 1))
        page.mouse.click(*token(page, 10))


def test_linked_spans_name_their_source(editor: Editor, page: Page):
    annotation = editor.make(
        **{**GOALS, "program": "find-max-num(find-num(find[field goals]))", "answer": None},
        layers={2: layer(span("a", KICKED, KICKED + 5), span("b", 50, 54), state="done")},
    )
    editor.open(page, annotation)
    mark(page, KICKED + 2, KICKED + 2 + 1)
    page.get_by_role("button", name="“kicked a 23-yard field goal”").click()
    saved(page)
    assert editor.objects(annotation, 1)[0]["links"] == ["a"]
    page.keyboard.press("d")
    page.keyboard.press("1")
    saved(page)
    assert editor.objects(annotation, 0)[0]["ref"] == editor.objects(annotation, 1)[0]["id"]


@pytest.fixture
def offsets(editor: Editor, page: Page) -> Page:
    """A page of the site that can load its modules."""
    editor.open(page, editor.make(**GOALS))
    return page


COUNT = """async texts => {
  const { createOffsets } = await import("/static/js/annotation/passages/offsets.js");
  return texts.map(text => {
    const offsets = createOffsets(text);
    const units = Array.from({ length: offsets.points + 1 }, (_each, point) => offsets.convertToUnit(point));
    const back = Array.from({ length: text.length + 1 }, (_each, unit) => offsets.convertToPoint(unit));
    const parts = units.slice(1).map((_unit, point) => offsets.slice(point, point + 1));
    return { units, back, parts };
  });
}"""

AWKWARD = [
    "", "plain", "a😀b", "👩\u200d👩\u200d👧\u200d👦 family", "e\u0301 and é", "one\r\ntwo\rthree\n",
    "שלום עולם", "non\u00a0breaking", "🇩🇪🇫🇷", "\U0001d11e clef",
]  # fmt: skip


def test_code_points_and_units_agree_with_python(offsets: Page):
    texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=20, max_size=20)

    @settings(max_examples=25, deadline=None)
    @given(texts)
    def agree(drawn: list[str]) -> None:
        samples = AWKWARD + drawn
        for text, counted in zip(samples, offsets.evaluate(COUNT, samples), strict=True):
            units = [len(text[:point].encode("utf-16-le")) // 2 for point in range(len(text) + 1)]
            assert counted["units"] == units
            assert counted["parts"] == list(text)
            assert [counted["back"][unit] for unit in units] == list(range(len(text) + 1))

    agree()


def test_a_passage_with_emoji_and_line_ends_is_quoted_right(editor: Editor, page: Page):
    text = "The 👩‍👩‍👧 cheered 🎉🎉 twice.\r\nThen Müller (e\u0301lan!) won\u00a0it."
    bounds = [(m, m + len(word)) for word, m in _places(text)]
    annotation = editor.make(**{**GOALS, "passage": text, "tokens": bounds, "answer": None})
    editor.open(page, annotation)
    words = [text[start:end] for start, end in bounds]
    assert [shown.strip() for shown in page.locator(".token").all_inner_texts()] == [
        word.strip() for word in words
    ]
    mark(page, 2, 6)
    saved(page)
    [stored_span] = editor.objects(annotation, FIND_GOALS)
    assert stored_span["quote"] == text[stored_span["span"][0] : stored_span["span"][1]]
    assert stored_span["tokens"] == [2, 7]


def test_a_passage_from_right_to_left_is_walked_with_its_direction(editor: Editor, page: Page):
    text = "הקבוצה ניצחה במשחק הראשון"
    bounds = [(start, start + len(word)) for word, start in _places(text)]
    annotation = editor.make(**{**GOALS, "passage": text, "tokens": bounds, "answer": None})
    editor.open(page, annotation)
    page.keyboard.press("e")
    for key in ("ArrowLeft", "Shift+ArrowLeft", "Enter"):
        page.keyboard.press(key)
    saved(page)
    assert quotes(editor, annotation) == ["ניצחה במשחק"]


def _places(text: str) -> list[tuple[str, int]]:
    words, position = [], 0
    for word in text.replace("\r\n", "  ").replace("\u00a0", " ").split(" "):
        if word:
            words.append((word, position))
        position += len(word) + 1
    return words
