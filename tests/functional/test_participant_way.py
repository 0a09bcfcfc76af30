"""A browser walks from the link to the code, in every condition."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    ViewportSize,
    expect,
)

from scripts.sites.example import load_example, make_link
from tests.functional.pages import follow
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

ITEMS = 8
PHONE: ViewportSize = {"width": 320, "height": 640}

RESULTS = """
import json
from studyapp.models import Participant
rows = Participant.objects.filter(version__study__slug="example", condition__name={condition!r})
print(json.dumps([{{
    "code": row.completion_code, "status": row.status,
    "answers": [trial.answers for trial in row.trials.order_by("position")],
    "visible": [trial.client_visible_ms for trial in row.trials.order_by("position")],
    "changes": [trial.changes for trial in row.trials.order_by("position")],
    "survey": row.survey.answers,
}} for row in rows]))
"""


@pytest.fixture(scope="module")
def study_site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        load_example(running, items=ITEMS)
        load_example(running, slug="short", questions=10, items=2)
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context()
    yield opened
    opened.close()


def results(site: Site, condition: str) -> list[dict[str, Any]]:
    shown = site.manage("shell", "--no-imports", "--command", RESULTS.format(condition=condition))
    return json.loads(shown)


class Watch:
    """The hosts that a page asks and what goes wrong in it."""

    def __init__(self, page: Page) -> None:
        self.hosts: set[str] = set()
        self.problems: list[str] = []
        page.on("request", self._request)
        page.on("pageerror", self._error)
        page.on("console", self._console)

    def _request(self, request: Request) -> None:
        self.hosts.add(urlsplit(request.url).netloc)

    def _error(self, error: Error) -> None:
        self.problems.append(str(error))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)


def enter(page: Page, link: str) -> None:
    page.goto(link)
    follow(page.get_by_role("button", name="I agree to take part"))


def choose(page: Page, number: int = 0) -> None:
    """Choose the same position in every question's row of choices.

    Click its label, as people do.
    """
    for group in page.get_by_role("group").filter(has=page.get_by_role("radio")).all():
        group.locator("label").nth(number).click()


def send(page: Page) -> None:
    follow(page.locator("form[method=post] button"))


def test_every_condition_is_walked_from_link_to_code(study_site: Site, browser: Browser):
    link = make_link(study_site)
    stored_codes, codes = set(), set()
    for _number in range(3):
        context = browser.new_context()
        page = context.new_page()
        watch = Watch(page)
        enter(page, link)
        for position in range(1, ITEMS + 1):
            expect(page).to_have_url(re.compile(rf"/item/{position}/$"))
            choose(page)
            send(page)
        expect(page).to_have_url(re.compile(r"/survey/$"))
        choose(page, 3)
        send(page)
        expect(page).to_have_url(re.compile(r"/done/$"))
        codes.add(page.locator(".code").inner_text())
        assert watch.hosts == {study_site.url.removeprefix("http://")}
        assert watch.problems == []
        context.close()
    for condition in ("right", "wrong", "ground truth"):
        [row] = results(study_site, condition)
        stored_codes.add(row["code"])
        assert row["status"] == "completed"
        first = {"rated_correct": True, "known_before": True, "certainty": 1, "helpfulness": 1}
        assert row["answers"] == [first] * ITEMS
        assert set(row["survey"].values()) == {4}
        assert all(milliseconds > 0 for milliseconds in row["visible"])
        assert row["changes"] == [dict.fromkeys(first, 0)] * ITEMS
    assert stored_codes == codes
    assert len(codes) == 3


def test_a_phone_shows_everything_without_scrolling_sideways(study_site: Site, browser: Browser):
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(make_link(study_site, "short"))
    assert_fits(page)
    follow(page.get_by_role("button", name="I agree to take part"))
    for name in ("item/1", "item/2", "survey"):
        expect(page).to_have_url(re.compile(rf"/{name}/$"))
        assert_fits(page)
        labels = page.locator("label.option").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().height)"
        )
        assert labels
        assert min(labels) >= 44, page.url
        choose(page)
        send(page)
    expect(page).to_have_url(re.compile(r"/done/$"))
    assert_fits(page)
    context.close()


def assert_fits(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, page.url


def test_it_works_without_javascript_and_then_has_no_browser_times(study_site: Site, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    enter(page, make_link(study_site, "short", mode="pilot"))
    for _page in range(3):
        choose(page)
        send(page)
    expect(page.locator(".code")).not_to_be_empty()
    condition = next(name for name in ("right", "wrong", "ground truth") if _pilots(study_site, name))
    assert _pilots(study_site, condition) == [{"visible": [None, None], "answered": [True, True]}]
    context.close()


def _pilots(site: Site, condition: str) -> list[dict[str, Any]]:
    code = """
import json
from studyapp.models import Participant
rows = Participant.objects.filter(condition__name={!r}, mode="pilot")
print(json.dumps([{{"visible": [t.client_visible_ms for t in row.trials.all()],
                    "answered": [t.answers is not None for t in row.trials.all()]}} for row in rows]))
"""
    return json.loads(site.manage("shell", "--no-imports", "--command", code.format(condition)))


def test_back_reload_and_bookmarks_lead_to_the_current_page(study_site: Site, context: BrowserContext):
    page = context.new_page()
    enter(page, make_link(study_site, "short"))
    first = page.url
    choose(page)
    send(page)
    second = page.url
    assert second != first
    page.go_back()
    page.reload()
    expect(page).to_have_url(second)
    page.goto(first)
    expect(page).to_have_url(second)
    page.goto(second.replace("/item/2/", "/done/"))
    expect(page).to_have_url(second)


def test_a_second_tab_sends_the_same_item_once(study_site: Site, context: BrowserContext):
    page, other = context.new_page(), context.new_page()
    enter(page, make_link(study_site, "short"))
    other.goto(page.url)
    for tab, number in ((page, 0), (other, 1)):
        choose(tab, number)
        send(tab)
        expect(tab).to_have_url(re.compile(r"/item/2/(\?answered-before)?$"))


def test_the_personal_link_goes_on_on_another_device(
    study_site: Site, context: BrowserContext, browser: Browser
):
    page = context.new_page()
    enter(page, make_link(study_site, "short"))
    choose(page)
    send(page)
    page.get_by_text("Continue later or on another device").click()
    resume = page.get_by_text("/resume/").inner_text()
    elsewhere = browser.new_context()
    device = elsewhere.new_page()
    device.goto(resume)
    expect(device).to_have_url(page.url)
    elsewhere.close()


def test_what_was_forgotten_is_asked_for_and_what_was_chosen_is_kept(
    study_site: Site, context: BrowserContext
):
    page = context.new_page()
    enter(page, make_link(study_site, "short"))
    groups = page.get_by_role("group").filter(has=page.get_by_role("radio"))
    groups.first.locator("label").first.click()
    send(page)
    alert = page.get_by_role("alert")
    expect(alert).to_be_focused()
    assert alert.get_by_role("listitem").count() == groups.count() - 1
    assert groups.first.get_by_role("radio").first.is_checked()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
def test_no_page_has_accessibility_problems(study_site: Site, browser: Browser, axe_script: str, scheme: Any):
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(make_link(study_site, "short"))
    problems = problems_of(page, axe_script)
    follow(page.get_by_role("button", name="I agree to take part"))
    send(page)  # with nothing chosen: the page with errors
    problems += problems_of(page, axe_script)
    for _page in range(3):
        choose(page)
        problems += problems_of(page, axe_script)
        send(page)
    problems += problems_of(page, axe_script)
    expect(page).to_have_url(re.compile(r"/done/$"))
    assert problems == []
    context.close()


def problems_of(page: Page, axe_script: str) -> list[str]:
    # evaluate is not subject to the page's content security policy, which forbids scripts from elsewhere.
    page.evaluate(axe_script)
    result = page.evaluate("axe.run()")
    return [
        f"{page.url}: {rule['id']}: {node['html']}" for rule in result["violations"] for node in rule["nodes"]
    ]
