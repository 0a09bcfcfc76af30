"""A researcher and a manager use the whole site in a real browser.

They need no shell. The researcher brings questions and predictions to a report, the manager brings image
pairs to exported gold. Each step is done at the width of a phone, of a laptop or of a wide screen, with
workers that really run. With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Download, FilePayload, Page, expect

from tests.analysis.data import real_data
from tests.annotation.pairs import example, lines, pairs, zipped
from tests.functional.pages import fits, follow
from tests.functional.test_accounts_in_browser import Looked, log_in, press
from tests.site import EmptySite, Site
from tests.soak import WHOLE
from tests.studyapp.questions import entry

pytestmark = pytest.mark.service

PASSWORD = "a harbour in the fog"
ADD_PEOPLE = f"""
from accounts.actions.workspaces import give_role
from accounts.models import Role, User, Workspace
for name, role in (("ada", Role.RESEARCHER), ("bea", Role.ANALYST), ("mia", Role.MANAGER)):
    user = User.objects.create_user(name, password={PASSWORD!r})
    give_role(workspace=Workspace.objects.get(), user=user, role=role, by=None)
"""
SECONDS = 120_000  # milliseconds, for a job on a busy machine
PHONE, LAPTOP, WIDE = 390, 1280, 1920
SYSTEMS = {"hp": "hp_model_9", "srlgrn": "srlgrn"}
BOTS, ITEMS, PAIRS = 20, 6, 6
STUDY = "/staff/studies/films/"
BROKEN_WORDS = "[...document.querySelectorAll('td .button, td .flag')].some(each => each.offsetHeight > 60)"

Opened = Callable[[str, int], Page]


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(modular=("fake-modular",)) as running:
        running.manage("shell", "--no-imports", "--command", ADD_PEOPLE)
        yield running


@pytest.fixture(scope="module")
def at(site: Site, browser: Browser) -> Iterator[Opened]:
    """Give a logged-in page of a person at a width; a phone is touched."""
    pages: dict[tuple[str, int], Page] = {}

    def opened(name: str, width: int) -> Page:
        if (name, width) not in pages:
            phone = width == PHONE
            context = browser.new_context(
                viewport={"width": width, "height": 844 if phone else 900}, has_touch=phone, is_mobile=phone
            )
            pages[name, width] = context.new_page()
            log_in(pages[name, width], site, name, PASSWORD)
        return pages[name, width]

    yield opened
    for page in pages.values():
        page.context.close()


@pytest.fixture
def look(axe_script: str) -> Iterator[Looked]:
    looked = Looked(axe_script)
    yield looked
    assert looked.found == []


def menu(page: Page, name: str) -> None:
    """Follow a link of the site's menu."""
    links = page.get_by_role("navigation", name="Site")
    follow(links.get_by_role("link", name=name, exact=True))


def tab(page: Page, name: str) -> None:
    tabs = page.get_by_role("navigation", name=re.compile("Pages of this (study|project)"))
    follow(tabs.get_by_role("link", name=name, exact=True))


def finished(page: Page) -> None:
    """Wait for the end of the job whose page is open."""
    expect(page.locator("[data-finished]")).to_be_attached(timeout=SECONDS)


def downloaded(page: Page, name: str | re.Pattern[str], role: str = "link") -> Download:
    with page.expect_download() as download:
        page.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]
    return download.value


def rows_of(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(archive.read(name).decode())))


def upload(page: Page, path: Path, **fields: str) -> None:
    page.get_by_label("File", exact=True).set_input_files(path)
    for label, value in fields.items():
        page.get_by_label(label, exact=True).fill(value)
    press(page, "Preview import")


def import_now(page: Page) -> None:
    expect(page.get_by_role("button", name="Import now")).to_be_visible(timeout=SECONDS)
    press(page, "Import now")
    expect(page.get_by_text("The import is done.")).to_be_visible(timeout=SECONDS)


@pytest.fixture(scope="module")
def sample() -> Path:
    """Real questions; what builds on their upload is skipped without them."""
    return real_data("hotpot/hotpot_sample.json")


ON_THE_SAMPLE = pytest.mark.usefixtures("sample")


class TestAResearcher:
    """From a file of questions to a report.

    Each test goes on where the one before it ended.
    """

    def test_a_broken_file_says_where_and_stores_nothing(
        self, at: Opened, look: Looked, tmp_path: Path
    ) -> None:
        page = at("ada", PHONE)
        menu(page, "Data")
        look(page, "data-empty")
        follow(page.get_by_role("link", name="Upload a dataset").first)
        look(page, "data-new")
        path = tmp_path / "films.jsonl"
        path.write_text("\n".join(map(json.dumps, [entry(0), entry(1, answer=None), entry(2)])), "utf-8")
        upload(page, path, Name="films")
        expect(page.get_by_role("alert")).to_contain_text("The file has 1 mistake", timeout=SECONDS)
        row = page.get_by_role("row").filter(has_text="films.jsonl")
        expect(row).to_contain_text("2")
        expect(row).to_contain_text("entry 2 (q1): answer")
        look(page, "data-refused")
        menu(page, "Data")
        expect(page.get_by_role("link", name="films")).to_have_count(0)

    def test_questions_predictions_and_scores(
        self, site: Site, at: Opened, look: Looked, sample: Path
    ) -> None:
        files = {name: real_data(f"hotpot/predictions/{file}.json") for name, file in SYSTEMS.items()}
        page = at("ada", PHONE)
        page.goto(f"{site.url}/data/new/")
        upload(page, sample, Name="hotpot")
        expect(page.get_by_text("A new dataset will be created.")).to_be_visible(timeout=SECONDS)
        expect(page.get_by_text("586", exact=True)).to_be_visible()
        look(page, "data-preview")
        import_now(page)
        look(page, "data-imported")
        follow(page.get_by_role("link", name="Open dataset"))
        look(page, "data-dataset-empty")
        address, page = page.url, at("ada", LAPTOP)
        page.goto(address)
        for name, path in files.items():
            follow(page.get_by_role("link", name="Upload predictions"))
            upload(page, path, System=name)
            import_now(page)
            follow(page.get_by_role("link", name="Open run"))
            press(page, "Compute scores")
            expect(page.get_by_role("heading", name="Scores (%)")).to_be_visible(timeout=SECONDS)
            look(page, f"data-run-{name}")
            follow(page.get_by_role("link", name="hotpot").first)
        look(page, "data-dataset")
        expect(page.get_by_role("table", name="Scores (%)").get_by_role("row")).to_have_count(3)
        follow(page.get_by_role("link", name="Questions", exact=True))
        look(page, "data-questions")
        page.get_by_label("Words of the question").fill("film")
        press(page, "Search")
        follow(page.locator("tbody a").first)
        look(page, "data-question")
        expect(page.get_by_role("row").filter(has_text="srlgrn")).to_be_visible()
        menu(page, "Systems")
        look(page, "systems")
        menu(page, "Data")
        look(page, "data-home")

    @ON_THE_SAMPLE
    def test_a_study_is_made_and_launched(self, at: Opened, look: Looked) -> None:
        page = at("ada", WIDE)
        menu(page, "Studies")
        follow(page.get_by_role("link", name="New study").first)
        page.get_by_label("Title", exact=True).fill("Do explanations of films help?")
        page.get_by_label("Short name").fill("films")
        page.get_by_label("Dataset").select_option(label="hotpot")
        look(page, "studio-new")
        press(page, "Create draft")
        page.get_by_label("Consent").fill("I take part of my own will.")
        press(page, "Save and continue")
        look(page, "studio-task")
        press(page, "Save and continue")
        look(page, "studio-conditions")
        press(page, "Save and continue")
        page.get_by_label("Number of items").fill(str(ITEMS))
        press(page, "Save and continue")
        follow(page.get_by_role("link", name="Review and launch").first)
        look(page, "studio-review")
        for left_out in ("judging them", "a rehearsal"):
            page.get_by_label(f"Reason to launch without {left_out}").fill("It is a test.")
            follow(page.get_by_role("button", name="Record the decision").first)
        press(page, "Launch")
        expect(page.get_by_text("Launched version 1.")).to_be_visible()
        look(page, "study-launched")

    @ON_THE_SAMPLE
    def test_bots_come(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("ada", PHONE)
        page.goto(site.url + STUDY)
        expect(page.get_by_text("Nobody has tried the study yet.")).to_be_visible()
        follow(page.get_by_role("link", name="Let bots take part"))
        page.get_by_label("Bots", exact=True).fill(str(BOTS))
        look(page, "study-settings")
        press(page, "Start bots")
        look(page, "study-bots-running")
        finished(page)
        expect(page.get_by_text(f"{BOTS} bots took part, {BOTS} completed the study.")).to_be_visible()
        look(page, "study-bots")

    @ON_THE_SAMPLE
    def test_results_are_read_and_downloaded(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("ada", LAPTOP)
        page.goto(site.url + STUDY)
        expect(page.get_by_text(f"{BOTS} of {BOTS} completed")).to_be_visible()
        expect(page.get_by_text("There is no link for live participants yet.")).to_be_visible()
        tab(page, "Participants")
        expect(page.get_by_text(f"{BOTS} participants", exact=True)).to_be_visible()
        follow(page.locator("tbody a").first)
        expect(page.get_by_role("heading", name="Way through the study")).to_be_visible()
        tab(page, "Responses")
        expect(page.get_by_role("heading", name=f"{BOTS * ITEMS} responses")).to_be_visible()
        page.get_by_label("Condition", exact=True).select_option("srlgrn")
        page.get_by_text("Columns", exact=True).first.click()
        page.get_by_label("client_total_ms").check()
        follow(page.get_by_role("button", name="Filter"))
        follow(page.get_by_role("button", name="These rows as CSV"))
        finished(page)
        header, *rows = downloaded(page, re.compile("Download")).path().read_text("utf-8").splitlines()
        assert "client_total_ms" in header
        assert rows
        assert all(",srlgrn," in line for line in rows)

    @ON_THE_SAMPLE
    def test_a_report_is_made_and_downloaded(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("ada", WIDE)
        page.goto(site.url + STUDY)
        tab(page, "Results")
        look(page, "results-empty")
        press(page, "Make a report")
        finished(page)
        look(page, "report-made")
        follow(page.get_by_role("link", name="See the results"))
        look(page, "results")
        zipped_report = downloaded(page, re.compile("^ZIP"), "button")
        with zipfile.ZipFile(zipped_report.path()) as archive:
            assert "films-report/tables/differences.tex" in archive.namelist()
            assert f"{BOTS} " in archive.read("films-report/report.html").decode()
        follow(page.get_by_role("link", name="Open the full report"))
        expect(page.get_by_role("heading", name="In short")).to_be_visible()
        table = downloaded(page, "tables/measures.csv")
        assert table.suggested_filename == "measures.csv"

    @ON_THE_SAMPLE
    def test_a_bundle_holds_what_the_pages_say(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("ada", PHONE)
        page.goto(f"{site.url}{STUDY}results/")
        for file_format in ("csv", "parquet"):
            page.get_by_label("Format").select_option(file_format)
            press(page, "Make bundle")
            finished(page)
            with zipfile.ZipFile(downloaded(page, re.compile("Download")).path()) as archive:
                names = archive.namelist()
                if file_format == "parquet":
                    assert "films/trials.parquet" in names
                else:
                    people = rows_of(archive, "films/participants.csv")
                    trials = rows_of(archive, "films/trials.csv")
            look(page, f"bundle-{file_format}")
            page.goto(f"{site.url}{STUDY}results/")
        assert Counter((row["status"], row["mode"]) for row in people) == {("completed", "bot"): BOTS}
        assert {row["condition"] for row in people} == {*SYSTEMS, "ground truth"}
        assert len({(row["participant_id"], row["item_id"]) for row in trials}) == BOTS * ITEMS == len(trials)

    @ON_THE_SAMPLE
    def test_an_analyst_reads_and_may_not_withdraw(self, site: Site, at: Opened) -> None:
        page = at("bea", LAPTOP)
        page.goto(f"{site.url}{STUDY}participants/")
        follow(page.locator("tbody a").first)
        expect(page.get_by_text("Your role reads participants and changes nothing.")).to_be_visible()
        token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
        refused = page.request.post(
            f"{page.url}withdraw/", form={"csrfmiddlewaretoken": token}, headers={"Referer": page.url}
        )
        assert refused.status == 403
        assert "With the role Analyst you may not withdraw" in refused.text()

    @ON_THE_SAMPLE
    @pytest.mark.soak
    def test_the_pages_of_the_study_are_accessible(self, site: Site, at: Opened, axe_script: str) -> None:
        page = at("ada", LAPTOP)
        page.goto(f"{site.url}{STUDY}participants/")
        expect(page.locator("td .flag").first).to_be_visible()
        person = (page.locator("tbody a").first.get_attribute("href") or "").removeprefix(STUDY)
        problems: list[str] = []
        names = ("", "participants/", person, "responses/", "results/", "settings/", "running/")
        # Colours have nothing to do with the width; phones in light are in test_every_page_in_browser.py.
        looks = [("dark", 320), *([("light", LAPTOP)] if WHOLE else [])]
        for (scheme, read_at), name in product(looks, names):
            page.emulate_media(color_scheme=scheme)
            page.goto(site.url + STUDY + name)  # again: colours that are still changing have no contrast
            page.evaluate(axe_script)
            for width in (320, PHONE, 1200, LAPTOP, WIDE):
                page.set_viewport_size({"width": width, "height": 900})
                if not fits(page):
                    problems.append(f"{name} is wider than {width} px")
                if page.evaluate(BROKEN_WORDS):
                    problems.append(f"{name} breaks the words of a button or flag at {width} px")
                if width == read_at:
                    for rule in page.evaluate("axe.run()")["violations"]:
                        problems.extend(
                            f"{name}: {rule['id']}: {node['html'][:200]}" for node in rule["nodes"]
                        )
        assert problems == []


def test_predictions_of_a_served_system(site: Site, at: Opened, look: Looked, tmp_path: Path) -> None:
    path = tmp_path / "small.jsonl"
    path.write_text("\n".join(json.dumps(entry(number)) for number in range(3)), encoding="utf-8")
    page = at("ada", WIDE)
    page.goto(f"{site.url}/data/new/")
    upload(page, path, Name="small")
    import_now(page)
    follow(page.get_by_role("link", name="Open dataset"))
    follow(page.get_by_role("link", name="Predict").first)
    look(page, "systems-predict")
    choices = page.get_by_label("System", exact=True).get_by_role("option", name="fake-modular")
    expect(choices).to_have_count(0)
    press(page, "Continue")
    expect(page.get_by_text("There is no time estimate")).to_be_visible()
    look(page, "systems-estimate")
    press(page, "Start run")
    expect(page.get_by_text("3 of 3 questions have a prediction.")).to_be_visible(timeout=SECONDS)
    look(page, "systems-run")


class TestAManager:
    """From a zip file to gold.

    Each test goes on where the one before it ended.
    """

    def upload(self, page: Page, name: str, content: bytes) -> None:
        kind = "application/octet-stream"
        page.get_by_label("Format").select_option("nlvr2")
        page.locator("input[type=file]").set_input_files(
            FilePayload(name=name, mimeType=kind, buffer=content)
        )
        press(page, "Upload and check")

    def test_a_project_refuses_a_wrong_upload(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("mia", LAPTOP)
        menu(page, "Annotation")
        follow(page.get_by_role("link", name="New project").first)
        page.get_by_label("Title").fill("Black dogs")
        page.get_by_label("Short name").fill("dogs")
        page.get_by_label("Objects to mark").select_option("boxes")
        look(page, "project-new")
        press(page, "Create project")
        expect(page).to_have_url(f"{site.url}/annotate/dogs/items/upload/")
        look(page, "items-upload")
        broken = [example(0), {**example(1), "sentence": None}, {"identifier": "dev-2-0-0"}]
        self.upload(page, "pairs.zip", zipped({"dev.jsonl": lines(broken)}))
        expect(page.get_by_role("alert")).to_contain_text("The file has 2 mistakes", timeout=SECONDS)
        refused = page.get_by_role("row").filter(has_text="dev.jsonl")
        expect(refused.nth(0)).to_have_text(re.compile(r"dev\.jsonl\s*2\s*sentence\s*must be text"))
        expect(refused.nth(1)).to_have_text(re.compile(r"dev\.jsonl\s*3\s*sentence\s*is missing"))
        expect(page.get_by_role("button", name=re.compile("^Import"))).to_have_count(0)
        look(page, "items-refused")
        page.goto(f"{site.url}/annotate/dogs/items/")
        expect(page.get_by_role("link", name=re.compile("^dev-"))).to_have_count(0)

    def test_pairs_of_a_zip_file_are_imported(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("mia", PHONE)
        page.goto(f"{site.url}/annotate/dogs/items/upload/")
        self.upload(page, "pairs.zip", zipped(pairs(PAIRS)))
        expect(page.get_by_role("heading", name="First items")).to_be_visible(timeout=SECONDS)
        look(page, "items-preview")
        press(page, f"Import {PAIRS} items")
        expect(page.get_by_role("link", name="Show items")).to_be_visible(timeout=SECONDS)
        look(page, "items-imported")
        follow(page.get_by_role("link", name="Show items"))
        expect(page.get_by_role("row")).to_have_count(PAIRS + 1)
        page.go_back()
        follow(page.get_by_role("link", name="Write guidelines"))
        expect(page.get_by_role("button", name="Save guideline")).to_be_visible()

    def test_bots_annotate_and_gold_is_exported(self, site: Site, at: Opened, look: Looked) -> None:
        page = at("mia", WIDE)
        base = f"{site.url}/annotate/dogs/"
        page.goto(f"{base}guidelines/?module=find")
        page.get_by_label("Instructions for annotators: find").fill("Draw tight boxes.")
        press(page, "Save guideline")
        page.goto(f"{base}members/")
        page.get_by_label("Bots").fill("1")
        look(page, "project-members")
        press(page, "Start bots")
        expect(page.get_by_text(f"1 bot submitted {PAIRS} items")).to_be_visible(timeout=SECONDS)
        page.goto(f"{base}review/")
        look(page, "project-review")
        for _item in range(PAIRS):
            page.goto(f"{base}review/")
            follow(page.locator("tbody a").first)
            press(page, "Accept A as gold")
        page.goto(base)
        expect(page.get_by_text("Every item has gold.")).to_be_visible()
        look(page, "project-gold")
        tab(page, "Export")
        page.get_by_label("Only items with gold").check()
        press(page, "Make the file")
        expect(page.get_by_role("link", name="Download dogs-jsonl.jsonl")).to_be_visible(timeout=SECONDS)
        look(page, "project-exported")
        file = downloaded(page, "Download dogs-jsonl.jsonl")
        rows = [json.loads(line) for line in file.path().read_text().splitlines()]
        assert [row["external_id"] for row in rows] == [f"dev-{number}-0-0" for number in range(PAIRS)]
        assert all(row["gold"]["layers"] for row in rows)
