"""The studio in a real browser: live preview, and a study by keyboard.

Its pages are accessible at 320 px.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.sites.example import load_example
from studyapp.studio.steps import STEPS
from tests.functional.pages import follow
from tests.functional.test_staff_running_in_browser import ADD_STAFF, log_in, picture, problems_of
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    """A site with a dataset, a system's answers and a study from a file."""
    with empty_site(worker=False) as running:
        load_example(running, slug="example", questions=30, items=5)
        running.manage("shell", "--no-imports", "--command", ADD_STAFF)
        yield running


@pytest.mark.soak
def test_the_pages_are_accessible(site: Site, browser: Browser, axe_script: str):
    width = 320
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    log_in(page, site)
    page.goto(f"{site.url}/staff/studio/")
    problems = problems_of(page, axe_script, "home", width)
    picture(page, "studio-home", width)
    page.get_by_label("Title", exact=True).fill("Do the explanations help?")
    page.get_by_label("Short name").fill(f"look-{width}")
    page.get_by_label("Dataset").select_option(index=1)
    follow(page.get_by_role("button", name="Create draft"))
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
        expect(page.get_by_role("button", name="Save and continue")).to_be_visible()
    for name in (*(f"step/{step.name}" for step in STEPS), "review", "items"):
        page.goto(f"{at}{name}/")
        page.wait_for_load_state("load")
        picture(page, f"studio-{name.replace('/', '-')}", width)
        problems += problems_of(page, axe_script, name, width)
    page.goto(f"{at}step/questionnaire/scales/questionnaire.post_survey/")
    picture(page, "studio-scales", width)
    problems += problems_of(page, axe_script, "scales", width)
    for name in ("consent", "item", "survey", "done"):
        page.goto(f"{at}preview/texts/?preview_page={name}")
        problems += problems_of(page, axe_script, f"preview of {name}", width)
    assert problems == []


def focused(page: Page) -> str:
    """Return the name of the focused element: its label or its words."""
    name: str = page.evaluate(
        """() => {
            const at = document.activeElement;
            const text = (node) => node.textContent.replace(/\\s+/g, " ").trim();
            if (at.labels && at.labels.length) return text(at.labels[0]);
            return at === document.body ? "" : text(at);
        }"""
    )
    return name


def go_to(page: Page, start: str, most: int = 150) -> None:
    """Press Tab until something whose name begins so is focused."""
    names = []
    for _press in range(most):
        page.keyboard.press("Tab")
        names.append(focused(page))
        if names[-1].startswith(start):
            return
    raise AssertionError(f"no Tab leads to {start!r}, only to {names}")


def type_into(page: Page, field: str, text: str) -> None:
    go_to(page, field)
    while page.evaluate(
        "document.activeElement.matches('a')"
    ):  # the summary of problems leads to fields, too
        go_to(page, field)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def press(page: Page, name: str) -> None:
    """Go to a button or link and press it, and wait for the page that follows."""
    go_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_study_from_empty_to_launched_by_keyboard_alone(site: Site, page: Page):
    log_in(page, site)
    page.goto(f"{site.url}/staff/")
    press(page, "New study")
    type_into(page, "Title", "By keyboard")
    expect(page.get_by_label("Short name")).to_have_value("by-keyboard")  # it follows the title
    type_into(page, "Short name", "by-keyboard")
    go_to(page, "Dataset")
    page.keyboard.type("example")
    go_to(page, "The 2020 study")
    page.keyboard.press("ArrowUp")  # round to the last: an empty study
    expect(page.get_by_role("radio", name="An empty study")).to_be_checked()
    press(page, "Create draft")
    type_into(page, "Consent", "I take part of my own will.")
    press(page, "Save and continue")  # to the task
    press(page, "Save and continue")  # to the conditions
    press(page, "Save and continue")  # to the items
    type_into(page, "Number of items", "4")
    press(page, "Save and continue")
    go_to(page, "New question")
    page.keyboard.type("Rating")
    press(page, "Add a question: Before")
    type_into(page, "Wording", "How well do you know films?")
    type_into(page, "Lowest label only", "Not at all")
    type_into(page, "Highest label only", "Very well")
    press(page, "Save and continue")
    expect(page.get_by_role("heading", name="Checks")).to_be_visible()
    press(page, "Add: Instructed answer")
    type_into(page, "Text shown", "Please choose yes.")
    go_to(page, "Do you think the system's answer is correct?")
    page.keyboard.type("Yes")
    press(page, "Save and continue")
    press(page, "Add: Flagged participant")
    for _step in ("rules", "plan", "recruitment", "translations"):
        press(page, "Save and continue")
    press(page, "Link for the team")
    walked = page.locator("[data-once]").input_value()
    page.reload()
    expect(page.get_by_role("heading", name="Link to the rehearsal")).to_have_count(0)
    assert page.request.get(walked).ok
    type_into(page, "Reason to launch without a rehearsal", "It is a test of the keyboard.")
    press(page, "Record the decision")
    press(page, "Launch")
    expect(page.get_by_text("Launched version 1.")).to_be_visible()
    page.goto(f"{site.url}/staff/studio/by-keyboard/preview/texts/?preview_page=pre_survey")
    expect(page.get_by_text("5 – Very well")).to_be_visible()


def test_the_preview_follows_what_is_typed(site: Site, page: Page):
    log_in(page, site)
    page.goto(f"{site.url}/staff/studio/example/step/texts/")
    frame = page.frame_locator("iframe[name=preview]")
    expect(frame.get_by_text("I take part of my own will.")).to_be_visible()
    page.get_by_label("Consent").fill("Words that nobody saved.")
    expect(frame.get_by_text("Words that nobody saved.")).to_be_visible()
    before = page.evaluate("history.length")
    page.get_by_label("Instructions", exact=True).fill("Look twice.")
    expect(frame.get_by_text("Look twice.")).to_be_visible()
    assert page.evaluate("history.length") == before
    page.reload()
    expect(frame.get_by_text("I take part of my own will.")).to_be_visible()


def test_the_preview_needs_no_javascript(site: Site, browser: Browser):
    page = browser.new_context(java_script_enabled=False).new_page()
    log_in(page, site)
    page.goto(f"{site.url}/staff/studio/example/step/texts/")
    page.get_by_label("Consent").fill("Words that nobody saved.")
    page.get_by_role("button", name="Show").click()
    frame = page.frame_locator("iframe[name=preview]")
    expect(frame.get_by_text("Words that nobody saved.")).to_be_visible()
    follow(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    follow(page.get_by_role("button", name="Undo"))
    expect(page.get_by_label("Consent")).to_have_value("I take part of my own will.")
