"""A browser answers an advice question by words of the articles.

It does so by touch, mouse and keyboard.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from modelserver.world import generate
from scripts.sites.example import make_link, make_predictions, write
from tests.functional.pages import follow
from tests.site import EmptySite, Site
from tests.studyapp.factories import ACCEPT

pytestmark = pytest.mark.service

LOAD = """
from django.core.management import call_command
call_command("import_dataset", "hotpot", {folder!r} + "/questions.json", name="world-test")
call_command("import_predictions", {folder!r} + "/qi2019.json", dataset="world-test", system="qi2019")
for study in ("own", "brief"):
    call_command("create_study", {folder!r} + f"/{{study}}.yaml")
    call_command("launch_study", study, *{accept!r})
"""


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    examples = [example for example in generate("test", 20, 1) if example["answer"] not in ("yes", "no")]
    examples[0]["context"].append(["An article without words", [" "]])
    study = {
        "title": "Own answers",
        "dataset": "world-test",
        "conditions": [{"system": "qi2019"}],
        "items": {"ids": [examples[0]["_id"]]},
        "consent": "You take part.",
    }
    with empty_site(worker=False) as running:
        folder = running.var / "own"
        folder.mkdir()
        write(folder / "questions.json", examples)
        write(folder / "qi2019.json", dict(make_predictions(examples, right=True)))
        for name, seconds in (("own", 600), ("brief", 8)):
            task = {"kind": "advice", "time_limits": {"initial": seconds}}
            text = yaml.safe_dump(study | {"study": name, "task": task}, sort_keys=False)
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        running.manage("shell", "--no-imports", "--command", LOAD.format(folder=str(folder), accept=ACCEPT))
        yield running


def words_of(page: Page, count: int) -> str:
    """Return the first article's first words without punctuation at the ends."""
    return " ".join(page.locator(".choosable").first.inner_text().split()[:count]).strip("(),.;:")


def test_words_of_the_articles_become_the_answer(site: Site, browser: Browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(make_link(site, "own"))
    follow(page.get_by_role("button", name="I agree to take part"))
    field, text = page.get_by_label("What is your answer?"), page.locator(".choosable").first
    word = text.locator(".word")
    word.nth(2).tap()
    word.nth(0).tap()
    expect(field).to_have_value(words_of(page, 3))
    expect(page.locator(".word.chosen")).to_have_count(3)
    expect(page.get_by_role("timer")).to_be_in_viewport()  # far below the articles, people would not see it
    paragraphs = page.locator(".show .article p")
    expect(page.locator(".choosable")).to_have_count(paragraphs.count() - 1)  # one has no words
    text.focus()
    for key in ("Home", "Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(field).to_have_value(words_of(page, 2))
    page.get_by_label("Very confident").check(force=True)
    follow(page.get_by_role("button", name="Save and continue"))
    expect(page.get_by_text("step 2 of 2")).to_be_visible()
    page.locator(".choosable .word").first.click()
    expect(page.get_by_role("radio", name="Another answer")).to_be_checked()
    context.close()


def test_a_page_that_runs_out_without_a_network_waits_for_it(site: Site, browser: Browser):
    context = browser.new_context()
    page = context.new_page()
    page.goto(make_link(site, "brief"))
    follow(page.get_by_role("button", name="I agree to take part"))
    page.get_by_label("What is your answer?").fill("half an answer")
    context.set_offline(True)
    expect(page.get_by_role("timer")).to_have_text("0:00", timeout=15_000)
    page.wait_for_timeout(500)  # two further ticks
    expect(page.get_by_label("What is your answer?")).to_have_value("half an answer")
    context.set_offline(False)
    expect(page.get_by_text("The time for the last page ran out.")).to_be_visible()
    context.close()
