"""A simulation and a preference study in a real browser.

The tests answer by keyboard and touch, and axe looks at the pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from modelserver.world import generate
from scripts.sites.example import make_link, make_predictions, write
from scripts.sites.processes import ROOT
from tests.functional.pages import follow
from tests.functional.test_staff_running_in_browser import picture
from tests.site import EmptySite, Site
from tests.studyapp.factories import ACCEPT

pytestmark = pytest.mark.service

SYSTEMS = ("qi2019", "select-and-forget")
STUDIES = ("simulation", "preference")
LOAD = """
from django.core.management import call_command
call_command("import_dataset", "hotpot", {folder!r} + "/questions.json", name="world-test")
for system in {systems!r}:
    call_command("import_predictions", f"{folder}/{{system}}.json", dataset="world-test", system=system)
for study in {studies!r}:
    call_command("create_study", f"{folder}/{{study}}.yaml")
    call_command("launch_study", f"world-{{study}}", *{accept!r})
"""


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    """A site with the studies of docs/examples.

    The simulation has two items in each block.
    """
    examples = list(generate("test", 40, 1))
    right, wrong = (make_predictions(examples, right=is_right) for is_right in (True, False))
    mixed: dict[str, Any] = dict(right)
    mixed["answer"] = {
        key: (wrong if number % 2 else right)["answer"][key] for number, key in enumerate(right["answer"])
    }
    with empty_site(worker=False) as running:
        folder = running.var / "tasks"
        folder.mkdir()
        write(folder / "questions.json", examples)
        write(folder / "qi2019.json", dict(right))
        write(folder / "select-and-forget.json", mixed)
        for name in STUDIES:
            text = (ROOT / f"docs/examples/{name}-study.yaml").read_text(encoding="utf-8")
            study = yaml.safe_load(text)
            if name == "simulation":
                study["task"]["blocks"] = {"before": 2, "learning": 2, "after": 2}
                study["attention"][0]["position"] = 4
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
        more = {"systems": SYSTEMS, "studies": STUDIES, "accept": ACCEPT}
        running.manage("shell", "--no-imports", "--command", LOAD.format(folder=str(folder), **more))
        yield running


def to_the_end(page: Page, *, touch: bool) -> Iterator[str]:
    """Answer every page by touch, or by keyboard alone.

    Yield the number of each page before it is answered.
    """
    number = 0
    while page.locator("form[data-timed]").count():
        number += 1
        yield f"{number}"
        key = page.locator('input[name="page_key"]').get_attribute("value")
        for group in page.locator("form[data-timed] fieldset").all():
            choice = group.get_by_role("radio").first
            if touch:
                group.locator("label").first.tap()
            else:
                choice.focus()
                page.keyboard.press("Space")
            expect(choice).to_be_checked()
        send = page.locator("form[data-timed] .actions button")
        if touch:
            with page.expect_navigation():
                send.tap()
        else:
            send.focus()
            with page.expect_navigation():
                page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_count(0)
        assert page.locator(f'input[name="page_key"][value="{key}"]').count() == 0, (
            "the page was not accepted"
        )


@pytest.mark.parametrize(
    ("study", "pages", "width", "scheme"),
    [
        ("simulation", 12, 320, "light"),
        ("preference", 9, 1280, "dark"),
        pytest.param("simulation", 12, 1280, "dark", marks=pytest.mark.soak),
        pytest.param("preference", 9, 320, "light", marks=pytest.mark.soak),
    ],
)
def test_a_person_gets_to_the_end(
    site: Site, browser: Browser, axe_script: str, study: str, pages: int, width: int, scheme: Any
) -> None:
    touch = width == 320
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=touch, is_mobile=touch
    )
    page, problems, numbers = context.new_page(), [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(make_link(site, f"world-{study}"))
    follow(page.get_by_role("button", name="I agree to take part"))
    for number in to_the_end(page, touch=touch):
        numbers.append(number)
        picture(page, f"{study}-{number}", width)
        page.evaluate(axe_script)
        for rule in page.evaluate("axe.run()")["violations"]:
            problems.extend(f"{number}: {rule['id']}: {node['html']}" for node in rule["nodes"])
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
        if page.get_by_role("timer").count():  # it stays in sight, and covers no word
            clock, title = (page.locator(name).bounding_box() for name in (".time-left", ".brand"))
            assert clock
            assert title
            assert title["x"] + title["width"] <= clock["x"], number
        if number == str(pages):
            survey = "You have answered all questions" if study == "preference" else "Final questions"
            expect(page.get_by_role("heading", level=1)).to_have_text(survey)
    assert problems == []
    assert len(numbers) == pages
    expect(page.locator(".code")).not_to_be_empty()
    context.close()
