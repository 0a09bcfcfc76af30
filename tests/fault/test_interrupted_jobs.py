"""Workers are killed in the middle of jobs that store much.

Nothing of the jobs is lost or doubled.
"""

from __future__ import annotations

import csv
import io
import json
import random
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scripts.sites.example import load_example
from scripts.sites.site import Site, run_site
from tests.annotation.pairs import pairs, zipped
from tests.functional.pages import ADD_OWNER
from tests.studyapp.questions import entries, write_json

pytestmark = pytest.mark.service

EARLIER, BOTS, ITEMS, PAIRS, QUESTIONS = 4, 4, 4, 4, 1000
SEED = 2026
SECONDS = 180
LONG = {"import_dataset", "simulate_participants", "report", "simulate_annotators"}  # others end too soon
LEASE = {"JOB_LEASE_SECONDS": "2", "JOB_SWEEP_SECONDS": "1"}

ADD_WORK = (
    ADD_OWNER.format(name="ada", password="only for this test")
    + """
import json
from pathlib import Path
from annotation.actions.projects import create_project
from annotation.models import Project
from jobs.actions.jobs import create_job
from jobs.tasks import enqueue_job
from predictions.models import PredictionRun
from studyapp.models import Study
study, workspace = Study.objects.get(), Workspace.objects.get()
project = create_project(slug="dogs", title="Dogs", kind="boxes", workspace=workspace, by=user)
folder = Path({folder!r})
made = {{}}
for kind, options, upload in (
    ("import_items", {{"project": project.pk, "format": "nlvr2"}}, "pairs.zip"),
    ("simulate_participants", {{"study": study.pk, "n": {bots}}}, ""),
    ("export_bundle", {{"study": study.pk}}, ""),
    ("report", {{"study": study.pk, "resamples": 100}}, ""),
    ("score", {{"run": str(PredictionRun.objects.first().pk)}}, ""),
    ("simulate_annotators", {{"project": project.pk, "n": 1}}, ""),
    ("export_annotations", {{"project": project.pk, "format": "jsonl"}}, ""),
    ("import_dataset", {{"name": "films", "format": "hotpot"}}, "films.json"),
):
    job = create_job(
        kind=kind, workspace=workspace, by=user, options=options, upload_name=upload or "none",
        upload=[(folder / upload).read_bytes()] if upload else None,
    )
    made[kind] = job.pk
    enqueue_job(job)
print(json.dumps(made))
"""
)
LOOK = "SELECT kind, status, attempts, error, file FROM jobs_job"
COUNT = """
import json
from annotation.models import Annotation, Item, ItemImport
from predictions.models import Dataset, Question
from studyapp.models import Participant, Report, Trial
bots = Participant.objects.filter(link__label__startswith="bots of job")
print(json.dumps({
    "datasets": Dataset.objects.filter(name="films").count(),
    "questions": Question.objects.filter(dataset__name="films").count(),
    "imports": ItemImport.objects.count(),
    "items": Item.objects.count(),
    "submitted": Annotation.objects.filter(status="submitted").count(),
    "annotations": Annotation.objects.count(),
    "reports": Report.objects.count(),
    "bots": bots.count(),
    "completed": bots.filter(status="completed").count(),
    "trials": Trial.objects.filter(participant__in=bots, answers__isnull=False).count(),
}))
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with run_site(extra=LEASE) as running:
        load_example(running, slug="example", questions=20, items=ITEMS)
        running.manage("simulate_participants", "example", "-n", str(EARLIER))
        yield running


def shell(site: Site, command: str) -> Any:
    return json.loads(site.manage("shell", "--no-imports", "--command", command))


def interrupt(site: Site, kinds: dict[str, int]) -> dict[str, dict[str, Any]]:
    """Kill the worker in the middle of each long job, and return all jobs.

    They are returned when all have ended; each long one is interrupted once.
    """
    rng, killed, end = random.Random(SEED), set[str](), time.monotonic() + SECONDS
    while True:
        with closing(sqlite3.connect(site.var / "touchstone.sqlite3", timeout=20)) as database:
            database.row_factory = sqlite3.Row
            jobs = {row["kind"]: dict(row) for row in database.execute(LOOK)}
        running = {kind for kind, job in jobs.items() if job["status"] == "running"} & LONG - killed
        if running:
            time.sleep(rng.uniform(0.0, 0.05))  # an import of these ends in 0.2 s on a fast machine
            site.parts.stop_one("worker", kill=True)
            killed |= running
            site.parts.start(site.stack.worker())
        elif not any(job["status"] in ("pending", "running") for job in jobs.values()):
            return jobs
        assert time.monotonic() < end, jobs
        time.sleep(0.01)


@pytest.mark.soak
def test_nothing_is_lost_or_doubled(site: Site, tmp_path: Path) -> None:
    write_json(tmp_path / "films.json", entries(QUESTIONS))
    (tmp_path / "pairs.zip").write_bytes(zipped(pairs(PAIRS)))
    kinds = shell(site, ADD_WORK.format(folder=str(tmp_path), bots=BOTS))
    jobs = interrupt(site, kinds)
    assert {kind: (job["status"], job["error"]) for kind, job in jobs.items()} == dict.fromkeys(
        kinds, ("done", "")
    )
    assert {kind for kind, job in jobs.items() if job["attempts"] > 1} >= LONG
    assert shell(site, COUNT) == {
        "datasets": 1, "questions": QUESTIONS, "imports": 1, "items": PAIRS, "submitted": PAIRS,
        "annotations": PAIRS, "reports": 1, "bots": BOTS, "completed": BOTS, "trials": BOTS * ITEMS,
    }  # fmt: skip
    with zipfile.ZipFile(site.var / "jobs" / jobs["export_bundle"]["file"]) as bundle:
        people = list(csv.DictReader(io.StringIO(bundle.read("example/participants.csv").decode())))
    assert len({row["participant_id"] for row in people}) == len(people) >= EARLIER  # bots came meanwhile
    lines = (site.var / "jobs" / jobs["export_annotations"]["file"]).read_text("utf-8").splitlines()
    assert (
        len({json.loads(line)["external_id"] for line in lines}) == len(lines) <= PAIRS
    )  # the items may come later
