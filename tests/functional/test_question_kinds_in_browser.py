"""A browser answers every kind of question by touch and by keyboard.

It does so at many widths, and without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

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
call_command("create_study", {folder!r} + "/study.yaml")
call_command("launch_study", "kinds", *{accept!r})
"""
CHOICES = {"answer": "The answer", "marks": "The marked sentences", "rest": "The other articles"}
KINDS: list[dict[str, Any]] = [
    {"key": "share", "text": "What share was correct?",
     "scale": {"kind": "slider", "min": 0, "max": 100, "unit": "%", "ends": ["None", "All"]}},
    {"key": "found", "text": "The explanations were …",
     "scale": {"kind": "matrix", "points": 5,
               "rows": {"clear": "easy to understand.", "wrong": "misleading in what they left out."}}},
    {"key": "order", "text": "What helped you most?",
     "scale": {"kind": "ranking", "choices": CHOICES}},
    {"key": "best", "text": "Which two would you keep?",
     "scale": {"kind": "ranking", "top": 2,
               "choices": CHOICES}},
    {"template": "nasa-tlx", "only": ["tlx_mental", "tlx_performance"]},
    {"key": "eleven", "text": "How likely would you recommend it?",
     "scale": {"points": 11, "ends": ["Not at all", "Extremely"]}},
    {"key": "why", "text": "Why?",
     "scale": {"kind": "text", "min_length": 5, "max_length": 200, "counter": True}},
]  # fmt: skip
STUDY = {
    "study": "kinds",
    "title": "Kinds",
    "dataset": "world-test",
    "conditions": [{"system": "qi2019"}],
    "items": {"count": 1, "seed": 1},
    "questionnaire": {"template": "xqa-2020", "pre_survey": KINDS, "post_survey": []},
    "consent": "You take part.",
}


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        folder = running.var / "kinds"
        folder.mkdir()
        examples = list(generate("test", 20, 1))
        write(folder / "questions.json", examples)
        write(folder / "qi2019.json", dict(make_predictions(examples, right=True)))
        (folder / "study.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False), encoding="utf-8")
        running.manage("shell", "--no-imports", "--command", LOAD.format(folder=str(folder), accept=ACCEPT))
        yield running


def at_survey(page: Page, site: Site) -> Page:
    """Go to the page with the questions."""
    page.goto(make_link(site, "kinds"))
    follow(page.get_by_role("button", name="I agree to take part"))
    return page


def sent(page: Page) -> dict[str, str]:
    """The fields that the form would send now, without those that are empty."""
    entries = page.evaluate("Object.fromEntries(new FormData(document.querySelector('form.questions')))")
    names = (*(question["key"] for question in KINDS if "key" in question), "tlx")
    return {name: value for name, value in entries.items() if value and name.startswith(names)}


@pytest.mark.parametrize(
    ("width", "scheme"), [(320, "light"), (390, "dark"), (768, "light"), (1280, "light"), (1280, "dark")]
)
def test_pages_fit_and_pass_axe(site: Site, browser: Browser, axe_script: str, width: int, scheme: Any):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = at_survey(context.new_page(), site)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe_script)
    rules = page.evaluate("axe.run()")["violations"]
    assert [f"{rule['id']}: {node['html']}" for rule in rules for node in rule["nodes"]] == []
    small = """Array.from(document.querySelectorAll(".questions :is(label.point, .option, button, select,"
        + " input[type=range], .handle)")).filter(one => one.offsetParent).map(one => [one.className,
        one.getBoundingClientRect()]).filter(([name, box]) => box.height < 44 && !name.includes("point")
        || box.width < 24).map(([name, box]) => `${name} ${box.width} ${box.height}`)"""
    assert page.evaluate(small) == []
    assert sent(page) == {}, "nothing is chosen before somebody chooses"
    context.close()


def test_by_keyboard_alone(site: Site, page: Page):
    at_survey(page, site)
    slider = page.get_by_label("What share was correct?")
    slider.focus()
    expect(slider).to_have_attribute("aria-valuetext", "Nothing chosen yet")
    page.keyboard.press(" ")
    assert sent(page) == {"share": "50"}
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    up = page.get_by_role("button", name="Move up: The marked sentences").first
    up.focus()
    page.keyboard.press("Enter")
    expect(up).to_be_focused()
    page.get_by_role("button", name="Move down: The answer").first.press("Enter")
    assert sent(page) == {
        "share": "51", "found_clear": "2", "order_marks": "1", "order_answer": "2", "order_rest": "3",
    }  # fmt: skip
    page.get_by_role("button", name="Move down: The marked sentences").first.press("Enter")
    assert sent(page)["order_answer"] == "1"
    expect(page.get_by_role("status").first).to_have_text("The marked sentences: rank 2")
    first = page.locator("[name=best_rest]")
    first.select_option("1")
    page.locator("[name=best_marks]").select_option("1")
    assert {name: value for name, value in sent(page).items() if "best" in name} == {
        "best_marks": "1", "best_rest": "2",
    }  # fmt: skip


def test_by_touch(site: Site, browser: Browser):
    context = browser.new_context(viewport={"width": 320, "height": 700}, has_touch=True, is_mobile=True)
    page = at_survey(context.new_page(), site)
    slider = page.get_by_label("What share was correct?")
    slider.tap()
    assert sent(page) == {"share": "50"}
    row = page.get_by_role("slider", name="How mentally demanding was the task?")
    row.tap()
    assert sent(page)["tlx_mental"] == "11"
    handle = page.locator("li").filter(has_text="The other articles").first.locator(".handle")
    handle.scroll_into_view_if_needed()
    box, top = handle.bounding_box(), page.locator(".ranking").first.bounding_box()
    assert box
    assert top
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 20, top["y"] + 60, steps=5)
    page.mouse.move(box["x"] + 20, top["y"] + 2, steps=5)
    page.mouse.up()
    assert sent(page)["order_rest"] == "1"
    context.close()


def test_errors_name_the_row_and_lead_to_it(site: Site, page: Page):
    at_survey(page, site)
    page.locator("textarea").fill("abc")
    expect(page.locator(".counter")).to_have_text("3 / 200")
    page.get_by_role("button", name="Continue").click()
    errors = page.locator(".errors")
    expect(errors).to_contain_text("The explanations were … – easy to understand.")
    errors.get_by_role("link", name="What share was correct?").click()
    expect(page.get_by_label("What share was correct?")).to_be_focused()
    expect(
        page.get_by_text("Please enter at least 5 and at most 200 characters.", exact=True)
    ).to_be_visible()


def test_without_scripts(site: Site, browser: Browser):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 700})
    page = at_survey(context.new_page(), site)
    page.get_by_label("What share was correct?").fill("40")
    for name in ("found_clear", "found_wrong", "tlx_mental", "tlx_performance", "eleven"):
        page.locator(f"label[for={name}-3]").click()
    for rank, choice in enumerate(("rest", "answer", "marks"), start=1):
        page.locator(f"[name=order_{choice}]").select_option(str(rank))
    page.locator("[name=best_rest]").select_option("1")
    page.locator("[name=best_answer]").select_option("2")
    page.locator("textarea").fill("Because.")
    follow(page.get_by_role("button", name="Continue"))
    expect(page).to_have_url(re.compile("/1/$"))
    context.close()
