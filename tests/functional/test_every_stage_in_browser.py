"""A browser walks a study with every kind of page and question.

Axe looks at each page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from modelserver.world import generate
from scripts.pictures.gallery import fill
from scripts.sites.example import make_link, make_predictions, write
from tests.functional.pages import follow
from tests.paths import EXAMPLES
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

EVERYTHING = EXAMPLES / "everything.yaml"
LOAD = """
from django.core.management import call_command
call_command("import_dataset", "hotpot", {folder!r} + "/questions.json", name="world-test")
call_command("import_predictions", {folder!r} + "/qi2019.json", dataset="world-test", system="qi2019")
call_command("create_study", {folder!r} + "/study.yaml")
call_command("launch_study", "all-of-it", accept=[("judging", "made-up answers"), ("rehearsal", "a test")])
"""


@pytest.fixture(scope="module")
def study_site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        load_everything(running)
        yield running


def load_everything(site: Site) -> None:
    """Load the study of docs/examples with six items, one for each style.

    Weights and rationales are made up.
    """
    folder = site.var / "everything"
    folder.mkdir()
    examples = list(generate("test", 60, 1))
    predictions: dict[str, Any] = dict(make_predictions(examples, right=True))
    wrong = make_predictions(examples, right=False)["answer"]
    predictions["answer"] = {
        key: (wrong if n % 2 else predictions["answer"])[key] for n, key in enumerate(predictions["answer"])
    }
    predictions["explanation_weights"] = {example["_id"]: weights(example["context"]) for example in examples}
    predictions["rationale"] = {
        example["_id"]: f"It is {predictions['answer'][example['_id']]}." for example in examples
    }
    write(folder / "questions.json", examples)
    write(folder / "qi2019.json", predictions)
    definition = yaml.safe_load(EVERYTHING.read_text(encoding="utf-8"))
    definition["items"]["count"] = 6
    definition["conditions"] = [
        {"system": "qi2019", "explanation": style, "represents": style == "facts"}
        for style in ("facts", "tokens", "both", "none", "rationale", "facts+rationale")
    ]
    definition["design"] = "within"
    (folder / "study.yaml").write_text(
        yaml.safe_dump(definition, allow_unicode=True, sort_keys=False), encoding="utf-8"
    )
    site.manage("shell", "--no-imports", "--command", LOAD.format(folder=str(folder)))


def weights(context: Any) -> list[tuple[str, int, int, int, float]]:
    """A weight for every long word of the first two articles."""
    return [
        (title, index, word.start(), word.end(), (7 * word.start() + index) % 11 / 10)
        for title, sentences in context[:2]
        for index, sentence in enumerate(sentences)
        for word in re.finditer(r"\w{4,}", sentence)
    ]


def walk(page: Page) -> Iterator[str]:
    """Go from the consent page to the end, and yield each page's name.

    The name is the last part of the address; it comes before the page is answered.
    """
    yield "consent"
    follow(page.get_by_role("button", name="I agree to take part"))
    while True:
        name = page.url.rstrip("/").rpartition("/")[2]
        yield name
        if name == "done":
            return
        fill(page)
        follow(page.locator("form[data-timed] .actions button"))
        expect(page).not_to_have_url(re.compile(f"/{name}/$"))


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 320), pytest.param("dark", 1200, marks=pytest.mark.soak)]
)
def test_no_page_has_an_accessibility_problem(
    study_site: Site, browser: Browser, axe_script: str, scheme: Any, width: int
):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(make_link(study_site, "all-of-it"))
    names = []
    for name in walk(page):
        names.append(name)
        page.evaluate(axe_script)
        for rule in page.evaluate("axe.run()")["violations"]:
            problems.extend(f"{name}: {rule['id']}: {node['html']}" for node in rule["nodes"])
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
    assert problems == []
    stages = ["consent", "screening", "instructions", "comprehension", "pre_survey"]
    assert names == [*stages, *map(str, range(1, 10)), "survey", "done"]
    context.close()


def test_the_whole_way_without_javascript(study_site: Site, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(make_link(study_site, "all-of-it"))
    assert list(walk(page))[-1] == "done"
    expect(page.locator(".code")).not_to_be_empty()
    context.close()


def test_an_error_leads_to_the_written_field(study_site: Site, page: Page):
    page.goto(make_link(study_site, "all-of-it"))
    follow(page.get_by_role("button", name="I agree to take part"))
    page.get_by_label("For how many years have you read English?").fill("many")
    follow(page.get_by_role("button", name="Continue"))
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("link", name="For how many years have you read English?").click()
    field = page.get_by_label("For how many years have you read English?")
    expect(field).to_be_focused()
    expect(field).to_have_value("many")
    expect(field).to_have_accessible_description("Please enter a number from 0 to 100, in steps of 1.")
