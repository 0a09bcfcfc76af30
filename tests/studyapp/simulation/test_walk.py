"""Simulated participants walk the real pages.

They answer as their behaviour says, and make nothing up.
"""

import asyncio
import json
import random

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from analysis.participants.bundle import load_bundle
from foundation.behaviour_mix import parse_mix
from foundation.simulated_people import Think
from scripts.sites.example import load_example
from scripts.sites.processes import free_port
from studyapp.actions.studies import close_study
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.link_tokens import resume_token
from studyapp.models import Participant, Trial
from studyapp.queries.bots import build_study_plan, count_stored_rows
from studyapp.queries.studies import name_trial_conditions
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.simulation.bots import Bot, make_bots
from studyapp.simulation.page_requests import Post
from studyapp.simulation.planted_effects import Planted
from studyapp.simulation.study_plan import StudyPlan
from studyapp.simulation.walk import run_bots, walk
from tests.studyapp.factories import make_link_and_token, make_study

QUESTIONS = TEMPLATES["xqa-2020"].item
NONE = dict.fromkeys(("participants", "stages", "items", "surveys", "completed", "ended"), 0)


async def nobody(_cookie: str) -> tuple[str, ...]:
    raise AssertionError("the conditions are known")


def drive(bot: Bot, link: str, plan, effects=None) -> list[str]:
    """Walk with Django's test client; return the paths.

    The client goes through the whole site but no socket.

    effects: condition to what is planted where the item on the page is in it; one bot walks at a time.
    """
    client = Client(enforce_csrf_checks=True)
    steps, response, paths = walk(bot, link, plan), None, []
    try:
        while True:
            if effects or plan.blocks:
                ahead = Trial.objects.filter(answers__isnull=True, condition__isnull=False)
                following = ahead.order_by("-participant", "position").first()
                names = name_trial_conditions(following) if following else ()
                bot.condition = names[0] if names else bot.condition
                bot.effect = Planted(effects or {}, nobody).effect_of(names)
            step = steps.send(response)
            if isinstance(step, Think):
                response = None
                continue
            form = step.form if isinstance(step, Post) else None
            path = httpx.URL(step.url).path
            page = client.get(path, follow=True) if form is None else client.post(path, form, follow=True)
            address = page.redirect_chain[-1][0] if page.redirect_chain else path
            paths.append(address)
            request = httpx.Request("GET", f"http://testserver{address}")
            response = httpx.Response(page.status_code, content=page.content, request=request)
    except StopIteration:
        return paths


def make_bot(kind: str, seed: int = 1) -> Bot:
    return Bot(0, kind, random.Random(seed))


@pytest.fixture
def open_study(db):
    study = make_study(items=4, conditions=2)
    link, token = make_link_and_token(study=study, mode="bot")
    return study, link, f"http://testserver/join/{token}/"


def test_it_works(open_study):
    study, link, address = open_study
    bot = make_bot("honest")
    paths = drive(bot, address, build_study_plan(study))
    assert (bot.items, bot.surveys, bot.left, bot.error) == (4, 1, False, "")
    participant = Participant.objects.get()
    assert participant.mode == "bot"
    assert participant.completion_code == bot.code
    assert paths[0].endswith("/consent/")
    assert paths[-1].endswith("/done/")
    assert count_stored_rows(link) == {**NONE, "participants": 1, "items": 4, "surveys": 1, "completed": 1}
    trial = Trial.objects.earliest("pk")
    assert trial.answers is not None
    assert set(trial.answers) == {question.key for question in QUESTIONS}
    assert trial.client_total_ms is not None
    assert trial.client_visible_ms is not None
    assert trial.client_hidden_ms is not None
    assert trial.client_total_ms == trial.client_visible_ms + trial.client_hidden_ms


def test_a_drop_out_leaves_an_item_open(open_study):
    study, link, address = open_study
    bot = make_bot("drop-out")
    drive(bot, address, build_study_plan(study))
    assert bot.left
    assert bot.code == ""
    assert count_stored_rows(link) == {**NONE, "participants": 1, "items": bot.items}
    shown = Trial.objects.filter(shown_at__isnull=False)
    assert shown.count() == bot.items + 1


def test_an_interrupted_bot_comes_back_to_its_page(open_study):
    study, link, url = open_study
    plan = build_study_plan(study)
    drive(Bot(0, "drop-out", random.Random(1)), url, plan)
    participant = Participant.objects.get()
    answered = participant.trials.filter(answers__isnull=False).count()
    bot = Bot(0, "honest", random.Random(1), entry=f"http://testserver/resume/{resume_token(participant)}/")
    drive(bot, url, plan)
    assert bot.code == Participant.objects.get().completion_code
    assert bot.items == plan.items - answered
    assert count_stored_rows(link)["items"] == plan.items
    again = Bot(0, "honest", random.Random(1), entry=bot.entry)
    drive(again, url, plan)
    assert (again.code, again.items) == (bot.code, 0)


def test_a_second_tab_stores_nothing_twice(open_study):
    study, link, address = open_study
    bot = make_bot("two-tab")
    drive(bot, address, build_study_plan(study))
    assert bot.items == 4
    assert count_stored_rows(link) == {**NONE, "participants": 1, "items": 4, "surveys": 1, "completed": 1}
    assert Participant.objects.get().events.filter(kind="item_submitted").count() == 4


def test_the_same_seed_answers_alike(open_study):
    study, _link, address = open_study
    plan = build_study_plan(study)
    for _ in range(2):
        drive(make_bot("random", seed=5), address, plan)
    trials, other_trials = (
        list(participant.trials.values_list("position", "client_total_ms", "answers__certainty"))
        for participant in Participant.objects.order_by("pk")
    )
    assert trials == other_trials
    drive(make_bot("random", seed=6), address, plan)
    assert Participant.objects.latest("pk").trials.get(position=1).client_total_ms != trials[0][1]


def test_one_failing_bot_does_not_stop_the_others():
    paths = []

    def site(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        if len(paths) == 1:
            raise httpx.ConnectError("refused")
        return httpx.Response(410, text="<title>Closed</title>")

    crowd = make_bots(3, parse_mix("honest", BEHAVIOURS), seed=1)
    plan = StudyPlan(2, QUESTIONS, [], {})
    asyncio.run(
        run_bots(crowd, "http://site/join/x/", plan, concurrency=1, transport=httpx.MockTransport(site))
    )
    assert [bot.error for bot in crowd] == [
        "ConnectError: refused",
        "/join/x/ (Closed) answered with status 410",
        "/join/x/ (Closed) answered with status 410",
    ]


@pytest.mark.django_db
def test_no_site_is_one_sentence():
    study = make_study()
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(CommandError, match=f"no site answers at {url}"):
        call_command("simulate_participants", study.slug, n=1, url=url)
    assert not study.links.exists()


@pytest.mark.django_db
def test_never_launched():
    with pytest.raises(CommandError, match="never launched"):
        call_command("simulate_participants", make_study(launched=False).slug, n=1)


@pytest.mark.service
class TestOnARealSite:
    """The command against a running site, from the link to the analysis."""

    def test_it_works(self, site, tmp_path):
        load_example(site, slug="bots", items=5)
        printed = site.manage(
            "simulate_participants",
            "bots",
            "-n",
            "12",
            "--behaviour",
            "honest=0.5,two-tab=0.25,drop-out=0.25",
        )
        assert "12 bots: 9 completed, 3 left, 0 failed" in printed
        assert "stored: 12 participants" in printed
        site.manage("export_results", "bots", "--out", str(tmp_path / "out"))
        bundle = load_bundle(tmp_path / "out")
        assert set(bundle.participants["mode"]) == {"bot"}
        assert len(bundle.participants) == 12
        flow = json.loads((tmp_path / "out" / "flow.json").read_text())["modes"]["bot"]["conditions"]
        assert sum(arm["completed"] for arm in flow.values()) == 9
        assert max(arm["assigned"] for arm in flow.values()) - min(a["assigned"] for a in flow.values()) <= 1


@pytest.mark.django_db
def test_a_closed_study_makes_no_link(live_server):
    study = make_study()
    close_study(study=study, by=None)
    with pytest.raises(CommandError, match="takes nobody: This study is closed"):
        call_command("simulate_participants", study.slug, n=1, url=live_server.url)
    assert not study.links.exists()
