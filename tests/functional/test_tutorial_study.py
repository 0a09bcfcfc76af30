"""The tutorial of a study does what it says, in its order.

The test follows its commands, pages, fields and buttons.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site
from tests.functional.pages import follow
from tests.functional.test_staff_running_in_browser import ADD_STAFF, log_in

pytestmark = pytest.mark.service

PAGE = (ROOT / "docs/tutorials/study.md").read_text(encoding="utf-8")
# A step of the page: commands in a block, an address, a row of a table, or a button or link in bold.
STEP = re.compile(
    r"```sh\n(?P<shell>.*?)```|<(?P<address>http://127\.0\.0\.1:8000/[^>]*)>"
    r"|^\| (?P<field>[^|]+) \| (?P<value>[^|]+) \|$|\*\*(?P<press>[^*]+)\*\*",
    re.DOTALL | re.MULTILINE,
)


class Step(NamedTuple):
    """One thing to do. ``value`` is what goes into a field."""

    kind: str
    what: str
    value: str = ""


def steps() -> Iterator[Step]:
    for match in STEP.finditer(PAGE):
        if match["shell"]:
            yield from (Step("shell", line) for line in match["shell"].splitlines())
        elif match["address"]:
            yield Step("address", match["address"])
        elif match["press"]:
            yield Step("press", match["press"])
        elif match["field"] not in ("field", "---"):
            yield Step("field", match["field"], match["value"])


def test_the_page_has_what_the_test_looks_for():
    kinds = [step.kind for step in steps()]
    assert kinds.count("shell") == 9
    assert kinds.count("address") == 9
    assert kinds.count("press") > 15
    assert kinds.count("field") > 12


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site whose model server answers for both systems with made-up answers."""
    with run_site(fake=("qi2019", "select-and-forget")) as running:
        running.manage("shell", "--no-imports", "--command", ADD_STAFF)
        yield running


def run(site: Site, line: str, build: Path) -> str:
    """Run a command of the page with its files in a folder of the test."""
    python, *words = [word.replace("build/", f"{build}/") for word in shlex.split(line)]
    assert python == ".venv/bin/python"
    if words[0] == "manage.py":
        return site.manage(*words[1:])
    return site.manage(*words, *(["--resamples", "200"] if "report" in words else []))


def visible(locator: Locator) -> Locator:
    """The last of several that can be seen: the page says so where it matters."""
    return locator.locator("visible=true").last


def fill(page: Page, label: str, value: str) -> None:
    field = visible(page.get_by_label(label, exact=True))
    if field.evaluate("element => element.tagName") == "SELECT":
        field.select_option(label=value)
    else:
        field.fill(value)


def press(page: Page, name: str) -> None:
    pattern = re.compile(rf"^(\d )?{re.escape(name)}( ?:| \d+ to do|$)")
    target = page.get_by_role("button", name=pattern).or_(page.get_by_role("link", name=pattern))
    follow(visible(target))


def test_it_works(site: Site, browser: Browser, tmp_path: Path):
    page = browser.new_context().new_page()
    outputs = []
    for step in steps():
        if step.kind == "shell":
            outputs.append(run(site, step.what, tmp_path))
        elif step.kind == "field":
            fill(page, step.what, step.value)
        elif step.kind == "press":
            press(page, step.what)
            if step.what == "Save and continue":
                expect(page.locator(".error-text")).to_have_count(0)
        elif step.what.endswith("/accounts/login/"):
            log_in(page, site)
        else:
            response = page.goto(step.what.replace("http://127.0.0.1:8000", site.url))
            assert response is not None
            assert response.status == 200, step.what
        if step == Step("press", "Create link"):
            link = page.locator("[data-once]").input_value()
            visitor = browser.new_context().new_page()
            visitor.goto(link)
            expect(visitor.get_by_text("It takes about 15 minutes.")).to_be_visible()
    assert "40 completed" in outputs[-3]
    bundle, report = tmp_path / "tutorial-bundle", tmp_path / "tutorial-report"
    flow = (bundle / "participants.csv").read_text(encoding="utf-8")
    for condition in ("qi2019", "select-and-forget", "ground truth", "qi2019 (no explanation)"):
        assert f",{condition}," in flow
    version = (bundle / "study_version.json").read_text(encoding="utf-8")
    for text in ("does-not-read", "read-this", "umux_ease"):
        assert text in version
    text = next(report.glob("*.html")).read_text(encoding="utf-8")
    assert "qi2019" in text
    assert "Styles of the same system" in text
    # With and without explanations is one system; what only explanations can show has no row there.
    styles = (report / "tables/styles.csv").read_text(encoding="utf-8")
    assert "qi2019 (no explanation)" in styles
    assert "over_estimation" in styles
    assert "helpfulness" not in styles
