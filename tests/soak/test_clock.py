"""The clock of a site jumps by up to a day while people use it.

They take part, annotate and are paid.
"""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from annotation.bots import Plan, run_bots
from scripts.load.walkers import Tally, run_crowd
from scripts.sites.example import load_example, make_link
from scripts.sites.site import Site, run_site
from tests.fault.test_annotation_survives_kills import KINDS, SEED, bots_of
from tests.fault.test_annotation_survives_kills import STORED as ANNOTATED
from tests.fault.test_interrupted_payments import ORDER, SETTINGS, WALK
from tests.fault.test_interrupted_payments import shell as run
from tests.fault.test_study_survives_kills import STORED as ANSWERED
from tests.functional.pages import ADD_OWNER
from tests.paths import ROOT
from tests.soak import rng_of, size
from tests.soak.killing import shell
from tests.studyapp.platform_standin import ProlificApi, prolific_api
from tests.waiting import eventually

DAY = 86_400.0
ITEMS, PAID = 4, 3
ADA = 'User.objects.get(username="ada")'
JOBS = """
import json
from jobs.models import Job
print(json.dumps(list(Job.objects.order_by("pk").values_list("status", flat=True))))
"""
LOST = """
from datetime import timedelta
from accounts.models import User, Workspace
from jobs.actions.jobs import create_job
from jobs.models import Job
from studyapp.models import Study
job = create_job(kind="export_bundle", workspace=Workspace.objects.get(), by=User.objects.get(username="ada"),
                 options={"study": Study.objects.get().pk})
Job.objects.filter(pk=job.pk).update(created_at=job.created_at + timedelta(days=1))
"""
ACTIVE = """
import json
from annotation.models import Annotation
print(json.dumps(list(Annotation.objects.values_list("active_seconds", flat=True))))
"""


class Clock:
    """The clock of a site."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0.0)

    def set(self, offset: float) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(str(offset), "ascii")
        new.replace(self.file)

    @contextmanager
    def jumping(self) -> Iterator[None]:
        """Jump three times a second, and end a day back.

        Everything stored is in the future then.
        """
        over, rng = Event(), rng_of("clock", 0)

        def jump() -> None:
            while not over.wait(0.3):
                self.set(rng.uniform(-DAY, DAY))

        thread = Thread(target=jump, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.set(-DAY)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path / "offset")


@pytest.fixture
def api() -> Iterator[ProlificApi]:
    with prolific_api() as standing_in:
        yield standing_in


@pytest.fixture
def site(clock: Clock, api: ProlificApi) -> Iterator[Site]:
    extra = {
        **SETTINGS, "PROLIFIC_API_URL": api.url, "RATE_LIMITS": "false", "CLOCK_OFFSET": str(clock.file),
        "PYTHONPATH": str(ROOT / "tests/soak/moved_clock"),
    }  # fmt: skip
    with run_site(extra=extra) as running:
        yield running


def check_participants(site: Site, tally: Tally, people: int) -> None:
    stored = shell(site, ANSWERED)
    sent = {key.partition(".")[0].removeprefix("item-") for key in tally.answers}
    assert len(sent) == tally.items == people * ITEMS
    assert sent <= stored["answers"].keys()
    assert stored["people"] == [["completed", ITEMS]] * (people + PAID)
    site.manage("export_results", "example", "--out", str(site.var / "bundle"))
    with (site.var / "bundle" / "trials.csv").open(encoding="utf-8", newline="") as file:
        times = [row["server_ms"] for row in csv.DictReader(file)]
    assert len(times) >= (people + PAID) * ITEMS
    assert [time for time in times if time and int(time) < 0] == []


def check_payments(site: Site, api: ProlificApi) -> None:
    """Check that a job whose message was lost is found and done, too.

    The clock is behind all that is stored by then.
    """
    run(site, LOST)
    eventually(lambda: shell(site, JOBS) == ["done", "done"])
    assert {row.approvals for row in api.submissions.values()} == {1}
    assert [row.bonuses for row in api.submissions.values()] == [[150]] * PAID


def test_nothing_is_lost_or_doubled(site: Site, clock: Clock, api: ProlificApi) -> None:
    people = size(6, 0.2)
    load_example(site, questions=12, items=ITEMS)
    run(site, ADD_OWNER.format(name="ada", password="only for this test"))
    api.add(*(f"p{number}" for number in range(PAID)))
    run(site, WALK.format(bots=PAID))
    bots = bots_of(shell(site, SEED.format(items=6, bots=len(KINDS))))
    tally, link = Tally(), make_link(site)

    async def work() -> None:
        annotating = run_bots(bots, site.url, Plan("kills"), concurrency=4, think=0.05, patience=20.0)
        await asyncio.gather(run_crowd(link, tally, users=people, think=0.2, patience=20.0), annotating)

    with clock.jumping():
        run(site, ORDER.format(name="first", amount="1.50").replace("User.objects.get()", ADA))
        asyncio.run(work())
    check_participants(site, tally, people)
    annotated = shell(site, ANNOTATED)
    assert [bot.error for bot in bots] == [""] * len(bots)
    assert sorted(annotated["operations"]) == sorted(
        list(operation) for bot in bots for operation in bot.saved
    )
    assert sorted(annotated["submitted"]) == sorted(work for bot in bots for work in bot.submitted)
    assert annotated["wrong"] == []
    assert min(shell(site, ACTIVE)) >= 0
    check_payments(site, api)
