"""Data in a real browser: real questions and predictions uploaded, scored and read, without a shell.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.site import Site, running_site
from tests.analysis.data import real_data
from tests.functional.pages import ADD_OWNER, follow
from tests.functional.test_accounts_in_browser import Looked, log_in, press
from tests.studyapp.questions import entry

pytestmark = pytest.mark.service

PASSWORD = "a harbour in the fog"
SECONDS = 60_000  # milliseconds, for a job on a busy machine
SYSTEMS = {"hp": "hp_model_9", "srlgrn": "srlgrn"}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site(modular=("fake-modular",)) as running:
        running.manage("shell", "--no-imports", "--command", ADD_OWNER.format(name="ada", password=PASSWORD))
        yield running


@pytest.fixture
def page(site: Site, browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    log_in(page, site, "ada", PASSWORD)
    yield page
    context.close()


def upload_dataset(page: Page, site: Site, path: Path, name: str) -> None:
    page.goto(f"{site.url}/data/new/")
    page.get_by_label("File", exact=True).set_input_files(path)
    page.get_by_label("Name").fill(name)
    press(page, "Preview import")


def apply(page: Page) -> None:
    expect(page.get_by_role("button", name="Import now")).to_be_visible(timeout=SECONDS)
    press(page, "Import now")
    expect(page.get_by_text("The import is done.")).to_be_visible(timeout=SECONDS)


def test_real_questions_and_predictions_without_a_shell(site: Site, page: Page, axe_script: str) -> None:
    sample = real_data("hotpot/hotpot_sample.json")
    files = {name: real_data(f"hotpot/predictions/{file}.json") for name, file in SYSTEMS.items()}
    look = Looked(axe_script)
    page.goto(f"{site.url}/data/")
    look(page, "data-empty")
    page.goto(f"{site.url}/data/new/")
    look(page, "data-new")
    upload_dataset(page, site, sample, "hotpot")
    expect(page.get_by_text("A new dataset will be created.")).to_be_visible(timeout=SECONDS)
    expect(page.get_by_text("586", exact=True)).to_be_visible()
    look(page, "data-preview")
    apply(page)
    look(page, "data-imported")
    follow(page.get_by_role("link", name="Open dataset"))
    look(page, "data-dataset-empty")
    for name, path in files.items():
        follow(page.get_by_role("link", name="Upload predictions"))
        page.get_by_label("File", exact=True).set_input_files(path)
        page.get_by_label("System", exact=True).fill(name)
        press(page, "Preview import")
        apply(page)
        follow(page.get_by_role("link", name="Open run"))
        press(page, "Compute scores")
        wait_for_scores(page)
        look(page, f"data-run-{name}")
        follow(page.get_by_role("link", name="hotpot").first)
    look(page, "data-dataset")
    expect(page.get_by_role("table", name="Scores (%)").get_by_role("row")).to_have_count(3)
    follow(page.get_by_role("link", name="Questions", exact=True))
    look(page, "data-questions")
    page.get_by_label("Words of the question").fill("film")
    press(page, "Search")
    follow(page.get_by_role("table").get_by_role("link").first)
    look(page, "data-question")
    expect(page.get_by_role("row").filter(has_text="srlgrn")).to_be_visible()
    page.goto(f"{site.url}/systems/")
    look(page, "systems")
    page.goto(f"{site.url}/data/")
    look(page, "data-home")
    assert look.found == []


def wait_for_scores(page: Page) -> None:
    """Load the page of the run again until its scores are there."""
    for _ in range(60):
        if page.get_by_role("heading", name="Scores (%)").count():
            return
        page.wait_for_timeout(500)
        page.reload()
    raise AssertionError("no scores within half a minute")


def test_a_broken_file_says_where_and_stores_nothing(
    site: Site, page: Page, axe_script: str, tmp_path: Path
) -> None:
    rows = [entry(0), entry(1, answer=None), entry(2)]
    path = tmp_path / "films.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    upload_dataset(page, site, path, "films")
    expect(page.get_by_role("alert")).to_contain_text("The file has 1 mistake", timeout=SECONDS)
    row = page.get_by_role("row").filter(has_text="films.jsonl")
    expect(row).to_contain_text("2")
    expect(row).to_contain_text("entry 2 (q1): answer")
    look = Looked(axe_script)
    look(page, "data-refused")
    page.goto(f"{site.url}/data/")
    expect(page.get_by_role("link", name="films")).to_have_count(0)
    assert look.found == []


def test_predictions_of_a_served_system(site: Site, page: Page, axe_script: str, tmp_path: Path) -> None:
    path = tmp_path / "small.jsonl"
    rows = [entry(number) for number in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    upload_dataset(page, site, path, "small")
    apply(page)
    follow(page.get_by_role("link", name="Open dataset"))
    follow(page.get_by_role("link", name="Predict").first)
    look = Looked(axe_script)
    look(page, "systems-predict")
    expect(page.get_by_label("System", exact=True).get_by_role("option", name="fake-modular")).to_have_count(
        0
    )
    press(page, "Continue")
    expect(page.get_by_text("is unknown")).to_be_visible()
    look(page, "systems-estimate")
    press(page, "Start run")
    expect(page.get_by_text("3 of 3 questions have a prediction.")).to_be_visible(timeout=SECONDS)
    look(page, "systems-run")
    assert look.found == []
