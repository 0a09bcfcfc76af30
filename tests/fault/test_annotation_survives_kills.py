"""The web server dies at any moment while people annotate.

Nothing that it acknowledged is lost. `tests/soak/test_kills.py` kills any program, on either database.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from annotation.bots import Bot, Plan, run_bots
from tests.site import Site, run_site

ITEMS, KINDS = 24, ("careful", "sloppy", "fast", "offline")

SEED = """
import json
from annotation.actions.bots import enlist_bots
from annotation.actions.data import import_items
from accounts.models import Workspace
from annotation.actions.projects import create_project
from annotation.content.schemas import Image, ItemRecord
from benchmarks.site._bot_sessions import open_sessions
images = (Image(name="left.png"), Image(name="right.png"))
main = Workspace.objects.get()
project = create_project(workspace=main, slug="kills", title="Kills", kind="boxes", by=None)
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
from annotation.content.operations import Edit, apply
from annotation.models import Item, Annotation
from annotation.content.schemas import Document
from annotation.parsed_items import parse_document, parse_item_program, build_subject
operations, wrong = [], []
for annotation in Annotation.objects.select_related("item", "project"):
    item, kind = annotation.item, annotation.project.kind
    program, subject = parse_item_program(item, kind), build_subject(item, kind)
    document, rows = Document(), list(annotation.operations.order_by("revision"))
    for row in rows:
        document, _inverse = apply(document, Edit.model_validate(row.edit), program, subject)
        operations.append([annotation.pk, str(row.uid)])
    revisions = [row.revision for row in rows]
    stored = parse_document(annotation.document)
    if document != stored or revisions != list(range(1, annotation.revision + 1)):
        wrong.append(annotation.pk)
print(json.dumps({
    "operations": operations,
    "wrong": wrong,
    "submitted": list(Annotation.objects.filter(status="submitted").values_list("pk", flat=True)),
    "assignments": list(
        Item.objects.values_list("annotators_wanted", "assigned", "submitted").order_by().distinct()
    ),
}))
"""


@pytest.fixture
def annotation_site() -> Iterator[Site]:
    with run_site(worker=False) as site:
        yield site


def shell(site: Site, code: str) -> Any:
    return json.loads(site.manage("shell", "--no-imports", "--command", code).splitlines()[-1])


def bots_of(sessions: dict[str, str]) -> list[Bot]:
    """One bot of each kind, and each with random pauses of its own."""
    pairs = zip(sessions.items(), KINDS, strict=True)
    return [Bot(name, "", kind, random.Random(name), session=session) for (name, session), kind in pairs]


class Killer:
    """Kills and restarts the web server in each third of the bots' work.

    The points are random. It is called with every answer that a bot gets, and no bot goes on until it
    returns: however fast the machine, none is through before. The requests that are under way meanwhile are
    the ones that are torn.
    """

    def __init__(self, site: Site, bots: list[Bot], rng: random.Random) -> None:
        self.site, self.bots, self.rng = site, bots, rng
        third = ITEMS // 3
        self.left = [rng.randrange(start, start + third) for start in range(0, ITEMS, third)]

    def __call__(self, _bot: Bot) -> None:
        if not self.left or sum(len(bot.submitted) for bot in self.bots) < self.left[0]:
            return
        del self.left[0]
        time.sleep(self.rng.uniform(0.0, 0.02))
        self.site.parts.stop_one("web server", kill=True)
        self.site.parts.start(self.site.stack.web())


@pytest.mark.soak  # tests/soak/test_kills.py kills this program and all others, in every run
def test_nothing_acknowledged_is_lost(annotation_site: Site):
    bots = bots_of(shell(annotation_site, SEED.format(items=ITEMS, bots=len(KINDS))))
    killer = Killer(annotation_site, bots, random.Random(1))
    plan, url = Plan("kills"), annotation_site.url
    asyncio.run(run_bots(bots, url, plan, concurrency=8, think=0.02, patience=60.0, on_answer=killer))
    annotation_site.parts.wait_ready()
    assert [bot.error for bot in bots] == [""] * len(bots)
    assert killer.left == []
    stored = shell(annotation_site, STORED)
    acknowledged = [list(operation) for bot in bots for operation in bot.saved]
    assert sorted(stored["operations"]) == sorted(acknowledged)  # none lost, none doubled, none besides
    assert stored["wrong"] == []
    assert sorted(stored["submitted"]) == sorted(work for bot in bots for work in bot.submitted)
    assert stored["assignments"] == [[1, 1, 1]]
