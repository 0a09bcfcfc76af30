"""Pages of participants and staff in a real browser.

Participants use the keyboard alone, and the pages' clocks measure them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.sites.example import load_example, make_link
from tests.functional.pages import ADD_OWNER, enter, follow
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

PASSWORD = "only for this test"
ADD_STAFF = ADD_OWNER.format(name="ada", password=PASSWORD)
FIRST_TRIAL = """
import json
from studyapp.models import Trial
trial = Trial.objects.filter(participant__mode={mode!r}).order_by("-participant", "position").first()
names = ["client_total_ms", "client_visible_ms", "client_hidden_ms", "hidden_count", "first_interaction_ms"]
print(json.dumps({{name: getattr(trial, name) for name in [*names, "answers", "changes"]}}))
"""
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

REFUSE_TO_COPY = """() => {
  Object.defineProperty(navigator, "clipboard", { value: undefined });
  document.execCommand = () => false;
  document.querySelector("[data-done]").textContent = "";
}"""


@pytest.fixture(scope="module")
def study_site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        load_example(running, questions=10, items=2)
        running.manage("shell", "--no-imports", "--command", ADD_STAFF)
        yield running


def first_trial(site: Site, mode: str) -> dict[str, Any]:
    """Return the stored first item of the newest participant of a mode."""
    code = FIRST_TRIAL.format(mode=mode)
    stored: dict[str, Any] = json.loads(site.manage("shell", "--no-imports", "--command", code))
    return stored


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element that the selector matches has the focus."""
    for _press in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"{selector} cannot be reached with Tab on {page.url}")


def test_the_whole_way_goes_by_keyboard_alone(study_site: Site, page: Page):
    page.goto(make_link(study_site, mode="pilot"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    tab_to(page, "button[value=yes]")
    enter(page)
    keys = ["rated_correct", "known_before", "certainty", "helpfulness"]
    for position in (1, 2):
        expect(page).to_have_url(re.compile(rf"/item/{position}/$"))
        for key in keys:
            tab_to(page, f"[name={key}]")
            page.keyboard.press("Space")
            page.keyboard.press("ArrowDown")
        tab_to(page, "form button")
        enter(page)
    expect(page).to_have_url(re.compile(r"/survey/$"))
    for key in ["trust", "relevant_information", "irrelevant_information", "satisfaction"]:
        tab_to(page, f"[name={key}]")
        page.keyboard.press("Space")
    tab_to(page, "form button")
    enter(page)
    expect(page.locator(".code")).not_to_be_empty()
    stored = first_trial(study_site, "pilot")
    assert stored["answers"] == {
        "rated_correct": False,
        "known_before": False,
        "certainty": 2,
        "helpfulness": 2,
    }
    assert stored["changes"] == dict.fromkeys(keys, 1)


def test_the_links_of_the_error_summary_lead_to_the_questions(study_site: Site, page: Page):
    page.goto(make_link(study_site, mode="bot"))
    follow(page.get_by_role("button", name="I agree to take part"))
    for _time in range(2):  # again from an address that ends in the fragment of the first time
        follow(page.get_by_role("button", name="Save and continue"))
        expect(page.get_by_role("alert")).to_be_focused()
        page.get_by_role("link", name="I am confident that my choice is correct.").click()
        expect(page.locator("#certainty-1")).to_be_focused()


def choose_all(page: Page) -> None:
    for group in page.get_by_role("group").filter(has=page.get_by_role("radio")).all():
        group.locator("label").first.click()


def test_the_clocks_add_up_and_go_on_after_a_reload_and_an_error(study_site: Site, page: Page):
    page.goto(make_link(study_site, mode="live"))
    follow(page.get_by_role("button", name="I agree to take part"))
    page.wait_for_timeout(400)
    page.reload()
    page.evaluate(HIDE, True)
    page.wait_for_timeout(300)
    page.evaluate(HIDE, False)
    follow(page.get_by_role("button", name="Save and continue"))
    expect(page.get_by_role("alert")).to_be_focused()
    choose_all(page)
    for number in (1, 2, 2):  # the last click changes nothing
        page.locator("label[for^=certainty]").nth(number).click()
    follow(page.get_by_role("button", name="Save and continue"))
    expect(page).to_have_url(re.compile(r"/item/2/$"))
    stored = first_trial(study_site, "live")
    assert stored["client_total_ms"] == stored["client_visible_ms"] + stored["client_hidden_ms"]
    assert stored["client_visible_ms"] >= 400
    assert stored["client_hidden_ms"] >= 300
    assert stored["hidden_count"] == 1
    assert 700 <= stored["first_interaction_ms"] <= stored["client_total_ms"]
    assert stored["changes"] == {"rated_correct": 0, "known_before": 0, "certainty": 2, "helpfulness": 0}


def test_a_double_click_sends_a_form_once(study_site: Site, page: Page):
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.goto(make_link(study_site, mode="bot"))
    follow(page.get_by_role("button", name="I agree to take part"))
    choose_all(page)
    page.get_by_role("button", name="Save and continue").dblclick()
    expect(page).to_have_url(re.compile(r"/item/2/$"))
    assert sum(url.endswith("/item/1/") for url in posts) == 1


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
def test_staff_pages_have_no_accessibility_problems(
    study_site: Site, browser: Browser, axe_script: str, scheme: Any
):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 700})
    page = context.new_page()
    problems: list[str] = []

    def look() -> None:
        page.evaluate(axe_script)
        for rule in page.evaluate("axe.run()")["violations"]:
            problems.extend(f"{page.url}: {rule['id']}: {node['html']}" for node in rule["nodes"])
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, page.url

    page.goto(study_site.url)
    look()
    follow(page.get_by_role("link", name="Log in"))
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    follow(page.get_by_role("button", name="Log in"))
    expect(page.get_by_role("alert")).to_be_focused()
    look()
    page.get_by_label("Password").fill(PASSWORD)
    follow(page.get_by_role("button", name="Log in"))
    expect(page.get_by_role("heading", name="Welcome, ada")).to_be_visible()
    look()
    follow(page.get_by_role("link", name="Do the explanations help?"))
    look()
    tabs = page.get_by_role("navigation", name="Pages of this study")
    follow(tabs.get_by_role("link", name="Settings"))
    page.get_by_label("Label").fill("a lab")
    follow(page.get_by_role("button", name="Create link"))
    expect(page.get_by_role("heading", name="New entry link")).to_be_visible()
    look()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    link = page.get_by_label("Link", exact=True)
    assert page.evaluate("navigator.clipboard.readText()") == link.input_value()
    page.evaluate(REFUSE_TO_COPY)
    page.get_by_role("button", name="Copy", exact=True).click()
    assert link.evaluate("(field) => field.selectionEnd - field.selectionStart") == len(link.input_value())
    expect(page.get_by_text("Copied.")).to_be_hidden()
    assert problems == []
    context.close()


def test_the_progress_of_a_study_refreshes_itself(study_site: Site, browser: Browser):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{study_site.url}/accounts/login/")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    follow(page.get_by_role("button", name="Log in"))
    follow(page.get_by_role("link", name="Do the explanations help?"))
    heading = page.locator(".card-head", has=page.get_by_role("heading", name="Progress by condition"))
    before = int(re.findall(r"of (\d+) completed", heading.inner_text())[0])
    person = browser.new_context().new_page()
    person.goto(make_link(study_site, mode="live"))
    follow(person.get_by_role("button", name="I agree to take part"))
    expect(heading).to_contain_text(f"of {before + 1} completed", timeout=15_000)
    person.context.close()
    context.close()
