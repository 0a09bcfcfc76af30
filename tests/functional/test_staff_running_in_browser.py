"""The staff pages of a running study act in a real browser.

They are accessible at 320 px.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.sites.example import load_example
from tests.functional.pages import ADD_OWNER, fits, follow
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

PASSWORD = "only for this test"
ADD_STAFF = ADD_OWNER.format(name="ada", password=PASSWORD)
DISAGREE = f"""
from accounts.models import User
from studyapp.actions.correctness import judge, queue_answers
from predictions.models import PredictionRun, Question
from studyapp.models import JudgedAnswer, Participant
run = PredictionRun.objects.order_by("pk").first()
prediction = run.predictions.order_by("pk").first()
type(prediction).objects.filter(pk=prediction.pk).update(answer="the same town, in other words")
judges = [User.objects.create_user(name, password={PASSWORD!r}) for name in ("bea", "cem")]
queue_answers(answers=[(prediction.question_id, "the same town, in other words")], by=judges[0])
for who, verdict in zip(judges, (True, False)):
    judge(judged=JudgedAnswer.objects.get(), is_correct=verdict, by=who, note="I looked at a map.")
other = run.predictions.order_by("-pk").first()
type(other).objects.filter(pk=other.pk).update(answer="somewhere else")
queue_answers(answers=[(other.question_id, "somewhere else")], by=judges[0])
Participant.objects.update(mode="live")
print(run.pk)
"""


@pytest.fixture(scope="module")
def study(empty_site: EmptySite) -> Iterator[tuple[Site, str, int]]:
    """A site with a study, participants and a queue with a disagreement.

    It gives the site, the slug and the key of the run.
    """
    with empty_site() as running:
        slug = "example"
        load_example(running, slug=slug, questions=10, items=5)
        running.manage("shell", "--no-imports", "--command", ADD_STAFF)
        running.manage("simulate_participants", slug, "-n", "6", "--behaviour", "straight-liner=1")
        yield running, slug, int(running.manage("shell", "--no-imports", "--command", DISAGREE))


def log_in(page: Page, site: Site, name: str = "ada") -> None:
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    follow(page.get_by_role("button", name="Log in"))
    page.wait_for_url("**/start/")


def picture(page: Page, name: str, width: int) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)


def problems_of(page: Page, axe_script: str, name: str, width: int) -> list[str]:
    page.evaluate(axe_script)
    problems = [
        f"{name}: {rule['id']}: {node['html']}"
        for rule in page.evaluate("axe.run({iframes: false})")["violations"]
        for node in rule["nodes"]
    ]
    if not fits(page):
        problems.append(f"{name}: wider than {width} px")
    return problems


def test_pages_that_no_link_leads_to_are_accessible(
    study: tuple[Site, str, int], browser: Browser, axe_script: str
):
    """The others are in test_every_page_in_browser."""
    (site, _slug, run), width = study, 320
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    log_in(page, site)
    page.goto(f"{site.url}/staff/correctness/{run}/judge/")
    picture(page, "judge", width)
    problems = problems_of(page, axe_script, "judge", width)
    page.goto(f"{site.url}/staff/sample-size/")
    # So few are done at once, but on a busy machine by a worker.
    page.get_by_label("Items per participant").fill("5")
    page.get_by_label("Simulated studies").fill("100")
    follow(page.get_by_role("button", name="Simulate"))
    expect(page.get_by_text("participants per condition").first).to_be_visible(timeout=120_000)
    picture(page, "sample-size-result", width)
    problems += problems_of(page, axe_script, "result", width)
    assert problems == []


def test_the_values_of_charts_by_pointer_and_keys(study: tuple[Site, str, int], page: Page):
    site, slug, _run = study
    log_in(page, site)
    page.goto(f"{site.url}/staff/studies/{slug}/")
    bar, tip = page.locator(".progress-bar .mark").first, page.locator(".chart-tip")
    bar.hover()
    expect(tip).to_have_text(bar.get_attribute("aria-label") or "")
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    bar.focus()
    page.keyboard.press("End")
    last = page.locator(".progress-bars").first.locator(".mark").last
    expect(last).to_be_focused()
    expect(tip).to_have_text(last.get_attribute("aria-label") or "")
    # One stop of the tab key for each chart, where the arrows left it.
    expect(page.locator('.progress-bars .mark[tabindex="0"]')).to_have_count(1)


def test_rows_become_compact_and_stay_so(study: tuple[Site, str, int], page: Page):
    site, slug, _run = study
    log_in(page, site)
    page.goto(f"{site.url}/staff/studies/{slug}/participants/")
    row = page.locator("tbody tr").first
    before = row.bounding_box()
    page.locator(".menu-user > summary").click()
    follow(page.get_by_role("button", name="Compact"))
    follow(page.get_by_role("link", name="Items"))
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Items")
    after = row.bounding_box()
    assert before
    assert after
    assert after["height"] < before["height"]


def test_an_answer_is_judged_and_a_quota_set(study: tuple[Site, str, int], page: Page):
    site, slug, run = study
    log_in(page, site)
    page.goto(f"{site.url}/staff/correctness/{run}/")
    follow(page.get_by_role("link", name="Judge the next answer"))
    page.get_by_text("Not correct").click()
    follow(page.get_by_role("button", name="Save and continue"))
    expect(page.get_by_text("You have judged all answers in this queue.").first).to_be_visible()
    page.goto(f"{site.url}/staff/studies/{slug}/running/")
    form = page.locator("form.row-form").first
    form.get_by_label("Quota").fill("12")
    follow(form.get_by_role("button", name="Save condition"))
    page.goto(f"{site.url}/staff/studies/{slug}/")
    expect(page.get_by_text("quota 12").first).to_be_visible()
    follow(page.get_by_role("button", name="Pause"))
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    follow(page.get_by_role("button", name="Resume"))
    expect(page).to_have_url(re.compile(rf"/{slug}/$"))


def test_a_study_is_shared_with_a_colleague(study: tuple[Site, str, int], browser: Browser):
    site, slug, _run = study
    owner, colleague = (browser.new_context().new_page() for _user in range(2))
    log_in(owner, site)
    owner.goto(f"{site.url}/staff/studies/{slug}/")
    follow(owner.get_by_role("navigation", name="Pages of this study").get_by_role("link", name="Settings"))
    follow(owner.get_by_role("navigation", name="Pages of this tab").get_by_role("link", name="Members"))
    owner.get_by_label("User name").fill("bea")
    owner.get_by_label("Role", exact=True).select_option("Analyst")
    follow(owner.get_by_role("button", name="Share study"))
    expect(owner.get_by_text("Study shared with bea in the role Analyst.")).to_be_visible()
    picture(owner, "members-shared", 1200)

    log_in(colleague, site, "bea")
    follow(colleague.locator(f"a[href='/staff/studies/{slug}/']"))
    expect(colleague.get_by_role("link", name="Results")).to_be_visible()
    for name in ("Pause", "Close"):
        expect(colleague.get_by_role("button", name=name)).to_have_count(0)
    picture(colleague, "study-of-analyst", 1200)
    colleague.goto(f"{site.url}/staff/studies/{slug}/settings/")
    expect(colleague.get_by_role("button", name="Leave study")).to_be_visible()
    expect(colleague.get_by_role("button", name="Create link")).to_have_count(0)
    colleague.goto(f"{site.url}/staff/studies/{slug}/privacy/")
    expect(colleague.get_by_text("With the role Analyst you may not")).to_be_visible()
    picture(colleague, "refused", 1200)

    follow(owner.get_by_role("button", name=re.compile("End share.*bea")))
    colleague.goto(f"{site.url}/staff/studies/{slug}/")
    expect(colleague.get_by_role("heading", name="Page not found")).to_be_visible()
