"""Participants simulated by a language model read the real pages.

They answer them through a fake server.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client

from analysis.participants.bundle import load_bundle
from foundation.simulated_people import BotError, Think
from modelserver.systems.language.paid_requests import STORES
from studyapp.actions.links import create_link
from studyapp.exports.bundle import write_bundle
from studyapp.models import EntryLink, Participant, Trial
from studyapp.simulation.bots import Bot
from studyapp.simulation.language_model import Ask, Respondent, open_respondent, parse_answers, walk
from studyapp.simulation.page_requests import Get, Post
from studyapp.simulation.page_text import read_text
from studyapp.simulation.pages import read_page
from tests.fake_openai import REFUSAL, FakeOpenAI, Plan, content, error
from tests.studyapp.factories import (
    make_advice,
    make_counterfactual,
    make_everything,
    make_link_and_token,
    make_study,
)

PAGE = """<main><aside><p class="hash">personal link</p></aside><h1 class="question-text">Who founded it?</h1>
<p>Ada <mark class="fact"><span class="visually-hidden">Highlighted: </span>founded it.</mark> Bo&amp;Co
 sang.</p>
<p hidden>unseen</p><form method="post"><input type="hidden" name="page_key" value="k">
<fieldset><legend>Is it right?</legend>
<label><input type="radio" name="right" value="yes"><span>Yes</span></label>
<label><input type="radio" name="right" value="no"><span>No</span></label></fieldset>
<fieldset><legend>Which?</legend><input type="checkbox" name="which" value="a"> A <input type="checkbox"
 name="which" value="b"> B</fieldset>
<label>Why?</label><textarea name="why"></textarea><input type="checkbox" name="why" value="-"> no word
<select name="rank"><option value="">–</option><option value="1">1</option></select>
<div class="unasked"><label>Leave empty</label><input type="text" name="website"></div></form></main>
<footer>below</footer>"""


def first_choices(prompt: str) -> dict[str, Any]:
    """Choose the first value of each field, and write into the others."""
    names = re.search(r"that has the fields (.*), in this order", prompt)
    assert names is not None
    offered = dict(reversed(re.findall(r"\[(\w+)=([^\]]*)\]", prompt)))
    return {name: offered.get(name, "Kolwen") for name in names[1].split(", ")}


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(answer=first_choices) as server:
        yield server


@pytest.fixture
def file(tmp_path: Path, server: FakeOpenAI) -> Path:
    return written(tmp_path, server)


@pytest.fixture
def opened_model() -> Iterator[Callable[..., Respondent]]:
    """Open models, and close them at the end."""
    with ExitStack() as models:

        def opened(path: Path, **options: Any) -> Respondent:
            model = open_respondent(path, **options)
            models.callback(model.close)
            return model

        yield opened


def written(tmp_path: Path, server: FakeOpenAI, more: str = "") -> Path:
    path = tmp_path / "reader.yaml"
    prices = "prices: {input: 1, output: 2}"
    path.write_text(f"url: {server.url}\nmodel: small\n{prices}\nlimits: {{concurrency: 4{more}}}\n")
    return path


# --- reading a page ----------------------------------------------------------------------------------------


def test_a_page_is_read_as_a_person_sees_it():
    read = read_text(PAGE)
    assert read.text.split("\n") == [
        "Who founded it?",
        "Ada {Highlighted: founded it.} Bo&Co sang.",
        "Is it right?",
        "[right=yes] Yes",
        "[right=no] No",
        "Which?",
        "[which=a] A",
        "[which=b] B",
        "Why?",
        "[why]",
        "no word –",
        "[rank=1] 1",
    ]
    assert {name: (control.values, control.several) for name, control in read.controls.items()} == {
        "right": (["yes", "no"], False),
        "which": (["a", "b"], True),
        "why": ([], False),
        "rank": (["1"], False),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no", "Expecting value"),
        ("[]", "it is not a JSON object"),
        ('{"right": "perhaps"}', "right: 'perhaps' is not among yes, no"),
        ('{"right": ["yes", "no"]}', "right: takes one value"),
        ('{"which": ["a", "c"]}', "which: 'c' is not among a, b"),
        ('{"page_key": "x"}', "there is no field page_key"),
    ],
)
def test_a_wrong_answer_is_refused(text: str, problem: str):
    with pytest.raises(ValueError, match=problem):
        parse_answers(text, read_text(PAGE))


def test_a_valid_answer_is_a_form():
    text = '{"right": "yes", "which": ["a", "b"], "why": " so ", "rank": ""}'
    assert parse_answers(text, read_text(PAGE)) == {"right": "yes", "which": ["a", "b"], "why": "so"}


def test_an_image_is_not_sent(file: Path, server: FakeOpenAI, opened_model: Any):
    page = read_page("http://site/study/a/1/", '<main><img src="a.png" alt="a dog"></main>')
    with pytest.raises(BotError, match="shows an image, which is not sent"):
        asyncio.run(opened_model(file).fill(page, "p1"))
    assert server.requests == []


# --- taking part, on pages without a socket ----------------------------------------------------------------


def take_part(study: Any, model: Respondent, client: Client | None = None) -> Bot:
    """Walk with Django's test client.

    A client that is given goes on where it stopped.
    """
    address = f"/join/{make_link_and_token(study=study, mode='bot')[1]}/"
    bot = Bot(0, "llm", random.Random(1), entry=f"/study/{study.slug}/" if client else "")
    client, steps = client or Client(), walk(bot, address)
    answer: Any = None
    with suppress(StopIteration):
        while True:
            step = steps.send(answer)
            if isinstance(step, Think):
                answer = None
            elif isinstance(step, Ask):
                answer = asyncio.run(model.fill(step.page, Participant.objects.latest("pk").public_id))
            else:
                answer = opened(client, step)
    return bot


def opened(client: Client, step: Get | Post) -> httpx.Response:
    path = httpx.URL(step.url).path
    response = (
        client.post(path, step.form, follow=True) if isinstance(step, Post) else client.get(path, follow=True)
    )
    address = response.redirect_chain[-1][0] if response.redirect_chain else path
    request = httpx.Request("GET", f"http://testserver{address}")
    return httpx.Response(response.status_code, content=response.content, request=request)


@pytest.mark.django_db
@pytest.mark.parametrize("make", [make_study, make_advice, make_counterfactual])
def test_every_task_is_answered(file: Path, make: Any, opened_model: Any):
    bot = take_part(make(), opened_model(file))
    assert bot.code == Participant.objects.get().completion_code
    assert not Trial.objects.filter(answers__isnull=True).exists()
    assert not Trial.objects.exclude(client_total_ms=None).exists()  # no time of a model is a reading time


@pytest.mark.django_db
def test_a_page_that_is_refused_is_filled_once_more(file: Path, server: FakeOpenAI, opened_model: Any):
    with pytest.raises(BotError, match="refused the model's answers twice"):
        take_part(make_everything(), opened_model(file))  # it wants a number
    first, second = (body["messages"][-1]["content"] for body in server.requests[-2:])
    assert "Please enter a number" not in first
    assert "Please enter a number" in second


@pytest.mark.django_db
def test_nothing_is_asked_twice_after_a_kill(file: Path, server: FakeOpenAI, opened_model: Any):
    study, model, client = make_study(items=3), opened_model(file), Client()
    client.get(f"/join/{make_link_and_token(study=study, mode='bot')[1]}/")
    client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
    participant_id = Participant.objects.get().public_id
    page = opened(client, Get(f"/study/{study.slug}/"))
    # And the kill comes before it is sent.
    asyncio.run(model.fill(read_page(str(page.url), page.text), participant_id))
    bot = take_part(study, opened_model(file), client)
    assert bot.code == Participant.objects.get().completion_code
    assert len(server.requests) == 4  # three items and the survey


@pytest.mark.django_db
def test_an_invalid_answer_gets_one_retry(tmp_path: Path, opened_model: Any):
    wrong = content('{"correctness_rating": "perhaps"}')
    with FakeOpenAI([wrong, Plan(), REFUSAL, REFUSAL], answer=first_choices) as server:
        with pytest.raises(BotError, match="the model refused: I cannot help with that"):
            take_part(make_study(items=2), opened_model(written(tmp_path, server)))
        assert "there is no field correctness_rating" in server.requests[1]["messages"][-1]["content"]
        assert len(server.requests) == 4
    assert Trial.objects.filter(answers__isnull=False).count() == 1


@pytest.mark.django_db
def test_it_remembers_as_many_pages_as_asked(file: Path, server: FakeOpenAI, opened_model: Any):
    take_part(make_study(items=4), opened_model(file, remember=2))
    roles = [[message["role"] for message in body["messages"]] for body in server.requests]
    assert [len(names) for names in roles] == [1, 3, 5, 5, 5]
    assert roles[-1] == ["user", "assistant", "user", "assistant", "user"]
    page, answers = (message["content"] for message in server.requests[-1]["messages"][2:4])
    assert "Question 4 of 4" in page
    assert json.loads(answers)["rated_correct"] == "yes"


# --- the command -------------------------------------------------------------------------------------------


def command(study: Any, path: Path, *more: str, n: int = 2, errors: Any = None) -> str:
    out = StringIO()
    call_command(
        *(
            "simulate_participants",
            study.slug,
            "-n",
            str(n),
            "--behaviour",
            "llm",
            "--model",
            str(path),
            *more,
        ),
        stdout=out,
        stderr=errors or out,
    )
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_it_works(live_server: Any, file: Path, server: FakeOpenAI, tmp_path: Path):
    study = make_study(items=1, conditions=2)
    server.plans.extend([Plan(), Plan(), Plan(), error(403)])
    errors = StringIO()
    once = ("--url", live_server.url, "--concurrency", "1")
    with pytest.raises(CommandError, match="1 of 2 bots failed"):
        command(study, file, *once, errors=errors)
    assert "answered 403" in errors.getvalue()
    printed = command(study, file, *once)  # goes on with the second
    assert f"pages go to: {server.url} (small)" in printed
    assert "participants to simulate: 1\nrequests, about: 2\n" in printed
    assert "1 bot: 1 completed, 0 left, 0 failed" in printed
    assert re.search(r"\n\d+ tokens sent, \d+ received, cost 0\.\d{4} USD\n", printed)
    assert "stored: 2 participants, 2 completed" in printed
    assert len(server.requests) == 5
    assert set(Participant.objects.values_list("mode", "status")) == {("bot", "completed")}

    behaviour = EntryLink.objects.latest("pk").behaviour
    assert re.fullmatch(r"llm: small \(reader@[0-9a-f]{12}\)", behaviour)
    write_bundle(study, tmp_path / "out")
    assert set(load_bundle(tmp_path / "out").participants["behaviour"]) == {behaviour}


@pytest.mark.django_db(transaction=True)
def test_the_budget_stops_all(live_server: Any, tmp_path: Path, server: FakeOpenAI):
    path, errors = written(tmp_path, server, ", budget_tokens: 100"), StringIO()
    with pytest.raises(CommandError, match="3 of 3 bots failed"):
        command(make_study(), path, "--url", live_server.url, "--concurrency", "1", n=3, errors=errors)
    assert "the budget of the model's file allows no other request" in errors.getvalue()
    assert server.requests == []
    assert Participant.objects.count() == 1  # the others were not sent


@pytest.mark.django_db
def test_a_dry_run_sends_nothing(file: Path, server: FakeOpenAI):
    printed = command(make_study(), file, "--dry-run")
    assert "cost, at most about: 0.0" in printed
    assert "budget: none; spent so far: 0 tokens" in printed
    assert server.requests == []
    assert not EntryLink.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--behaviour llm", "go together"),
        ("--behaviour honest --model FILE", "go together"),
        ("--behaviour llm=0.5,honest=0.5 --model FILE", "goes with no other behaviour"),
        ("--behaviour llm --model FILE --spread 0.1,0", "plant nothing in a language model"),
        ("--dry-run", "are for --behaviour llm"),
        ("--behaviour llm --model absent.yaml", "--model: absent.yaml: there is no such file"),
    ],
)
def test_options_that_do_not_fit(options: str, message: str, file: Path):
    arguments = options.replace("FILE", str(file)).split()
    with pytest.raises(CommandError, match=re.escape(message)) as caught:
        call_command("simulate_participants", make_study().slug, "-n", "1", *arguments)
    assert caught.value.returncode == (1 if "absent" in options else 2)


@pytest.mark.django_db
def test_only_links_for_bots_have_a_behaviour():
    study = make_study()
    with pytest.raises(ValueError, match="only bots have one"):
        create_link(study=study, by=None, behaviour="honest")
    with pytest.raises(IntegrityError, match="behaviour_is_of_bots"), transaction.atomic():
        EntryLink.objects.create(study=study, token_hash="x", behaviour="honest")


def test_answers_are_stored_where_the_environment_says(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(STORES, str(tmp_path / "stores"))
    (tmp_path / "stores").mkdir()
    open_respondent(file).close()
    assert (tmp_path / "stores" / "reader.answers.sqlite3").exists()
