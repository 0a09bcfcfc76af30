"""Plain tasks by pages alone, from a new project to an export.

Their way leads from the form of the project over an upload to gold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.annotation.pairs import picture, zipped
from tests.functional.annotation.steps import at, drag, near
from tests.functional.annotation.test_plain_tasks import look
from tests.functional.pages import follow
from tests.functional.test_accounts_in_browser import log_in, press
from tests.functional.test_stories_in_browser import PASSWORD, SECONDS, downloaded, menu, tab
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

ADD_MANAGER = f"""
from accounts.actions.workspaces import give_role
from accounts.models import Role, User, Workspace
user = User.objects.create_user("mia", password={PASSWORD!r})
give_role(workspace=Workspace.objects.get(), user=user, role=Role.MANAGER, by=None)
"""


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site() as running:
        running.manage("shell", "--no-imports", "--command", ADD_MANAGER)
        yield running


@pytest.fixture
def page(site: Site, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    log_in(page, site, "mia", PASSWORD)
    yield page
    context.close()


def new_project(page: Page, title: str, slug: str, task: str) -> None:
    menu(page, "Annotation")
    follow(page.get_by_role("link", name="New project").first)
    page.get_by_label("Title").fill(title)
    expect(page.get_by_label("Short name")).to_have_value(re.compile("^[a-z0-9-]+$"))  # it follows the title
    page.get_by_label("Short name").fill(slug)
    page.get_by_label("Task", exact=True).select_option(label=task)


def upload(page: Page, name: str, content: str | bytes, items: int) -> None:
    buffer = content.encode() if isinstance(content, str) else content
    page.locator("input[type=file]").set_input_files(
        FilePayload(name=name, mimeType="application/octet-stream", buffer=buffer)
    )
    press(page, "Upload and check")
    expect(page.get_by_role("heading", name="First items")).to_be_visible(timeout=SECONDS)
    press(page, f"Import {items} item" if items == 1 else f"Import {items} items")
    expect(page.get_by_role("link", name="Show items")).to_be_visible(timeout=SECONDS)


def accept_all(page: Page, site: Site, slug: str, items: int) -> None:
    for _item in range(items):
        page.goto(f"{site.url}/annotate/{slug}/review/")
        follow(page.locator("tbody a").first)
        press(page, "Accept A as gold")


def exported(page: Page, site: Site, slug: str) -> list[dict[str, object]]:
    text = exported_file(page, site, slug, "jsonl", ".jsonl").decode()
    return [json.loads(line) for line in text.splitlines()]


def exported_file(page: Page, site: Site, slug: str, form: str, suffix: str) -> bytes:
    page.goto(f"{site.url}/annotate/{slug}/")
    tab(page, "Export")
    page.get_by_label("Format").select_option(form)
    page.get_by_label("Only items with gold").check()
    press(page, "Make the file")
    name = f"Download {slug}-{form}{suffix}"
    expect(page.get_by_role("link", name=name)).to_be_visible(timeout=SECONDS)
    return downloaded(page, name).path().read_bytes()


def opened(page: Page) -> None:
    expect(page.locator("#editor[data-ready]")).to_be_attached()


def test_named_entities_from_the_form_to_gold(site: Site, page: Page) -> None:
    new_project(page, "Names", "names", "Named entities")
    page.get_by_role("button", name="Add label").click()
    page.get_by_label("Name of label 5").fill("Work")
    page.get_by_label("Guideline of label 5").fill("Books, films and paintings")
    expect(page.locator("#label-preview")).to_contain_text("Work")
    for width in (320, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        look(page, f"new-project-{width}")
    page.set_viewport_size({"width": 1280, "height": 900})
    press(page, "Create project")
    expect(page).to_have_url(f"{site.url}/annotate/names/items/upload/")
    upload(
        page, "texts.jsonl", '{"id": "a", "text": "Ada met Bo."}\n{"id": "b", "text": "Bo wrote Faust."}\n', 2
    )
    look(page, "names-imported")
    page.goto(f"{site.url}/annotate/names/")
    press(page, "Next item")
    for text, key in (("Ada", "1"), ("Faust", "5")):
        opened(page)
        expect(page.locator("#panel")).to_contain_text("Books, films and paintings")
        look(page, "names-guideline")
        page.locator(".token", has_text=text).dblclick()
        page.keyboard.press(key)
        page.keyboard.press("d")
        page.get_by_role("button", name="Submit").click()
        expect(page.locator(".token", has_text=text)).to_have_count(0)
    accept_all(page, site, "names", 2)
    rows = exported(page, site, "names")
    marks = [row["gold"]["layers"]["1"]["objects"][0] for row in rows]  # type: ignore[index]
    assert [(mark["quote"], mark["label"]) for mark in marks] == [("Ada", "Person"), ("Faust", "Work")]


@pytest.mark.soak
def test_classification_from_yaml_to_gold(site: Site, page: Page) -> None:
    new_project(page, "Tone", "tone", "Label configuration in YAML")
    page.get_by_label("Objects to mark").select_option("spans")
    page.get_by_label("Label configuration", exact=True).fill(
        "layers: [{type: choice, name: Tone, labels: [good]}]"
    )
    press(page, "Create project")
    expect(page.get_by_role("alert")).to_contain_text("“Tone” needs two labels or more")
    page.get_by_label("Label configuration", exact=True).fill(
        "layers: [{type: choice, name: Tone, labels: [good, bad]}]"
    )
    press(page, "Create project")
    upload(page, "texts.csv", "id,text\n1,Lovely.\n2,Awful.\n", 2)
    page.goto(f"{site.url}/annotate/tone/")
    press(page, "Next item")
    for text, key in (("Lovely", "1"), ("Awful", "2")):
        opened(page)
        page.keyboard.press(key)
        page.keyboard.press("Control+Enter")
        expect(page.locator(".token", has_text=text)).to_have_count(0)
    accept_all(page, site, "tone", 2)
    rows = exported(page, site, "tone")
    values = [row["gold"]["layers"]["1"]["objects"] for row in rows]  # type: ignore[index]
    assert values == [[{"id": "n1", "value": "good"}], [{"id": "n1", "value": "bad"}]]


COCO = {
    "images": [
        {"id": 1, "file_name": "a.png", "width": 640, "height": 480},
        {"id": 2, "file_name": "b.png", "width": 640, "height": 480},
    ],
    "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 2, "bbox": [64, 48, 128, 96]}],
}


@pytest.mark.soak
def test_a_coco_file_brings_its_labels_and_leaves_as_cvat(site: Site, page: Page) -> None:
    new_project(page, "Animals", "animals", "Boxes in images")
    press(page, "Create project")
    page.get_by_label("Format").select_option("coco")
    page.get_by_label("Use the labels in the file").check()
    for width in (320, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        look(page, f"upload-labels-{width}")
    page.set_viewport_size({"width": 1280, "height": 900})
    pictures = {name: picture(640, 480, colour) for name, colour in (("a.png", "navy"), ("b.png", "teal"))}
    upload(page, "coco.zip", zipped({"coco.json": json.dumps(COCO).encode(), **pictures}), 2)
    look(page, "coco-imported")
    page.goto(f"{site.url}/annotate/animals/")
    press(page, "Next item")
    opened(page)
    look(page, "coco-opened")
    expect(page.locator("#editor")).to_contain_text("cat")
    page.keyboard.press("1")
    drag(page, 0, (0.5, 0.5), (0.8, 0.9))
    look(page, "coco-drawn")
    page.keyboard.press("d")
    with page.expect_navigation():
        page.get_by_role("button", name="Submit").click()
    opened(page)
    text = exported_file(page, site, "animals", "cvat", ".xml").decode()
    look(page, "coco-exported")
    assert '<box label="cat" occluded="0" z_order="0" source="manual" xtl="64.000000"' in text
    assert "<name>dog</name>" in text


@pytest.mark.soak
def test_a_conll_file_is_marked_and_leaves_as_doccano(site: Site, page: Page) -> None:
    new_project(page, "Words", "words", "Named entities")
    press(page, "Create project")
    page.get_by_label("Format").select_option("conll")
    page.get_by_label("Use the labels in the file").check()
    upload(page, "a.conll", "Ada B-PER\nsaw O\nRome B-LOC\n\nBo O\nsang O\n", 2)
    page.goto(f"{site.url}/annotate/words/")
    press(page, "Next item")
    opened(page)
    page.locator(".token", has_text="saw").dblclick()
    page.keyboard.press("2")
    look(page, "conll-marked")
    page.keyboard.press("d")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".token", has_text="saw")).to_have_count(0)
    text = exported_file(page, site, "words", "doccano", ".jsonl").decode()
    first, _second = map(json.loads, text.splitlines())
    assert (first["text"], first["label"]) == ("Ada saw Rome", [[0, 3, "PER"], [8, 12, "LOC"]])
    expect(page.get_by_role("main")).to_contain_text("2 × annotation of a person, left out")


@pytest.mark.soak
def test_a_preference_from_the_form_to_gold(site: Site, page: Page) -> None:
    new_project(page, "Better", "better", "Preference between two answers")
    name = page.get_by_label("Name", exact=True)
    name.nth(0).fill("Winner")
    name.nth(0).blur()
    # The condition follows the new name of the choice, and one more answer shows the layer.
    expect(page.locator("#label-preview")).to_contain_text("Only if “Winner” is A / B")
    expect(page.locator("#layer-1-condition option:checked")).to_have_text("by the answer of “Winner”")
    page.locator("#layer-1-condition").scroll_into_view_if_needed()
    page.get_by_role("group", name="Answers that show the layer").get_by_label("Both alike").check()
    look(page, "form-condition")
    press(page, "Create project")
    page.goto(f"{site.url}/annotate/better/labels/")
    expect(page.get_by_label("Label configuration")).to_have_value(re.compile("show_if:\n    layer: Winner"))
    page.goto(f"{site.url}/annotate/better/items/upload/")
    pair = {"id": "q1", "title": "How many moons has Mars?", "text": "A: Two.\n\nB: Mars has one moon."}
    upload(page, "pairs.jsonl", json.dumps(pair), 1)
    page.goto(f"{site.url}/annotate/better/")
    press(page, "Next item")
    opened(page)
    expect(page.locator("#editor")).to_contain_text("How many moons has Mars?")
    page.keyboard.press("1")
    look(page, "preference-reasons")
    page.get_by_role("option", name="Reasons").click()
    page.get_by_role("checkbox", name="Correct").check()
    page.get_by_role("checkbox", name="Clear").check()
    look(page, "preference-answered")
    with page.expect_navigation():
        page.get_by_role("button", name="Submit").click()
    accept_all(page, site, "better", 1)
    look(page, "preference-gold")
    [row] = exported(page, site, "better")
    layers = row["gold"]["layers"]  # type: ignore[index]
    assert [answer["value"] for answer in layers["1"]["objects"]] == ["A"]
    assert [answer["value"] for answer in layers["2"]["objects"]] == ["Correct", "Clear"]


@pytest.mark.soak
def test_relations_from_the_form_to_gold(site: Site, page: Page) -> None:
    new_project(page, "Linked", "linked", "Relations between entities")
    page.get_by_label("Relations have a direction").uncheck()
    expect(page.locator("#label-preview")).to_contain_text("works for – …")
    for width in (390, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        page.locator("#layer-1-type").scroll_into_view_if_needed()
        look(page, f"form-relations-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("Relations have a direction").check()
    press(page, "Create project")
    upload(page, "texts.jsonl", '{"id": "a", "text": "Ada lives in London."}', 1)
    page.goto(f"{site.url}/annotate/linked/")
    press(page, "Next item")
    opened(page)
    for text, key in (("Ada", "1"), ("London", "3")):
        page.locator(".token", has_text=text).dblclick()
        page.keyboard.press(key)
    page.keyboard.press("d")
    page.keyboard.press("2")
    page.locator(".token", has_text="Ada").click()
    page.get_by_role("button", name="Relate").click()
    page.locator(".token", has_text="London").click()
    look(page, "relation-made")
    page.keyboard.press("d")
    with page.expect_navigation():
        page.get_by_role("button", name="Submit").click()
    accept_all(page, site, "linked", 1)
    [row] = exported(page, site, "linked")
    layers = row["gold"]["layers"]  # type: ignore[index]
    quotes = {mark["id"]: mark["quote"] for mark in layers["1"]["objects"]}
    [relation] = layers["2"]["objects"]
    assert ([quotes[end] for end in relation["ends"]], relation["label"]) == (["Ada", "London"], "lives in")


def test_polygons_from_the_form_to_gold(site: Site, page: Page) -> None:
    new_project(page, "Shapes", "shapes", "Outlines and key points in images")
    press(page, "Create project")
    files = {"items.jsonl": b'{"id": "a", "image": "a.png"}', "a.png": picture(640, 480, "navy")}
    upload(page, "images.zip", zipped(files), 1)
    page.goto(f"{site.url}/annotate/shapes/")
    press(page, "Next item")
    opened(page)
    corners = [(0.2, 0.2), (0.6, 0.2), (0.6, 0.7)]
    for corner in (*corners, corners[0]):
        page.mouse.click(*at(page, 0, *corner))
    page.keyboard.press("d")
    page.get_by_role("option", name="Key points").click()
    page.mouse.click(*at(page, 0, 0.4, 0.25))
    look(page, "polygon-and-point")
    with page.expect_navigation():
        page.get_by_role("button", name="Submit").click()
    accept_all(page, site, "shapes", 1)
    coco = json.loads(exported_file(page, site, "shapes", "coco", ".json"))
    [outline, head] = coco["annotations"]
    near(outline["segmentation"][0], (128, 96, 384, 96, 384, 336), tolerance=3)
    near(head["keypoints"][:3], (256, 120, 2), tolerance=3)
