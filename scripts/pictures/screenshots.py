"""Take the pictures of the README from a site with the demo's content.

``python -m scripts.pictures.screenshots`` writes ``docs/images/*.png``: an item on a desktop and on a phone,
the staff's view of a study, the studio, the annotation editor, an adjudication, and the report, its head and
some of its sections. The systems answer for real; the participants and annotators are bots.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright

from scripts.debian import find_chromium
from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site

DESKTOP = {"width": 1200, "height": 800}
WIDE: ViewportSize = {"width": 1600, "height": 900}
PHONE = {"width": 390, "height": 844}
STUDY = "world-facts"
BOTS = 60


# Sections of the report that are shown in its documentation.
SECTIONS = ("participants", "figures", "differences", "ranks", "all-scores", "choices")
TALLEST = 1500  # pixels of a section


def save(page: Page, path: Path, section: Locator | None = None) -> None:
    """Write the window, or a section from its top, as a PNG of few colours."""
    taken = page.screenshot() if section is None else section.screenshot()
    picture: Image.Image = Image.open(io.BytesIO(taken))
    picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
    # The lines of spans have few pixels, whose colours the usual palette leaves out.
    palette = picture.convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette.save(path, optimize=True)
    print(path, f"{path.stat().st_size / 1000:.0f} kB")


def capture_item(browser: Browser, link: str, size: dict[str, int], path: Path) -> None:
    """Capture the first item of a new participant."""
    page = browser.new_page(viewport=size)  # type: ignore[arg-type]
    page.goto(link)
    page.get_by_role("button", name="I agree to take part").click()
    page.wait_for_url("**/item/1/")
    save(page, path)
    page.close()


def log_in(browser: Browser, site: Site, login: dict[str, str]) -> Page:
    """Return a page of somebody who has logged in."""
    page = browser.new_page(viewport=DESKTOP)  # type: ignore[arg-type]
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_label("User name").fill(login["username"])
    page.get_by_label("Password").fill(login["password"])
    page.locator("form button").first.click()
    page.wait_for_load_state()
    return page


def capture_progress(browser: Browser, site: Site, login: dict[str, str], path: Path) -> None:
    """Capture the progress of the study, and its studio."""
    page = log_in(browser, site, login)
    page.goto(f"{site.url}/staff/studies/{STUDY}/")
    save(page, path)
    capture_studio(page, site.url, STUDY, path.with_name("studio.png"))
    page.close()


def capture_studio(page: Page, url: str, study: str, path: Path) -> None:
    """Capture the step of the conditions, with an item beside it."""
    page.goto(f"{url}/staff/studio/{study}/step/conditions/")
    page.frame_locator("iframe[name=preview]").locator("#item-question").wait_for()
    save(page, path)


def capture_adjudication(browser: Browser, site: Site, login: dict[str, str], folder: Path) -> None:
    """Take two bots' annotations side by side and in the editor."""
    page = log_in(browser, site, login)
    page.set_viewport_size(WIDE)
    for project, name in (("scenes", "annotate-boxes"), ("games", "adjudicate")):
        page.goto(f"{site.url}/annotate/{project}/review/")
        page.locator("tbody th a").first.click()
        page.get_by_role("button", name="Adjudicate").click()
        page.locator("#editor[data-ready]").wait_for(state="attached")
        page.wait_for_timeout(1000)  # images
        save(page, folder / f"{name}.png")
    page.close()


def capture_report(browser: Browser, site: Site, path: Path) -> None:
    """Take the report on simulated participants, as files by section."""
    site.manage("simulate_participants", STUDY, "-n", str(BOTS))
    site.manage("export_results", STUDY, "--out", str(site.var / "bundle"))
    site.python("analysis", "report", str(site.var / "bundle"), "--out", str(site.var / "report"))
    [html] = (site.var / "report").glob("*.html")
    page = browser.new_page(viewport=DESKTOP)  # type: ignore[arg-type]
    page.goto(html.as_uri())
    save(page, path)
    page.evaluate("document.querySelectorAll('main > details').forEach(part => { part.open = true })")
    for name in SECTIONS:
        part = page.locator("main > details", has=page.locator(f"#{name}"))
        save(page, path.with_stem(f"{path.stem}-{name}"), part)
    page.close()


def main() -> int:
    """Take all pictures."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.pictures.screenshots", description="Pictures of the site."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images", metavar="DIR")
    options = parser.parse_args()
    program = find_chromium()
    if program is None:
        raise SystemExit("Chromium is not installed (Debian package chromium-headless-shell).")
    with run_site(fake=()) as site, sync_playwright() as playwright:
        site.manage("load_demo")
        kept = json.loads((site.var / "demo.json").read_text(encoding="utf-8"))
        link = f"{site.url}/join/{kept['studies'][0]['token']}/"
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        capture_item(browser, link, DESKTOP, options.out / "item-desktop.png")
        capture_item(browser, link, PHONE, options.out / "item-phone.png")
        capture_report(browser, site, options.out / "report.png")
        capture_progress(browser, site, kept["staff"], options.out / "staff.png")
        capture_adjudication(browser, site, kept["annotators"][1], options.out)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
