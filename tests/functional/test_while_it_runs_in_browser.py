"""A running study's pages, as a browser keeps and shows them.

They hold answers not sent yet, openings of articles, tabs and the code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from scripts.sites.example import load_example, make_link
from scripts.sites.processes import ROOT
from tests.functional.pages import follow
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

OPENINGS = """
import json
from studyapp.models import Trial
trials = Trial.objects.filter(answers__isnull=False).order_by("-submitted_at")
print(json.dumps([trials[0].articles, trials[0].client_total_ms]))
"""
KEPT = "Object.keys(sessionStorage).filter((name) => name.startsWith('answers:')).length"
BUSY = """from django.template.loader import render_to_string
print(render_to_string("503.html", {"may_retry": True}))"""


@pytest.fixture(scope="module")
def study_site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        load_example(running, questions=10, items=2)
        yield running


def begin(site: Site, page: Page) -> None:
    page.goto(make_link(site, mode="pilot"))
    follow(page.get_by_role("button", name="I agree to take part"))


def choose(page: Page, **numbers: int) -> None:
    for key, number in numbers.items():
        page.locator(f"label[for={key}-{number}]").click()


ALL = {"rated_correct": 2, "known_before": 1, "certainty": 4, "helpfulness": 3}


def chosen(page: Page) -> list[str]:
    return page.eval_on_selector_all("input:checked", "inputs => inputs.map((input) => input.id)")


def send(page: Page) -> None:
    follow(page.locator("form[data-timed] button.button"))


def test_choices_survive_a_reload_and_go_once_they_are_stored(study_site: Site, page: Page):
    begin(study_site, page)
    choose(page, certainty=4, rated_correct=2)
    page.reload()
    assert chosen(page) == ["rated_correct-2", "certainty-4"]
    choose(page, certainty=2, known_before=1, helpfulness=3)
    page.reload()
    assert chosen(page) == ["rated_correct-2", "known_before-1", "certainty-2", "helpfulness-3"]
    send(page)
    expect(page).to_have_url(re.compile("/item/2/$"))
    assert chosen(page) == []
    assert page.evaluate(KEPT) == 0


def test_answers_survive_a_busy_site(study_site: Site, page: Page):
    begin(study_site, page)
    choose(page, **ALL)
    busy = study_site.manage("shell", "--no-imports", "--command", BUSY)

    def away(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=503, headers={"Retry-After": "10", "Content-Type": "text/html"}, body=busy)
        else:
            route.continue_()

    page.route("**/item/1/", away)
    send(page)
    expect(page.get_by_role("heading", name="The site is busy for a moment")).to_be_visible()
    page.unroute("**/item/1/")
    follow(page.get_by_role("link", name="Try again"))
    assert chosen(page) == [f"{key}-{number}" for key, number in ALL.items()]
    send(page)
    expect(page).to_have_url(re.compile("/item/2/$"))


def test_answers_survive_a_lost_connection(study_site: Site, page: Page):
    begin(study_site, page)
    choose(page, **ALL)
    page.context.set_offline(True)
    page.locator("form[data-timed] button.button").click()
    expect(page).to_have_url(re.compile("chrome-error"))
    page.context.set_offline(False)
    page.go_back()
    expect(page.locator("#certainty-4")).to_be_checked()
    assert chosen(page) == [f"{key}-{number}" for key, number in ALL.items()]


def test_the_next_person_at_the_computer_sees_nothing(study_site: Site, page: Page):
    begin(study_site, page)
    choose(page, certainty=4)
    assert page.evaluate(KEPT) == 1
    page.context.clear_cookies()
    page.goto(make_link(study_site, mode="pilot"))
    assert page.evaluate("Object.keys(sessionStorage)") == []
    follow(page.get_by_role("button", name="I agree to take part"))
    assert chosen(page) == []


def test_openings_of_articles_are_measured(study_site: Site, page: Page):
    begin(study_site, page)
    articles = page.locator("details.others > summary")
    articles.click()
    page.wait_for_timeout(300)
    articles.click()
    page.wait_for_timeout(100)
    articles.click()
    page.wait_for_timeout(200)
    page.reload()  # closes them
    choose(page, **ALL)
    send(page)
    code = study_site.manage("shell", "--no-imports", "--command", OPENINGS)
    stored: tuple[list[Any], int] = json.loads(code)
    (first, at_first, open_first), (second, at_second, open_second) = stored[0]
    assert first == second == "others"
    assert at_second >= at_first + open_first
    assert 250 <= open_first <= 2000
    assert 150 <= open_second <= 2000
    assert at_second + open_second <= stored[1]
    choose(page, **ALL)
    send(page)
    stored = json.loads(study_site.manage("shell", "--no-imports", "--command", OPENINGS))
    assert stored[0] == []  # looked at with JavaScript, and nothing was opened


def test_a_second_tab_that_is_too_late_is_told(study_site: Site, browser: Browser):
    context = browser.new_context()
    page = context.new_page()
    begin(study_site, page)
    late = context.new_page()
    late.goto(page.url)
    for tab in (page, late):
        choose(tab, **ALL)
    send(page)
    send(late)
    expect(late).to_have_url(re.compile(r"/item/2/\?answered-before$"))
    expect(late.get_by_role("alert")).to_be_focused()
    expect(late.get_by_role("alert")).to_contain_text("had been answered before")
    expect(late.get_by_text("Question 2 of 2")).to_be_visible()
    choose(late, **ALL)
    send(late)
    expect(late).to_have_url(re.compile(r"/survey/$"))
    context.close()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
def test_the_end_has_one_code_that_can_be_copied(
    study_site: Site, browser: Browser, axe_script: str, scheme: Any
):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 320, "height": 800})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    begin(study_site, page)
    for _item in "12":
        choose(page, **ALL)
        send(page)
    choose(page, trust=1, relevant_information=2, irrelevant_information=3, satisfaction=4)
    send(page)
    code = page.locator(".code").inner_text()
    page.get_by_role("button", name="Copy the code").click()
    expect(page.get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == code
    problems: list[str] = []

    def look() -> None:
        page.evaluate(axe_script)
        for rule in page.evaluate("axe.run()")["violations"]:
            problems.extend(f"{page.url}: {rule['id']}: {node['html']}" for node in rule["nodes"])
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, page.url

    look()
    page.get_by_text("If you change your mind").click()
    withdrawal = page.locator(".withdrawal").inner_text()
    follow(page.get_by_role("link", name="Withdraw from the study"))
    page.get_by_label("Withdrawal code").fill(withdrawal)
    follow(page.get_by_role("button", name="Continue"))
    expect(page.get_by_role("heading", name="Withdraw your answers?")).to_be_visible()
    look()
    follow(page.get_by_role("button", name="Withdraw my answers"))
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    assert problems == []
    context.close()


FORM = """<!doctype html><title>All kinds</title><form data-timed>
<input type="hidden" name="page_key" value="{key}"><input type="hidden" name="changes_a" value="">
<input type="radio" name="a" value="1"><input type="radio" name="a" value="2">
<input type="checkbox" name="b" value="1"><input type="checkbox" name="b" value="2" checked>
<input type="text" name="c" inputmode="decimal"><input type="text" name="c">
<input type="range" name="d" min="0" max="10" value="5"><textarea name="e"></textarea>
<select name="f"><option value="">–</option><option>x</option><option>y</option></select>
<div class="unasked"><input type="text" name="trap"></div><button>Send</button></form>
<script src="/page-answers.js"></script>"""


def test_fields_of_every_kind_are_kept_and_hidden_ones_are_not(page: Page):
    """On a page without a site: the script knows no kind of question."""
    script = (ROOT / "static/js/page-answers.js").read_text(encoding="utf-8")
    page.route("**/page-answers.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    page.route("**/form/*", lambda route: route.fulfill(
        body=FORM.format(key=route.request.url[-1]), content_type="text/html; charset=utf-8"
    ))  # fmt: skip
    values = "[...new FormData(document.forms[0])].map(([name, value]) => `${name}=${value}`).join()"
    page.goto("http://kept.test/form/1")
    empty = page.evaluate(values)
    page.check("[name=a][value='2']")
    page.check("[name=b][value='1']")
    page.uncheck("[name=b][value='2']")
    page.locator("[name=c]").first.fill("3,5")
    page.locator("[name=c]").last.fill("four")
    page.locator("[name=d]").fill("7")
    page.locator("[name=e]").fill("a text\nof two lines")
    page.locator("[name=f]").select_option("y")
    page.evaluate("document.forms[0].elements.trap.value = 'filled'")
    page.locator("[name=e]").press("!")
    page.evaluate("document.forms[0].elements.changes_a.value = '4'")
    page.reload()
    fields = page.evaluate(values).replace("\r", "")
    assert fields == "page_key=1,changes_a=,a=2,b=1,c=3,5,c=four,d=7,e=a text\nof two lines!,f=y,trap="
    page.goto("http://kept.test/form/2")  # the next page, or the next person
    assert page.evaluate(values) == empty.replace("page_key=1", "page_key=2")
    page.goto("http://kept.test/form/1")
    assert page.evaluate(values) == empty
