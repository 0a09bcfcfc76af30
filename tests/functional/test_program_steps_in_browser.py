"""The pages with steps of programs in a browser.

None is too wide, axe finds nothing, and no script is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.functional.pages import follow
from tests.site import EmptySite, Site

# The database is filled by a process of its own: the site's, which has its settings.
FILL = """
from pathlib import Path
from django.core.management import call_command
from accounts.models import User, Workspace
from annotation.formats.source import Source
from annotation.actions.data import import_items
from annotation.actions.projects import create_project
from annotation.actions.runs import _build_requests, _store, start_run
from annotation.formats.jsonl import read_jsonl
from modelserver.serving.fake_modular_system import FakeModularSystem
from studyapp.actions.links import create_link
from studyapp.actions.studies import create_study, launch_study
from studyapp.definition.schema import StudyDefinition
boss = User.objects.create_superuser("boss", password="bosspass12")
network = FakeModularSystem("net")
for slug, kind in (("scenes", "boxes"), ("games", "spans")):
    path = Path({folder!r}) / slug / "test.jsonl"
    project = create_project(workspace=Workspace.objects.get(), slug=slug, title=slug, kind=kind, by=boss)
    import_items(records=read_jsonl(Source(path)), project=project, by=boss, image_folder=path.parent)
    run = start_run(project=project, system="net", revision=network.revision, by=boss)
    items = list(project.items.all())
    requests, _refused = _build_requests(project, items)
    _store(run, list(zip(items, network.execute([requests[item.pk] for item in items]), strict=True)))
    call_command("import_programs", slug, "--name", slug + "-data")
    condition = {{"ground_truth": True, "explanation": "program"}}
    definition = StudyDefinition.model_validate({{
        "study": slug + "-study", "title": "Steps", "dataset": slug + "-data", "consent": "Yes?",
        "items": {{"count": 1, "seed": 1}}, "conditions": [condition],
    }})
    study = create_study(workspace=Workspace.objects.get(), definition=definition, by=boss)
    launch_study(study=study, by=boss, accept={{"rehearsal": "a study of a test"}})
    print("LINK", slug, create_link(study=study, by=None)[1])
    print("ITEM", slug, f"/annotate/{{slug}}/outputs/net/{{network.revision}}/{{items[0].pk}}/")
"""


@pytest.fixture(scope="module")
def steps_site(
    tmp_path_factory: pytest.TempPathFactory, empty_site: EmptySite
) -> Iterator[tuple[Site, dict[str, dict[str, str]]]]:
    """A site with a project and a study of each kind, and its addresses.

    They are tokens of entry links (LINK) and paths of items (ITEM), by the kind's slug.
    """
    folder = tmp_path_factory.mktemp("items")
    with empty_site(worker=False) as running:
        for slug in ("scenes", "games"):
            sizes = ("--world-seed", "20", "--train", "0", "--dev", "0", "--test", "2")
            running.run(sys.executable, "-m", "modelserver", slug, "--out", str(folder / slug), *sizes)
        output = running.manage("shell", "--no-imports", "--command", FILL.format(folder=str(folder)))
        addresses: dict[str, dict[str, str]] = {"LINK": {}, "ITEM": {}}
        for line in output.splitlines():
            what, _space, rest = line.partition(" ")
            if what in addresses:
                slug, _space, value = rest.partition(" ")
                addresses[what][slug] = value
        yield running, addresses


def look(page: Page, axe_script: str, width: int) -> list[str]:
    """Return axe's violations; fail if the page is wider than its window."""
    page.evaluate(axe_script)
    violations = page.evaluate("axe.run()")["violations"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
    return [f"{page.url}: {rule['id']}: {node['html']}" for rule in violations for node in rule["nodes"]]


@pytest.mark.parametrize(
    "width, scheme", [pytest.param(1280, "light", marks=pytest.mark.soak), (320, "dark")]
)
def test_they_are_accessible(steps_site, browser: Browser, axe_script: str, width: int, scheme) -> None:
    site, addresses = steps_site
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page, problems = context.new_page(), []
    for token in addresses["LINK"].values():
        page.goto(f"{site.url}/join/{token}/")
        follow(page.locator("button[name=consent][value=yes]"))
        page.wait_for_url("**/item/1/")
        assert page.locator(".program-step").count() > 1
        problems += look(page, axe_script, width)
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_label("User name").fill("boss")
    page.get_by_label("Password").fill("bosspass12")
    follow(page.get_by_role("button", name="Log in"))
    for address in addresses["ITEM"].values():
        for path in (address, address.partition("net/")[0]):
            page.goto(f"{site.url}{path}")
            problems += look(page, axe_script, width)
    context.close()
    assert problems == []


def test_images_are_drawn_without_scripts(steps_site, browser: Browser) -> None:
    site, addresses = steps_site
    context = browser.new_context(java_script_enabled=False)
    page, loaded = context.new_page(), []
    page.on("response", lambda answer: loaded.append(answer.status) if "/image/" in answer.url else None)
    page.goto(f"{site.url}/join/{addresses['LINK']['scenes']}/")
    follow(page.locator("button[name=consent][value=yes]"))
    page.wait_for_url("**/item/1/", wait_until="networkidle")
    assert page.locator(".program-step svg image").count() > 0
    assert set(loaded) == {200}
    context.close()
