"""The web server dies at any moment while people annotate; nothing that it acknowledged is lost."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from annotation.bots import Bot, Plan, run_bots
from scripts import servers
from tests.site import Site, running_site

ITEMS, KINDS = 24, ("careful", "sloppy", "fast", "offline")
SUBMITTED_BETWEEN_KILLS = 8

SEED = """
import json
from annotation.actions.bots import enlist_bots, open_sessions
from annotation.actions.data import import_items
from annotation.actions.projects import create_project
from annotation.payloads import Image, ItemRecord
images = (Image(name="left.png"), Image(name="right.png"))
project = create_project(slug="kills", title="Kills", kind="boxes", by=None)
import_items(project=project, records=[
    ItemRecord(external_id=str(n), kind="boxes", program="equal(count(filter[black](find[dogs])), 2)",
               text="There are two black dogs.", images=images, answer=True)
    for n in range({items})
])
print(json.dumps(open_sessions(names=[name for name, _password in enlist_bots(project=project, n={bots})])))
"""

# Every stored document is what its operations add up to, one revision each.
STORED = """
import json
from annotation.editing import Edit, apply
from annotation.models import Item, Work
from annotation.payloads import Document
from annotation.subjects import document_of, program_of, subject_of
operations, wrong = [], []
for work in Work.objects.select_related("item", "project"):
    program, subject = program_of(work.item, work.project.kind), subject_of(work.item, work.project.kind)
    document, rows = Document(), list(work.operations.order_by("revision"))
    for row in rows:
        document, _inverse = apply(document, Edit.model_validate(row.edit), program, subject)
        operations.append([work.pk, str(row.uid)])
    revisions = [row.revision for row in rows]
    if document != document_of(work.document) or revisions != list(range(1, work.revision + 1)):
        wrong.append(work.pk)
print(json.dumps({
    "operations": operations,
    "wrong": wrong,
    "submitted": list(Work.objects.filter(status="submitted").values_list("pk", flat=True)),
    "places": list(Item.objects.values_list("places", "taken", "submitted").order_by().distinct()),
}))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.service)])
def annotation_site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with ExitStack() as stack:
        url = None
        if request.param == "postgres":
            url = stack.enter_context(servers.postgres_database(request.getfixturevalue("postgres_server")))
        yield stack.enter_context(running_site(database_url=url, worker=False))


def shell(site: Site, code: str) -> Any:
    return json.loads(site.manage("shell", "--no-imports", "--command", code).splitlines()[-1])


def bots_of(sessions: dict[str, str]) -> list[Bot]:
    """One bot of each kind, and each with random pauses of its own."""
    pairs = zip(sessions.items(), KINDS, strict=True)
    return [Bot(name, "", kind, random.Random(name), session=session) for (name, session), kind in pairs]


def kill_while(site: Site, working: threading.Thread, bots: list[Bot], rng: random.Random) -> int:
    """Kill the web server and start it again, at random moments in every part of the bots' work.

    How far they are says when, and not the clock: a quick machine would else have them through before.
    """
    kills = 0
    for submitted in range(0, ITEMS, SUBMITTED_BETWEEN_KILLS):
        while working.is_alive() and sum(len(bot.submitted) for bot in bots) < submitted:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))
        if not working.is_alive():
            break
        site.parts.stop_one("web server", kill=True)
        kills += 1
        site.parts.start(site.stack.web())
    site.parts.wait_ready()
    return kills


def test_nothing_acknowledged_is_lost(annotation_site: Site):
    bots = bots_of(shell(annotation_site, SEED.format(items=ITEMS, bots=len(KINDS))))
    run = run_bots(bots, annotation_site.url, Plan("kills"), concurrency=8, think=0.1, patience=60.0)
    working = threading.Thread(target=asyncio.run, args=(run,))
    working.start()
    kills = kill_while(annotation_site, working, bots, random.Random(1))
    working.join(timeout=120)
    assert not working.is_alive()
    assert [bot.error for bot in bots] == [""] * len(bots)
    assert kills == 3, "the bots were through before the server was killed often enough to mean anything"
    stored = shell(annotation_site, STORED)
    acknowledged = [list(operation) for bot in bots for operation in bot.saved]
    assert sorted(stored["operations"]) == sorted(acknowledged)  # none lost, none doubled, none besides
    assert stored["wrong"] == []
    assert sorted(stored["submitted"]) == sorted(work for bot in bots for work in bot.submitted)
    assert stored["places"] == [[1, 1, 1]]
