"""The demo's content is made once, and found again.

It never overwrites what a person did.
"""

import json
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from config.demo.annotation import BOT_ITEMS, ITEMS, NETWORKS
from config.demo.content import LANGUAGE, READERS
from scripts.sites.stack import Stack
from tests.site import Site, run_site

SHOW = """
import json
from accounts.models import User
from annotation.models import Gold, Item, Membership, Project, SystemOutput, Annotation
from predictions.models import Prediction, Question, Score
from studyapp.models import EntryLink, Study, StudyVersion
models = (User, EntryLink, Prediction, Question, Score, Study, StudyVersion)
models += (Project, Item, Gold, Membership, SystemOutput, Annotation)
print(json.dumps({model.__name__: model.objects.count() for model in models}))
"""


@pytest.fixture(scope="module")
def demo_site() -> Iterator[Site]:
    with run_site(
        fake=(*READERS.systems, *LANGUAGE.systems[:2]), modular=tuple(NETWORKS.values())
    ) as running:
        running.manage("load_demo")
        yield running


def read_demo_file(site: Site) -> dict[str, Any]:
    return json.loads((site.var / "demo.json").read_text())


def counts(site: Site) -> dict[str, int]:
    return json.loads(site.manage("shell", "--no-imports", "--command", SHOW).splitlines()[-1])


def test_everything_is_there(demo_site: Site):
    questions = READERS.questions + LANGUAGE.questions + ITEMS
    predictions = 2 * READERS.questions + 3 * LANGUAGE.questions + ITEMS
    assert counts(demo_site) == {
        "User": 7, "EntryLink": 3, "Question": questions, "Prediction": predictions,
        "Score": 2, "Study": 3, "StudyVersion": 3, "Project": 2, "Item": 2 * ITEMS, "Gold": 2 * ITEMS,
        "Membership": 10, "SystemOutput": 2 * ITEMS, "Annotation": 2 * 2 * BOT_ITEMS,
    }  # fmt: skip


def test_the_secrets_are_for_their_owner_alone(demo_site: Site):
    assert stat.S_IMODE((demo_site.var / "demo.json").stat().st_mode) == 0o600


def test_the_participant_link_leads_to_the_consent(demo_site: Site):
    token = read_demo_file(demo_site)["studies"][0]["token"]
    with httpx.Client(base_url=demo_site.url, follow_redirects=True) as client:
        page = client.get(f"/join/{token}/")
    assert page.status_code == 200
    assert page.url.path.endswith("/consent/")
    assert "A study of computer answers" in page.text
    assert "Do the explanations help?" not in page.text


@contextmanager
def logged_in(site: Site, login: dict[str, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site.url, follow_redirects=True) as client:
        client.get("/accounts/login/")
        form = {**login, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        page = client.post("/accounts/login/", data=form, headers={"Referer": site.url})
        assert page.status_code == 200
        assert page.url.path == "/start/"
        yield client


def test_the_login_opens_the_staff_page(demo_site: Site):
    with logged_in(demo_site, read_demo_file(demo_site)["staff"]) as client:
        assert "world-facts" in client.get("/staff/").text


def test_the_annotator_is_given_an_item_and_the_adjudicator_finds_some_to_settle(demo_site: Site):
    annotator, adjudicator = read_demo_file(demo_site)["annotators"]
    with logged_in(demo_site, annotator) as client:
        page = client.get("/annotate/scenes/")
        token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', page.text)[1]
        headers = {"Referer": str(page.url)}
        page = client.post("/annotate/scenes/next/", data={"csrfmiddlewaretoken": token}, headers=headers)
        assert page.url.path.startswith("/annotate/annotation/")
        image = re.search(r"/api/v1/projects/scenes/images/\d+/", page.text)[0]
        assert client.get(image).headers["content-type"] == "image/png"
    with logged_in(demo_site, adjudicator) as client:
        review = client.get("/annotate/games/review/").text
        assert len(set(re.findall(r"/annotate/games/items/\d+/", review))) == BOT_ITEMS


def test_the_study_of_steps_shows_boxes_over_images(demo_site: Site):
    study = read_demo_file(demo_site)["studies"][2]
    assert study["slug"] == "scenes-steps"
    with logged_in(demo_site, read_demo_file(demo_site)["staff"]) as client:
        address = f"/staff/studies/{study['slug']}/preview/page/?page=item&condition=steps+of+the+system"
        page = client.get(address).text
        assert "Step 1." in page
        image = re.search(r"/study/scenes-steps/image/[0-9a-f]{64}\.png", page)[0]
        assert client.get(image).headers["content-type"] == "image/png"


def test_the_study_of_language_models_shows_rationales(demo_site: Site):
    with logged_in(demo_site, read_demo_file(demo_site)["staff"]) as client:
        address = "/staff/studies/explain-first/preview/page/?page=item&condition=Explains+first"
        page = client.get(address).text
    assert "The system wrote this text to explain its answer" in page


def test_a_second_run_adds_nothing_and_gives_the_same_login_and_link(demo_site: Site):
    before = counts(demo_site), read_demo_file(demo_site)
    demo_site.manage("load_demo")
    assert (counts(demo_site), read_demo_file(demo_site)) == before


def test_without_its_file_it_gives_a_new_link_and_says_that_the_password_is_not_known(demo_site: Site):
    before = read_demo_file(demo_site)
    (demo_site.var / "demo.json").unlink()
    demo_site.manage("load_demo")
    after = read_demo_file(demo_site)
    assert after["staff"]["password"] == ""
    assert after["studies"][0]["token"] != before["studies"][0]["token"]
    assert counts(demo_site)["EntryLink"] == 6


def test_the_environment_of_the_tests_does_not_reach_the_site(demo_site: Site):
    assert isinstance(demo_site.stack, Stack)
    assert demo_site.env["DEBUG"] == "false"
    assert demo_site.env["VAR_DIR"] == str(demo_site.var)
