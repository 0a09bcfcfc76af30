"""The studio in a real browser: accessible at 320 px and on a desktop, live preview, and a study by keyboard.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.example import load_example
from scripts.site import Site, running_site
from studyapp.studio.steps import STEPS
from tests.functional.test_staff_running_in_browser import ADD_STAFF, log_in, picture

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site with a dataset, a system's answers and a study that came from a file."""
    with running_site(worker=False) as running:
        load_example(running, slug="example", questions=30, items=5)
        running.manage("shell", "--no-imports", "--command", ADD_STAFF)
        yield running


def problems_of(page: Page, axe_script: str, name: str, width: int) -> list[str]:
    page.evaluate(axe_script)
    found = [
        f"{name}: {rule['id']}: {node['html']}"
        for rule in page.evaluate("axe.run({iframes: false})")["violations"]
        for node in rule["nodes"]
    ]
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found.append(f"{name}: wider than {width} px")
    return found


@pytest.mark.parametrize("width", [320, 1280])
def test_the_pages_are_accessible(site: Site, browser: Browser, axe_script: str, width: int):
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    log_in(page, site)
    page.goto(f"{site.url}/staff/studio/")
    found = problems_of(page, axe_script, "home", width)
    picture(page, "studio-home", width)
    page.get_by_label("Title").fill("Do the explanations help?")
    page.get_by_label("Short name").fill(f"look-{width}")
    page.get_by_label("Dataset").select_option(index=1)
    page.get_by_role("button", name="Make the draft").click()
    at = f"{site.url}/staff/studio/look-{width}/"
    expect(page.get_by_role("heading", name="Texts")).to_be_visible()
    for step, button in (
        ("questionnaire", "Add a question: Beside every item"),
        ("checks", "Add a question: Screening"),
        ("checks", "Add comprehension check"),
        ("checks", "Add: Instructed answer"),
        ("recruitment", "Add recruitment"),
        ("translations", "Add German"),
        ("rules", "Add: Flagged participant"),
    ):
        page.goto(f"{at}step/{step}/")
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("button", name="Save and go on")).to_be_visible()
    for name in (*(f"step/{step.name}" for step in STEPS), "review", "items"):
        page.goto(f"{at}{name}/")
        page.wait_for_load_state("load")
        picture(page, f"studio-{name.replace('/', '-')}", width)
        found += problems_of(page, axe_script, name, width)
    page.goto(f"{at}step/questionnaire/scales/questionnaire.post_survey/")
    picture(page, "studio-scales", width)
    found += problems_of(page, axe_script, "scales", width)
    for name in ("consent", "item", "survey", "done"):
        page.goto(f"{at}preview/texts/?preview_page={name}")
        found += problems_of(page, axe_script, f"preview of {name}", width)
    assert found == []
