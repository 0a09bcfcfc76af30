"""A new version with a migration comes while participants answer.

No request fails, and no answer is lost.

``make soak`` runs it (suite "scaled"): four starts of a web server are too much for every run of the tests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest

from scripts.load.walkers import Tally, run_crowd
from scripts.sites import servers
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import Supervisor, run
from scripts.sites.site import prepare, prepare_postgres
from tests.deploy.scaled_site import ScaledSite, scaled_site
from tests.fault.test_study_survives_kills import STORED, written
from tests.soak import size
from tests.waiting import eventually

pytestmark = [pytest.mark.service, pytest.mark.soak]
ITEMS = 5
NEXT = {"DJANGO_SETTINGS_MODULE": "tests.deploy.next_version.settings"}


def upgrade(scaled: ScaledSite) -> None:
    """Upgrade the site as the page on deploying says.

    Prepare it, then restart one web server after the other.
    """
    site = scaled.site
    assert run([sys.executable, "manage.py", "prepare_site"], {**site.env, **NEXT}) == 0
    for name in ("web 1", "web 2"):
        part = scaled.parts[name]
        scaled.parts[name] = replace(part, env={**part.env, **NEXT})
        site.parts.stop_one(name)
        scaled.start(name)


def check_answers(scaled: ScaledSite, tally: Tally) -> None:
    stored = json.loads(scaled.site.manage("shell", "--no-imports", "--command", STORED).splitlines()[-1])
    sent = {key.partition(".")[0].removeprefix("item-"): form for key, form in tally.answers.items()}
    assert sent.keys() == stored["answers"].keys()
    for trial, answers in stored["answers"].items():
        assert {key: written(value) for key, value in answers.items()}.items() <= sent[trial].items()
    assert stored["people"] == [["completed", ITEMS]] * tally.consents


def test_no_request_fails(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as lasting:
        template = prepare_postgres(postgres_server)
        database = lasting.enter_context(servers.copy_postgres_database(postgres_server, template=template))
        scaled = lasting.enter_context(scaled_site(database, lasting.enter_context(Supervisor())))
        prepare(database, scaled.site.var)
        scaled.start("web 1", "web 2", "nginx")
        load_example(scaled.site, items=ITEMS)
        monkeypatch.setenv("SSL_CERT_FILE", str(scaled.site.var / "site.crt"))
        link, tally, over = make_link(scaled.site), Tally(), threading.Event()

        def people() -> None:
            for turn in itertools.takewhile(lambda _: not over.is_set(), itertools.count(1)):
                asyncio.run(run_crowd(link, tally, users=size(6), think=0.5, seed=turn))

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(people)
            try:
                eventually(lambda: tally.items > 0)
                upgrade(scaled)
            finally:
                over.set()
            working.result(timeout=300)  # no request failed, or it would raise
        assert tally.repeated == 0
        assert tally.completed == tally.consents
        check_answers(scaled, tally)
