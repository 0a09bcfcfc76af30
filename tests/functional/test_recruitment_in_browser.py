"""Recruitment in a browser: from a platform's address to its code.

The tests also go back to the platform, withdraw, and open the staff's privacy page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.sites.example import load_example
from tests.functional.pages import ADD_OWNER, enter, follow
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

PASSWORD = "only for this test"
ADD_STAFF = ADD_OWNER.format(name="ada", password=PASSWORD)
CODES = ("--code", "done=CDONE1", "--code", "no_consent=CNO1", "--code", "full=CFULL1")
ANSWERS = ("rated_correct", "known_before", "certainty", "helpfulness")
SURVEY = ("trust", "relevant_information", "irrelevant_information", "satisfaction")
# Set to a folder, the pages are drawn into it.
SHOTS = os.environ.get("TOUCHSTONE_SHOTS")


@pytest.fixture(scope="module")
def study_site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        load_example(running, questions=10, items=2)
        running.manage("shell", "--no-imports", "--command", ADD_STAFF)
        yield running


def prolific_link(site: Site, person: str, *more: str) -> str:
    link = site.manage("study_link", "example", "--platform", "prolific", *CODES, *more).split()[-1]
    return f"{link}?PROLIFIC_PID={person}&STUDY_ID=S1&SESSION_ID=sub-{person}"


def check(page: Page, axe_script: str, name: str) -> None:
    """No rule of axe is broken, and nothing sticks out at the side."""
    page.evaluate(axe_script)
    violations = [rule["id"] for rule in page.evaluate("axe.run()")["violations"]]
    assert violations == [], name
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    if SHOTS:
        width = page.viewport_size["width"] if page.viewport_size else 0
        page.screenshot(path=Path(SHOTS) / f"{name}-{width}.png", full_page=True)


def answer_all(page: Page) -> None:
    follow(page.get_by_role("button", name="I agree to take part"))
    for keys in (ANSWERS, ANSWERS, SURVEY):
        for key in keys:
            page.locator(f"[name={key}]").first.check()
        follow(page.locator("form[data-timed] button"))


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.soak), 320])
def test_from_a_platform_and_back(study_site: Site, browser: Browser, axe_script: str, width: int):
    page = browser.new_page(viewport={"width": width, "height": 800}, reduced_motion="reduce")
    page.goto(prolific_link(study_site, f"p{width}"))
    expect(page).to_have_url(re.compile(r"/consent/$"))
    answer_all(page)
    expect(page.locator(".code")).to_have_text("CDONE1")
    back = page.get_by_role("link", name="Finish and return")
    expect(back).to_have_attribute("href", "https://app.prolific.com/submissions/complete?cc=CDONE1")
    check(page, axe_script, "done")
    page.get_by_text("If you change your mind").click()
    code = page.locator(".withdrawal").inner_text()
    follow(page.get_by_role("link", name="Withdraw from the study"))
    check(page, axe_script, "withdraw")
    page.get_by_label("Withdrawal code").fill("WRONG")
    enter(page)
    expect(page.locator(".errors")).to_be_focused()
    check(page, axe_script, "withdraw-error")
    page.get_by_label("Withdrawal code").fill(f" {code[:6].lower()} {code[6:]}")
    enter(page)
    check(page, axe_script, "withdraw-confirm")
    follow(page.get_by_role("button", name="Withdraw my answers"))
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    check(page, axe_script, "withdrawn")
    page.close()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.soak), 320])
def test_who_takes_no_part_gets_back_too(study_site: Site, browser: Browser, axe_script: str, width: int):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(prolific_link(study_site, f"n{width}"))
    follow(page.get_by_role("button", name="I do not want to take part"))
    expect(page.locator(".code")).to_have_text("CNO1")
    check(page, axe_script, "declined")
    page.goto(prolific_link(study_site, "x").partition("?")[0])
    expect(page.get_by_role("heading", name="Please open the study from the platform")).to_be_visible()
    check(page, axe_script, "without-an-id")
    page.close()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.soak), 320])
def test_the_privacy_page_of_staff(study_site: Site, browser: Browser, axe_script: str, width: int):
    person: dict[str, Any] = {"width": width, "height": 800}
    page = browser.new_page(viewport=person)
    page.goto(prolific_link(study_site, f"s{width}"))
    follow(page.get_by_role("button", name="I agree to take part"))
    staff = browser.new_page(viewport=person)
    staff.goto(f"{study_site.url}/accounts/login/?next=/staff/studies/example/privacy/")
    staff.get_by_label("User name").fill("ada")
    staff.get_by_label("Password").fill(PASSWORD)
    enter(staff)
    expect(staff.get_by_role("heading", name="Remove a participant")).to_be_visible()
    check(staff, axe_script, "privacy")
    staff.get_by_label("Participant ID or external ID").fill(f"s{width}")
    staff.get_by_label("Delete: remove the answers and all identifiers").check()
    staff.get_by_label("Reason").fill("asked by mail")
    staff.get_by_label("I understand that this cannot be undone").check()
    follow(staff.get_by_role("button", name="Remove participant"))
    expect(staff.get_by_role("status")).to_contain_text("Participant deleted.")
    page.reload()
    expect(page).to_have_url(re.compile(r"/consent/$"))
    for tab in (page, staff):
        tab.close()
