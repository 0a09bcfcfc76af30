"""From the first bot to the downloaded bundle and report, in a real browser and without a shell.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.example import load_example
from scripts.site import Site, running_site
from tests.functional.pages import ADD_OWNER, follow
from tests.waiting import eventually

pytestmark = pytest.mark.service

PASSWORD = "only for this test"
SLUG = "example"
AT = f"/staff/studies/{SLUG}/"
ADD_PEOPLE = (
    ADD_OWNER.format(name="ada", password=PASSWORD)
    + f"""
bea = User.objects.create_user("bea", password={PASSWORD!r})
give_role(workspace=Workspace.objects.get(), user=bea, role=Role.ANALYST, by=None)
"""
)
# Simulated people are bots; here they stand for live participants.
LIVE = "from studyapp.models import Participant; Participant.objects.update(mode='live')"
# What the beat does a quarter of an hour after a worker was killed.
QUIET = """
from datetime import timedelta
from django.utils import timezone
from jobs.models import Job
from jobs.tasks import sweep_jobs
Job.objects.filter(status="running").update(started_at=timezone.now() - timedelta(minutes=16))
sweep_jobs()
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site with a worker, and a study in which 40 bots took part."""
    with running_site() as running:
        load_example(running, slug=SLUG, questions=20, items=6)
        running.manage("shell", "--no-imports", "--command", ADD_PEOPLE)
        running.manage("simulate_participants", SLUG, "-n", "40")
        running.manage("shell", "--no-imports", "--command", LIVE)
        yield running


def logged_in(browser: Browser, site: Site, name: str, **options: object) -> Page:
    page = browser.new_context(accept_downloads=True, **options).new_page()  # type: ignore[arg-type]
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    follow(page.get_by_role("button", name="Log in"))
    return page


def picture(page: Page, name: str, width: int) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)


def finished(page: Page) -> None:
    """Wait for the end of the job whose page is open."""
    expect(page.locator("[data-finished]")).to_be_attached(timeout=180_000)


def test_a_researcher_reads_the_results_and_downloads_them(site: Site, browser: Browser, tmp_path: Path):
    page = logged_in(browser, site, "ada")
    page.goto(site.url + AT)
    expect(page.get_by_text("40 of 40 completed")).to_be_visible()
    expect(page.get_by_text("There is no link for live participants yet.")).to_be_visible()
    tabs = page.get_by_role("navigation", name="Pages of this study")
    follow(tabs.get_by_role("link", name="Participants"))
    expect(page.get_by_text("40 participants", exact=True)).to_be_visible()
    follow(page.locator("table a").first)
    expect(page.get_by_role("heading", name="Way through the study")).to_be_visible()

    follow(tabs.get_by_role("link", name="Responses"))
    expect(page.get_by_role("heading", name="240 responses")).to_be_visible()
    page.get_by_label("Condition", exact=True).select_option("wrong")
    page.get_by_text("Columns", exact=True).first.click()
    page.get_by_label("client_total_ms").check()
    follow(page.get_by_role("button", name="Filter"))
    follow(page.get_by_role("button", name="These rows as CSV"))
    finished(page)
    with page.expect_download() as rows:
        page.get_by_role("link", name=re.compile("Download")).click()
    lines = rows.value.path().read_text("utf-8").splitlines()
    assert "client_total_ms" in lines[0]
    assert all(",wrong," in line for line in lines[1:])

    page.goto(f"{site.url}{AT}results/")
    follow(page.get_by_role("button", name="Make a report"))
    finished(page)
    page.goto(f"{site.url}{AT}results/")
    expect(page.get_by_text(re.compile("Over-estimation is .* points higher with"))).to_be_visible()
    with page.expect_download() as zipped:
        page.get_by_role("button", name=re.compile("^ZIP")).click()
    with zipfile.ZipFile(zipped.value.path()) as archive:
        assert f"{SLUG}-report/tables/differences.tex" in archive.namelist()
    follow(page.get_by_role("link", name="Open the full report"))
    expect(page.get_by_role("heading", name="In short")).to_be_visible()
    with page.expect_download() as table:
        page.get_by_role("link", name="tables/measures.csv", exact=True).first.click()
    assert table.value.suggested_filename == "measures.csv"

    page.goto(f"{site.url}{AT}results/")
    page.get_by_label("Format").select_option("parquet")
    follow(page.get_by_role("button", name="Make bundle"))
    finished(page)
    with page.expect_download() as bundle:
        page.get_by_role("link", name=re.compile("Download")).click()
    with zipfile.ZipFile(bundle.value.path()) as archive:
        assert f"{SLUG}/trials.parquet" in archive.namelist()


def test_an_analyst_reads_and_may_not_withdraw(site: Site, browser: Browser):
    page = logged_in(browser, site, "bea")
    page.goto(f"{site.url}{AT}participants/")
    follow(page.locator("table a").first)
    expect(page.get_by_text("Your role reads participants and changes nothing.")).to_be_visible()
    token = next(each["value"] for each in page.context.cookies() if each["name"] == "csrftoken")
    refused = page.request.post(
        f"{page.url}withdraw/", form={"csrfmiddlewaretoken": token}, headers={"Referer": page.url}
    )
    assert refused.status == 403
    assert "With the role Analyst you may not withdraw" in refused.text()


@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_accessible(site: Site, browser: Browser, axe_script: str, width: int, scheme: str):
    page = logged_in(browser, site, "ada", viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(f"{site.url}{AT}participants/")
    person = page.locator("table a").first.get_attribute("href") or ""
    problems: list[str] = []
    for name in ("", "participants/", person, "responses/", "results/", "settings/", "running/"):
        page.goto(site.url + (name if name.startswith("/") else AT + name))
        picture(page, f"study-{name.strip('/').split('/')[-1] or 'overview'}-{scheme}", width)
        page.evaluate(axe_script)
        for rule in page.evaluate("axe.run()")["violations"]:
            problems.extend(f"{name}: {rule['id']}: {node['html'][:200]}" for node in rule["nodes"])
        if page.evaluate("document.documentElement.scrollWidth") > width:
            problems.append(f"{name} is wider than {width} px")
    assert problems == []


def test_a_killed_worker_loses_no_report(site: Site, browser: Browser):
    page = logged_in(browser, site, "ada")
    page.goto(f"{site.url}{AT}results/")
    before = page.locator("a[href$='report.html']").count()
    page.get_by_text("Make a report with other options").click()
    page.get_by_label("Bootstrap replicates").fill("10000")
    follow(page.get_by_role("button", name="Make report"))
    eventually(lambda: "pill-info" in page.request.get(f"{page.url}progress/").text())
    site.parts.stop_one("worker", kill=True)
    site.parts.start(site.stack.worker())
    site.manage("shell", "--no-imports", "--command", QUIET)
    finished(page)
    page.goto(f"{site.url}{AT}results/")
    # One more in the list, beside the link to the newest.
    assert page.locator("a[href$='report.html']").count() == before + (1 if before else 2)
