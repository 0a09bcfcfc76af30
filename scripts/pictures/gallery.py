"""Take a picture of every page of a site with the demo's content.

A browser goes from link to link.

``python -m scripts.pictures.gallery`` writes ``docs/images/pages/*.png`` and the page that shows them,
``docs/reference/pages.md``. Pages of staff and annotators are found by following links, one picture for each
kind of page; those of participants by taking part, on a desktop and at the narrowest width that the pages are
made for. The model server is a fake: the pictures show pages, not results.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from PIL import Image
from playwright.sync_api import Browser, Error, Page, sync_playwright

from scripts.debian import find_chromium
from scripts.pictures.screenshots import log_in
from scripts.pictures.texts import describe_picture
from scripts.sites.example import make_link
from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site

DESKTOP, NARROW = 1200, 320
TALLEST = {DESKTOP: 1500, NARROW: 1400}  # pixels; the rest of a page is cut off
COLOURS = 32
REPORT_MS = 300_000  # until the worker has made a report
SYSTEMS = ("qi2019", "select-and-forget")
NETWORKS = ("visual-nmn", "text-nmn")
STARTS = (
    *("/start/", "/search/?q=world", "/api/docs/", "/annotate/", "/data/"),
    *("/systems/", "/people/", "/accounts/", "/jobs/"),
)
# Addresses that are no pages, or end the login.
NO_PAGE = re.compile(
    r"/(api(?!/docs/)|tables|admin|logout|join|images?|static|next|file|csv|runs/start)/|\.(csv|yaml|json|md)$"
)
# Parts of an address that are names of things: pages that differ in these alone are of one kind.
THING = re.compile(
    r"^(\d+|[0-9a-f]{7,}|[0-9]+\.[0-9.]+|q\d+|world-.*|programs.*|all-of-it|scenes.*|games|copy.*|"
    r"main|owner|manager|adjudicator|annotator|" + "|".join(SYSTEMS + NETWORKS) + r")$"
)
EVERYTHING = ROOT / "docs/examples/everything.yaml"
ADVICE = ROOT / "docs/examples/advice-study.yaml"
KNOWN = {  # what a person has to know to get through the checks: the label to choose, by question
    "Are you 18 or older?": "Yes",
    "May you look something up?": "No",
    "What do you judge?": "Whether the answer is correct",  # words: allow - a choice of the example study
}
NEW_ITEM = {
    "external_id": "new-game",
    "kind": "spans",
    "program": "count(find[field goals])",
    "text": "How many field goals did Lurkil kick?",
    "passage": "Lurkil kicked two field goals .",
    "tokens": [[0, 6], [7, 13], [14, 17], [18, 23], [24, 29], [30, 31]],
    "answer": 2,
}
OUTPUT = {"id": "new-game", "answer": 2, "modules": [{"module": "count", "value": 2}]}
QUESTION = {
    "_id": "new-question",
    "question": "In which country does the river Lurkil end?",
    "answer": "Kolwen",
    "supporting_facts": [["Lurkil", 0]],
    "context": [["Lurkil", ["The river Lurkil ends in Kolwen.", "It is long."]]],
}
TITLES = {"participants": "Participants", "staff": "Staff", "annotation": "Annotators and their managers"}


def save(page: Page, path: Path, width: int, *, whole: bool = True) -> None:
    """Write the page from its top, or what is in sight of it, in a palette."""
    taken: Image.Image = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
    picture = taken.crop((0, 0, taken.width, min(taken.height, TALLEST[width]))).convert("RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.name, f"{path.stat().st_size / 1000:.0f} kB", flush=True)


def name_page_kind(address: str) -> str:
    """Return the name of a kind of page: its address's fixed parts.

    >>> name_page_kind("/staff/studies/world-facts/log/?page=2")
    'staff-studies-x-log'
    """
    parts = [part for part in urlsplit(address).path.split("/") if part]
    return "-".join("x" if THING.match(part) else part for part in parts)


def visit_pages(page: Page, site: Site, *, pause_ms: int = 500) -> Iterator[str]:
    """Visit every kind of page that links lead to; yield its name there."""
    seen: set[str] = set()
    ahead = list(STARTS)
    while ahead:
        address = ahead.pop(0)
        name = name_page_kind(address)
        if name in seen or NO_PAGE.search(address):
            continue
        answer = page.goto(f"{site.url}{address}")
        if answer is None or answer.status != 200 or "html" not in answer.headers.get("content-type", ""):
            continue
        seen.add(name)
        page.wait_for_timeout(pause_ms)  # scripts and images
        if name == "api-docs":
            page.locator("#api .opblock-tag").first.wait_for()
        links = page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
        ahead += [
            link.removeprefix(site.url).partition("#")[0]
            for link in links
            if link.startswith(site.url) and link != page.url
        ]
        yield name


def prepare(page: Page, url: str, study: str) -> None:
    """Make what some pages show: a simulation, a webhook, a queue, a report."""
    page.goto(f"{url}/staff/sample-size/")
    page.get_by_label("Simulated studies").fill("200")
    page.get_by_role("button", name="Simulate").click()
    page.goto(f"{url}/staff/studies/{study}/webhooks/")
    page.get_by_label("Address").fill("https://hooks.example/touchstone")
    page.get_by_role("button", name="Add webhook").click()
    page.get_by_role("heading", name="Webhook added").wait_for()
    page.goto(f"{url}/staff/correctness/")
    page.locator("main tbody a").first.click()
    page.get_by_role("button", name="Queue answers that differ from gold").click()
    page.goto(f"{url}/staff/studies/{study}/results/")
    page.get_by_role("button", name="Make a report").first.click()
    page.get_by_role("link", name="See the results").wait_for(timeout=REPORT_MS)


def crawl(page: Page, site: Site, folder: Path) -> list[Path]:
    """Take a picture of every kind of page of staff and annotators."""
    taken: list[Path] = []
    for name in visit_pages(page, site):
        path = folder / ("annotation" if name.startswith("annotate") else "staff") / f"{name}.png"
        # The editor fills the window.
        save(page, path, DESKTOP, whole=not name.startswith("annotate-annotation"))
        taken.append(path)
    return taken


def capture_annotation_acts(page: Page, site: Site, folder: Path) -> list[Path]:
    """Take pictures of the pages of annotation that come after an act."""
    taken: list[Path] = []

    def take(name: str) -> None:
        taken.append(folder / "annotation" / f"{name}.png")
        save(page, taken[-1], DESKTOP)

    page.goto(f"{site.url}/annotate/games/members/")
    page.get_by_role("button", name="Create invitation").click()
    page.get_by_label("Link").evaluate("field => { field.value = 'https://example.org/invitations/…/'; }")
    take("annotate-x-members-invite")
    page.goto(f"{site.url}/annotate/games/items/upload/")
    upload_file(page, "games.jsonl", json.dumps(NEW_ITEM))
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_role("button", name="Import 1 item").wait_for()
    take("annotate-x-imports-x")
    page.get_by_role("button", name="Import 1 item").click()
    page.get_by_role("link", name="Show items").click()
    page.goto(f"{site.url}/annotate/games/items/?search={NEW_ITEM['external_id']}")
    page.locator("tbody th a").click()
    take("annotate-x-items-x-open")
    page.get_by_role("link", name="Correct or delete").click()
    take("annotate-x-items-x-edit")
    page.goto(f"{site.url}/annotate/new/")
    page.get_by_label("Title").fill("Names in passages")
    page.get_by_label("Short name").fill("names")
    page.locator("select[name=task]").select_option("ner")
    take("annotate-new-labels")
    page.locator("#new-project .actions button").click()
    page.goto(f"{site.url}/annotate/names/labels/")
    take("annotate-x-labels")
    return taken


def capture_more_acts(page: Page, site: Site, folder: Path) -> list[Path]:
    """Take pictures of a webhook, uploads, scales and an activation."""
    taken: list[Path] = []

    def take(name: str, part: str = "staff") -> None:
        taken.append(folder / part / f"{name}.png")
        save(page, taken[-1], DESKTOP)

    page.goto(f"{site.url}/annotate/games/webhooks/")
    page.get_by_label("Address").fill("https://hooks.example/touchstone")
    page.get_by_role("button", name="Add webhook").click()
    page.get_by_role("link", name="https://hooks.example/touchstone").click()
    take("annotate-x-webhooks-x", "annotation")
    page.goto(f"{site.url}/staff/studies/world-facts/webhooks/")
    page.get_by_role("link", name="https://hooks.example/touchstone").click()
    take("staff-studies-x-webhooks-x")
    page.goto(f"{site.url}/annotate/games/outputs/upload/")
    upload_file(page, "outputs.jsonl", json.dumps(OUTPUT))
    page.get_by_label("System", exact=True).fill("our-network")
    page.get_by_label("Revision", exact=True).fill("2026-11")
    page.get_by_role("button", name="Preview import").click()
    page.get_by_role("button", name="Import").wait_for()
    take("annotate-x-output-imports-x", "annotation")
    page.goto(f"{site.url}/data/new/")
    upload_file(page, "questions.json", json.dumps([QUESTION]))
    page.get_by_label("Name", exact=True).fill("rivers")
    page.get_by_role("button", name="Preview import").click()
    page.get_by_role("button", name="Import now").wait_for()
    take("data-imports-x")
    page.goto(f"{site.url}/staff/studio/all-of-it/step/questionnaire/")
    page.get_by_role("button", name="Add a published scale").first.click()
    page.locator("form.scale").first.wait_for()
    take("staff-studio-x-step-x-scales-x")
    page.goto(f"{site.url}/people/site/accounts/")
    account = page.get_by_role("link", name="Deactivate").last
    person = (account.get_attribute("href") or "").replace("deactivate", "activate")
    account.click()
    page.locator("main form button").click()
    page.locator(f"a[href='{person}']").click()
    take("people-site-accounts-x-activate")
    return taken


def upload_file(page: Page, name: str, text: str) -> None:
    """Choose a file of this text in the form of the page."""
    page.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    )


@contextmanager
def run_full_site() -> Iterator[Site]:
    """Run a site with the demo and a study with all kinds of pages."""
    with run_site(fake=SYSTEMS, modular=NETWORKS) as site:
        site.manage("load_demo")
        launch_full_study(site)
        yield site


def launch_full_study(site: Site) -> None:
    """Launch the study with all kinds of pages, with few items."""
    definition = yaml.safe_load(EVERYTHING.read_text(encoding="utf-8"))
    definition["items"] = {"count": 2, "seed": 1}
    definition["practice"] = {"count": 1, "seed": 2}
    definition["design"] = "within"
    definition["conditions"] = [{"system": "qi2019"}, {"ground_truth": True}]
    definition["plan"]["family"] = [
        {"measure": "over_estimation", "first": "qi2019", "second": "ground truth"}
    ]
    for entry in definition.get("attention", ()):
        entry["position"] = 2
    path = site.var / "everything.yaml"
    path.write_text(yaml.safe_dump(definition, allow_unicode=True, sort_keys=False), encoding="utf-8")
    site.manage("create_study", str(path))
    accepted = ("--accept", "judging=made-up answers", "--accept", "rehearsal=a gallery of pages")
    site.manage("launch_study", definition["study"], *accepted)


def launch_advice_study(site: Site) -> None:
    """Create the study of advice with one question and one condition."""
    definition = yaml.safe_load(ADVICE.read_text(encoding="utf-8"))
    definition |= {"conditions": definition["conditions"][-1:], "items": {"count": 1, "seed": 2020}}
    path = site.var / "advice.yaml"
    parts = {name: part for name, part in definition.items() if name not in ("practice", "attention")}
    path.write_text(yaml.safe_dump(parts, allow_unicode=True, sort_keys=False), encoding="utf-8")
    site.manage("create_study", str(path))
    accepted = ("--accept", "judging=made-up answers", "--accept", "rehearsal=a gallery of pages")
    site.manage("launch_study", definition["study"], *accepted)


def visit_advice_pages(page: Page, link: str) -> Iterator[str]:
    """Visit both pages of a question with advice; yield a name there."""
    page.goto(link)
    page.get_by_role("button", name="I agree to take part").click()
    page.wait_for_url(re.compile("/(stage|item)/"))
    while "/item/" not in page.url:
        before = page.url
        fill(page)
        page.locator("form[data-timed] .actions button").click()
        page.wait_for_url(re.compile(f"^(?!{re.escape(before)}$)"))
    yield "advice-1"
    fill(page)
    page.locator("[name=initial_answer]").fill("Kolwen")
    page.locator("form[data-timed] .actions button").click()
    page.get_by_text("step 2 of 2").first.wait_for()
    yield "advice-2"


def take_part(browser: Browser, site: Site, link: str, folder: Path, width: int) -> list[Path]:
    """Take a picture of each page that a participant sees."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(link)
    taken = []
    for number, page_name in enumerate(walk(page)):
        path = folder / f"{number:02d}-{page_name}-{width}.png"
        save(page, path, width)
        taken.append(path)
    for name, address in (("home", "/"), ("withdraw", "/withdraw/"), ("not-found", "/no-such-page/")):
        page.goto(f"{site.url}{address}")
        path = folder / f"{name}-{width}.png"
        save(page, path, width)
        taken.append(path)
    page.close()
    return taken


def take_advice(browser: Browser, link: str, folder: Path, width: int) -> list[Path]:
    """Take a picture of both pages of a question with advice."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    taken = []
    for name in visit_advice_pages(page, link):
        taken.append(folder / f"{name}-{width}.png")
        save(page, taken[-1], width)
    page.close()
    return taken


def walk(page: Page) -> Iterator[str]:
    """Yield the last part of every address, before answering its page."""
    yield "consent"
    page.get_by_role("button", name="I agree to take part").click()
    page.wait_for_load_state()
    while True:
        page_name = page.url.rstrip("/").rpartition("/")[2]
        yield page_name
        if page_name == "done":
            return
        fill(page)
        page.locator("form[data-timed] .actions button").click()
        page.wait_for_url(re.compile(f"^(?!.*/{page_name}/$)"))


def fill(page: Page) -> None:
    """Answer a page as its checks want, or with the first choice."""
    for group in page.get_by_role("group").filter(has=page.locator("input")).all():
        question = (group.locator("legend").text_content() or "").strip()
        wanted = KNOWN.get(question)
        label = group.get_by_text(wanted, exact=True) if wanted else group.locator("label:visible").first
        if label.count():
            label.click()
    for slider in page.locator("input[type=range]:visible").all():
        slider.press("ArrowRight")
    for field in page.locator(".number-field input:visible").all():
        field.fill("20")
    for field in page.locator("textarea").all():
        field.fill("It was fine.")


def format_page(pictures: dict[str, list[Path]], page: Path) -> str:
    """Return the text of the page that shows the pictures."""
    lines = [
        "# Every page, in pictures",
        "",
        "`.venv/bin/python -m scripts.pictures.gallery` takes these pictures and writes this page, on a site "
        "with the demo's content and a fake model server: they show pages, not results. Long pages are cut "
        f"off. Participants see the same pages at {DESKTOP} and at {NARROW} pixels; everything works without "
        "JavaScript, and in English and German.",
    ]
    for part, paths in pictures.items():
        lines += ["", f"## {TITLES[part]}", ""]
        for path in paths:
            address = Path("..") / path.relative_to(page.parents[1])
            width = 200 if path.stem.endswith(f"-{NARROW}") else 480
            lines.append(
                f'<img src="{address.as_posix()}" width="{width}" alt="{describe_picture(path.stem)}">'
            )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Take all pictures and write the pages that show them."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.pictures.gallery", description="Pictures of every page."
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", metavar="DIR")
    options = parser.parse_args()
    program = find_chromium()
    if program is None:
        raise SystemExit("Chromium is not installed (Debian package chromium-headless-shell).")
    folder, text = options.docs / "images/pages", options.docs / "reference/pages.md"
    pictures: dict[str, list[Path]] = {}
    with run_full_site() as site, sync_playwright() as playwright:
        kept = json.loads((site.var / "demo.json").read_text(encoding="utf-8"))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        link = make_link(site, "all-of-it")
        pictures["participants"] = [
            path
            for width in (DESKTOP, NARROW)
            for path in take_part(browser, site, link, folder / "participants", width)
        ]
        site.manage("simulate_participants", "world-facts", "-n", "12")
        page = log_in(browser, site, kept["staff"])
        prepare(page, site.url, "world-facts")
        try:
            taken = crawl(page, site, folder)
            taken += capture_annotation_acts(page, site, folder) + capture_more_acts(page, site, folder)
        except Error as error:
            raise SystemExit(f"{page.url}: {error}") from error
        launch_advice_study(site)  # after the pictures of lists of studies
        pictures["participants"] += [
            path
            for width in (DESKTOP, NARROW)
            for path in take_advice(browser, make_link(site, "world-advice"), folder / "participants", width)
        ]
        for part in ("staff", "annotation"):
            pictures[part] = sorted(path for path in taken if path.parent.name == part)
        browser.close()
    text.write_text(format_page(pictures, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
