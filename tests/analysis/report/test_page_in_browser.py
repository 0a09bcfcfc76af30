"""The report of the released study in a real browser.

It is short, narrow enough, accessible and sortable.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from analysis.participants.bundle import load_bundle
from analysis.report.build import build_report
from analysis.report.page import render
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import released_study

pytestmark = pytest.mark.service
BEFORE = 23_553  # pixels at a width of 1,280 before the report answered on its first screen
A4 = 703  # pixels of a line in print
WIDER = """[...document.querySelectorAll("table, svg, p, ul")]
    .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(each => each.textContent.slice(0, 60))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    bundle = load_bundle(released_study(tmp_path_factory.mktemp("released")))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(build_report(analyse(bundle, Options(resamples=50)))), "utf-8")
    return path


def open_report(page: Page, report: Path, width: int = 1280) -> list[str]:
    """Open the report; return the list that errors of its script go to."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(report.as_uri())
    return errors


def open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")


def test_the_page_is_half_as_long_and_fits(page: Page, report: Path, axe_script: str):
    errors = open_report(page, report)
    assert page.evaluate("document.documentElement.scrollHeight") < BEFORE / 2
    assert page.locator(".cards").bounding_box()["y"] < 200  # type: ignore[index]
    open_all(page)
    assert page.evaluate("document.documentElement.scrollHeight") < BEFORE
    assert page.evaluate(WIDER) == []
    page.evaluate(axe_script)
    assert page.evaluate("axe.run().then(found => found.violations.map(each => each.id))") == []
    for width in (320, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert errors == []


def test_the_summary_is_on_the_first_screen_of_a_phone(page: Page, report: Path):
    open_report(page, report, 390)
    contents = page.get_by_role("navigation").get_by_role("link")
    assert contents.first.is_hidden()
    assert page.locator(".card li").first.bounding_box()["y"] < 700  # type: ignore[index]
    page.get_by_role("navigation").locator("summary").click()
    assert contents.first.is_visible()


def test_everything_is_printed_on_a4(page: Page, report: Path):
    open_report(page, report, A4)
    page.emulate_media(media="print")
    assert page.evaluate(WIDER) == []
    assert page.get_by_text("Hash of the study's frozen definition").is_visible()  # of a closed part


def test_a_heading_sorts_its_column(page: Page, report: Path):
    open_report(page, report)
    table = page.locator("table", has=page.locator("#table-measures"))
    head = table.locator("thead th").nth(1)
    shown = table.locator("tbody td:nth-child(2)")

    def values() -> list[float]:
        return [float(text.split()[0].replace("−", "-")) for text in shown.all_inner_texts()]

    for direction, is_reversed in (("ascending", False), ("descending", True)):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == direction
        assert values() == sorted(values(), reverse=is_reversed)


def test_the_page_works_without_its_script(browser: Browser, report: Path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("thead button").count() == 0
    page.get_by_role("heading", name="Exclusions").click()
    assert page.get_by_text("No trial is excluded by more than one rule.").is_visible()
    context.close()
