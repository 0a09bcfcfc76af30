"""The editor in other languages, German among them.

Every word of its scripts comes from the catalogue.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.items import DOGS, FIND_DOGS, FIND_GOALS, GOALS, box, layer, span

pytestmark = pytest.mark.service

# A catalogue that marks what goes through it.
MARKING = "gettext = text => `⟦${text}⟧`; ngettext = (one, many, count) => `⟦${count === 1 ? one : many}⟧`;"
# The texts that the page shows or says, but for names of keys, times and what the person wrote.
SHOWN = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest("script, noscript, kbd, time, textarea"))
      found.push(walker.currentNode.data);
  }
  for (const element of document.querySelectorAll("[aria-label], [title], [alt], [placeholder]"))
    for (const name of ["aria-label", "title", "alt", "placeholder"])
      found.push(element.getAttribute(name) ?? "");
  return found;
}"""
WORD = re.compile(r"[^\W\d_]{2,}")


def sent_to(page: Page) -> str:
    """The page as the server sent it, and the data in it."""
    data: str = page.evaluate(
        "JSON.stringify(JSON.parse(document.getElementById('annotation-json').textContent))"
    )
    return page.request.get(page.url).text() + data


def unmarked(page: Page, sent: str) -> set[str]:
    """Return the texts of the page that went through no catalogue.

    They are neither marked nor in what the server has sent, data or page.
    """
    missing = set()
    for text in page.evaluate(SHOWN):
        rest = re.sub(r"\([^()⟦⟧]*\)$", "", text)  # keys, in the title of a tool
        while "⟦" in rest:
            rest, before = re.sub(r"⟦[^⟦⟧]*⟧", " ", rest), rest
            assert rest != before, f"half a text: {text}"
        parts = [part.strip(" \n:,.·“”") for part in re.split(r"\s{2,}|: ", rest)]
        missing |= {part for part in parts if WORD.search(part) and part not in sent}
    return missing


@pytest.mark.parametrize("kind", ["boxes", "spans"])
def test_every_word_of_the_scripts_comes_from_the_catalogue(editor: Editor, page: Page, kind: str):
    if kind == "boxes":
        objects = layer(box("a", 0, 0.1, 0.1, 0.4, 0.4))
        annotation = editor.make(
            **DOGS, layers={FIND_DOGS: objects}, comments=[(FIND_DOGS, "a", "Is the tail in?")]
        )
    else:
        annotation = editor.make(**GOALS, layers={FIND_GOALS: layer(span("s", 3, 9))})

    def mark(route: Route) -> None:
        route.fulfill(body=MARKING, content_type="text/javascript")

    page.route("**/words/*/", mark)
    editor.open(page, annotation)
    sent = sent_to(page)
    missing = unmarked(page, sent)
    for key in ("o", "d", "1", "e", "Tab", "u"):  # steps and states, objects, what is said aloud
        page.keyboard.press(key)
        page.wait_for_timeout(80)  # a moment until it is announced
        missing |= unmarked(page, sent)
    for key in ("w", "?"):
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        missing |= unmarked(page, sent)
        page.keyboard.press("Escape")
    page.keyboard.press("w")
    page.get_by_role("dialog").locator("button[value=save]").click()
    expect(page.locator("#problem")).to_be_visible()
    editor.server.down = True  # offline is said too
    page.keyboard.press("u")
    expect(page.locator("#save-status")).to_have_attribute("data-kind", "offline")
    missing |= unmarked(page, sent)
    assert missing == set()


def test_the_editor_speaks_german(editor: Editor, browser: Browser):
    annotation = editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4))})
    context = browser.new_context(locale="de-DE")
    page = editor.open(context.new_page(), annotation)
    assert page.locator("html").get_attribute("lang") == "de"
    expect(page.get_by_role("button", name="Abgeben", exact=True)).to_be_visible()
    expect(page.locator(".still-open")).to_have_text("2 Schritte noch offen")
    expect(page.locator("figcaption").first).to_have_text("Linkes Bild")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Tastatur")).to_contain_text("Strg+Z")
    context.close()
