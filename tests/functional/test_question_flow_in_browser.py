"""Questions that depend on answers, in a browser and in a report.

In the report, conditions ask different questions.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from scripts.sites.example import load_example, make_link
from tests.functional.pages import fits
from tests.functional.test_planted_effects import differences
from tests.site import EmptySite, Site
from tests.studyapp.factories import ACCEPT

pytestmark = pytest.mark.service

PLAIN = "right (no explanation)"
DEFINITION: dict[str, Any] = {
    "study": "flow",
    "title": "Do the explanations help?",
    "dataset": "example",
    "conditions": [{"system": "right"}, {"system": "right", "explanation": "none"}],
    "items": {"count": 12, "seed": 1},
    "consent": "I take part of my own will.",
    "instructions": [{"text": "Judge the answer."}, {"text": "Mind the marks.", "only": "explained"}],
    "questionnaire": {
        "template": "xqa-2020",
        "random_order": ["item"],
        "pre_survey": [
            {"heading": "About you", "text": "Two short pages."},
            {"key": "used", "text": "Did you use such a system before?", "scale": "yes_no"},
            {
                "key": "which",
                "text": "Which kind?",
                "scale": {"kind": "single", "choices": {"web": "Web", "phone": "Phone", "other": "Other"}},
                "show_if": {"question": "used", "is": True},
                "random_choices": True,
                "fixed": 1,
            },
            {"page_break": True},
            {
                "key": "age",
                "text": "How old are you?",
                "scale": {"kind": "number", "min": 18, "max": 99, "unit": "years"},
                "prefer_not_to_say": True,
            },
        ],
    },
}  # fmt: skip
LOAD = """
from django.core.management import call_command
call_command("create_study", {file!r})
call_command("launch_study", "flow", *{accept!r})
"""
SHIFT = -0.4


@pytest.fixture(scope="module")
def study_site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        load_example(running, systems=1)
        file = running.var / "flow.yaml"
        file.write_text(yaml.safe_dump(DEFINITION, allow_unicode=True, sort_keys=False), encoding="utf-8")
        running.manage("shell", "--no-imports", "--command", LOAD.format(file=str(file), accept=ACCEPT))
        yield running


def begin(page: Page, site: Site) -> None:
    """Go from the link to the first page of the survey before the items."""
    page.goto(make_link(site, slug="flow", mode="pilot"))
    page.get_by_role("button", name="I agree to take part").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="About you")).to_be_visible()


def test_a_question_appears_with_its_answer(study_site: Site, page: Page):
    page.set_viewport_size({"width": 320, "height": 640})
    begin(page, study_site)
    which = page.get_by_role("group", name="Which kind?")
    expect(which).to_be_hidden()
    page.get_by_role("group", name="Did you use").get_by_label("Yes").check()
    expect(which).to_be_visible()
    expect(page.get_by_text("If you answered")).to_be_hidden()
    assert fits(page)
    page.get_by_role("group", name="Did you use").get_by_label("No").check()
    expect(which).to_be_hidden()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("I prefer not to say").check()
    page.get_by_label("How old are you?").fill("44")
    expect(page.get_by_label("I prefer not to say")).not_to_be_checked()
    page.reload()
    assert fits(page)
    page.get_by_label("I prefer not to say").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Question 1 of 12")).to_be_visible()


def test_the_page_is_honest_without_a_script(study_site: Site, browser: Browser):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 640})
    page = context.new_page()
    begin(page, study_site)
    which = page.get_by_role("group", name="Which kind?")
    expect(which).to_be_visible()
    expect(which).to_contain_text("If you answered “Yes” to “Did you use such a system before?”:")
    assert fits(page)
    page.get_by_role("group", name="Did you use").get_by_label("No").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("How old are you?")).to_be_visible()
    page.get_by_label("How old are you?").fill("44")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Question 1 of 12")).to_be_visible()
    context.close()


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.soak
def test_planted_effects_are_found_where_conditions_ask_different_questions(study_site: Site, tmp_path: Path):
    bundle, report = tmp_path / "bundle", tmp_path / "report"
    output = study_site.manage(
        "simulate_participants", "flow", "-n", "60", "--behaviour", "random",
        "--effect", f"{PLAIN}:correctness_rating={SHIFT}", "--seed", "1",
    )  # fmt: skip
    assert "60 completed" in output
    study_site.manage("export_results", "flow", "--out", str(bundle))
    bots = [row for row in rows(bundle, "trials") if row["mode"] == "bot"]
    assert {bool(row["helpfulness"]) for row in bots if row["condition"] == "right"} == {True}
    assert {row["helpfulness"] for row in bots if row["condition"] == PLAIN} == {""}
    for row in (row for row in rows(bundle, "pre_survey") if row["mode"] == "bot"):
        assert bool(row["which"]) == (row["used"] == "true")
        assert row["which_order"].endswith("other") if row["which"] else row["which_order"] == ""
        assert row["age_declined"] == "false"
    surveys = {row["condition"]: row for row in rows(bundle, "post_survey") if row["mode"] == "bot"}
    assert surveys[PLAIN]["relevant_information"] == ""
    assert surveys[PLAIN]["satisfaction"]
    assert surveys["right"]["relevant_information"]

    study_site.python("analysis", "report", str(bundle), "--out", str(report))
    difference = differences(report)["agreement", "right", PLAIN]
    assert abs(float(difference["low"]) + float(difference["high"]) - 2 * SHIFT) < 0.4
    assert float(difference["p_holm"]) < 0.05
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "not asked" in page
    assert "The condition does not ask for it. Not available: Helpfulness (in right (no explanation))" in page
