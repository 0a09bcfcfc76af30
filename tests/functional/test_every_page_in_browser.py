"""Every page of staff and annotators in a real browser.

Axe finds no problem, a narrow screen holds the page, and pictures stay alike. The pictures lie beside this
file. With RENEW_PICTURES=1 they are taken again; look at them before they are committed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize

from scripts.pictures.gallery import (
    launch_advice_study,
    name_page_kind,
    run_full_site,
    visit_advice_pages,
    visit_pages,
)
from scripts.sites.example import make_link
from scripts.sites.site import Site
from tests.functional.compared_pictures import MOST_DIFFERENT, difference, lasting_difference, picture_of
from tests.functional.pages import fits
from tests.paths import ROOT

pytestmark = pytest.mark.service

PICTURES = Path(__file__).parent / "pictures"
VIEW: ViewportSize = {"width": 1280, "height": 900}
MOST_BYTES = 10_000_000
CUT_WORDS = """[...document.querySelectorAll(".rail li a")].filter(
  link => link.scrollWidth > link.clientWidth || link.getBoundingClientRect().right > innerWidth
).map(link => link.textContent.trim())"""
STUDY, STUDIO, PROJECT = "/staff/studies/world-facts/", "/staff/studio/world-facts/", "/annotate/scenes/"
PICTURED = {path.stem for path in (ROOT / "docs/images/pages").rglob("*.png")}
FOR_VISITORS = ("/", "/accounts/login/")
PAGES = (
    *FOR_VISITORS,
    *("/start/", "/no-such-page/"),
    *("/staff/", "/staff/sample-size/", "/staff/correctness/"),
    *(f"{STUDY}{page}" for page in ("", "participants/", "responses/", "results/", "settings/")),
    *(f"{STUDIO}step/{step}/" for step in ("texts", "questionnaire")),
    *("/data/", "/systems/", "/people/", "/account/tokens/"),
    "/annotate/",
    *(f"{PROJECT}{page}" for page in ("", "items/", "review/", "outputs/", "members/", "export/")),
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with run_full_site() as running:
        yield running


def owner(browser: Browser, site: Site, width: int, language: str = "en") -> Page:
    """A page of the demo's researcher."""
    login = json.loads((site.var / "demo.json").read_text(encoding="utf-8"))["staff"]
    context = browser.new_context(viewport=VIEW | {"width": width}, reduced_motion="reduce", locale=language)
    page = context.new_page()
    page.goto(f"{site.url}/accounts/login/")
    page.locator("main input[name=username]").fill(login["username"])
    page.locator("main input[name=password]").fill(login["password"])
    page.locator("main form button").first.click()
    page.wait_for_url("**/start/")
    return page


@pytest.mark.parametrize(
    "width",
    [390, pytest.param(1280, marks=pytest.mark.soak), pytest.param(1920, marks=pytest.mark.soak)],
)
def test_pages_look_as_they_did(site: Site, browser: Browser, width: int):
    member, different = owner(browser, site, width), list[str]()
    visitor = browser.new_context(viewport=VIEW | {"width": width}, reduced_motion="reduce").new_page()
    for address in PAGES:
        page = visitor if address in FOR_VISITORS else member
        page.goto(f"{site.url}{address}")
        page.evaluate("document.fonts.ready.then(() => true)")
        path = PICTURES / f"{name_page_kind(address) or 'home'}-{width}.png"
        if os.environ.get("RENEW_PICTURES"):
            PICTURES.mkdir(exist_ok=True)
            picture_of(page).save(path, optimize=True)
        elif share := lasting_difference(page, path):
            different.append(f"{path.name}: {share:.1%} of the pixels")
    member.context.close()
    visitor.context.close()
    assert not different, "\n".join(different)


def test_every_page_is_accessible_and_fits_phones_and_tablets(site: Site, browser: Browser, axe_script: str):
    site.manage("simulate_participants", "world-facts", "-n", "6")
    # In German, whose words are longer.
    page, problems, names = owner(browser, site, 320, "de"), list[str](), list[str]()

    def note(message: ConsoleMessage) -> None:
        # The preview of the studio is a sandbox without scripts, on purpose.
        if message.type == "error" and "frame is sandboxed" not in message.text:
            problems.append(f"{page.url}: {message.text}")

    page.on("console", note)
    for name in visit_pages(page, site, pause_ms=100):
        names.append(name)
        for screen in (768, 1024, 320):  # a tablet in both ways, then the phone again
            page.set_viewport_size({"width": screen, "height": VIEW["height"]})
            if not fits(page):
                problems.append(f"{name} is wider than {screen} pixels")
        problems += [f"{name}: the menu cuts {word}" for word in page.evaluate(CUT_WORDS)]
        page.evaluate(axe_script)
        violations = page.evaluate("axe.run().then(result => result.violations.map(each => each.id))")
        problems += [f"{name}: {rule}" for rule in violations]
    page.context.close()
    assert not problems, "\n".join(problems)
    assert len(names) > 50
    assert not set(names) - PICTURED, "python -m scripts.pictures.gallery takes their pictures for the docs"


def test_pages_with_advice_are_accessible_and_fit_a_phone(site: Site, browser: Browser, axe_script: str):
    launch_advice_study(site)
    problems, names = list[str](), list[str]()
    for width in (320, 1280):
        page = browser.new_page(viewport=VIEW | {"width": width})
        for name in visit_advice_pages(page, make_link(site, "world-advice")):
            names.append(name)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.evaluate(axe_script)
            problems += page.evaluate("axe.run().then(result => result.violations.map(each => each.id))")
        page.close()
    assert names == 2 * ["advice-1", "advice-2"]
    assert not problems


def test_words_of_the_editor_are_plain_text(site: Site, browser: Browser):
    page = owner(browser, site, 1280)
    page.goto(f"{site.url}/annotate/games/")
    page.locator("main form[action$='/next/'] button").click()
    word = page.locator(".token").first
    word.wait_for()
    assert word.evaluate("word => getComputedStyle(word).textDecorationLine") == "none"
    page.context.close()


def test_pictures_are_of_the_pages_and_stay_small():
    names = {re.sub(r"-\d+$", "", path.stem) for path in PICTURES.glob("*.png")}
    assert names == {name_page_kind(address) or "home" for address in PAGES}
    assert sum(path.stat().st_size for path in PICTURES.glob("*.png")) < MOST_BYTES


def test_a_changed_style_is_noticed():
    picture = Image.new("RGB", (100, 100), "white")
    changed = picture.copy()
    changed.paste((0, 0, 0), (0, 0, 100, 1))  # a line of one pixel across the page
    assert difference(picture, changed) == 0.01 > MOST_DIFFERENT
    assert difference(picture, picture.copy()) == 0
    assert difference(picture, Image.new("RGB", (100, 101), "white")) == 1
