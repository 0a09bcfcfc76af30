"""Fifty annotators at once over HTTP fill every place once.

They are simulated; the benchmark measures how fast they are served.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.site.annotation_load import format_line, list_missed_bars
from scripts.sites.processes import ROOT
from tests.site import EmptySite, Site

ANNOTATORS = 50

SEED = """
import json
from annotation.actions.bots import enlist_bots
from annotation.actions.data import import_items
from accounts.models import Workspace
from annotation.actions.projects import create_project
from annotation.content.schemas import ItemRecord
from benchmarks.site._bot_sessions import open_sessions
passage, tokens = "Ada kicked a goal.", [(0, 3), (4, 10), (11, 12), (13, 18)]
main = Workspace.objects.get()
project = create_project(workspace=main, slug={slug!r}, title="Load", kind="spans", by=None,
                         annotators_per_item={k})
import_items(project=project, records=[
    ItemRecord(external_id=str(n), kind="spans", program="count(filter[long](find[goals]))",
               text="How many long goals?", passage=passage, tokens=tokens, answer=1)
    for n in range({items})
])
names = [name for name, _password in enlist_bots(project=project, n={annotators})]
print(json.dumps(open_sessions(names=names)))
"""

STORED = """
import json
from collections import Counter
from annotation.models import Operation, Project, Annotation
project = Project.objects.get(slug={slug!r})
annotations = Annotation.objects.filter(project=project)
print(json.dumps({{
    "items": list(
        project.items.values_list("annotators_wanted", "assigned", "submitted").order_by().distinct()
    ),
    "works": sorted(annotations.filter(status="submitted").values_list("pk", flat=True)),
    "operations": sorted([w, str(u)] for w, u in Operation.objects.filter(
        annotation__project=project).values_list("annotation_id", "uid")),
    "most_of_an_item": max(Counter(annotations.values_list("item_id", "annotator_id")).values()),
}}))
"""


@pytest.fixture(scope="module")
def annotation_site(postgres_or_sqlite: str | None, empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(postgres=postgres_or_sqlite, worker=False) as site:
        yield site


def shell(site: Site, code: str) -> Any:
    return json.loads(site.manage("shell", "--no-imports", "--command", code).splitlines()[-1])


def test_fifty_annotators_fill_every_place_once(annotation_site: Site):
    slug, k = "fifty", 3
    seed = SEED.format(slug=slug, k=k, items=25, annotators=ANNOTATORS)
    sessions = shell(annotation_site, seed)
    command = [sys.executable, "-m", "scripts.load.annotators", annotation_site.url, slug, "--seconds", "300"]
    command += ["--behaviour", "fast=0.6,sloppy=0.3,offline=0.1"]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps(sessions), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    stored = shell(annotation_site, STORED.format(slug=slug))
    assert stored["items"] == [[k, k, k]]
    assert stored["most_of_an_item"] == 1
    assert stored["works"] == sorted(report["submitted"])
    assert stored["operations"] == sorted(report["saved"])
    assert report["users"] == ANNOTATORS


def test_the_command_says_what_its_bots_did_and_that_all_of_it_is_stored(annotation_site: Site):
    shell(annotation_site, SEED.format(slug="told", k=2, items=6, annotators=1))
    mix = "careful=1,sloppy=1,fast=1,offline=1"
    output = annotation_site.manage("simulate_annotators", "told", "-n", "4", "--behaviour", mix)
    assert re.search(r"4 bots: 12 items handed in with \d+ operations", output)
    assert re.search(r"stored: all \d+ operations, each once, and nothing else", output)
    again = annotation_site.manage("simulate_annotators", "told", "-n", "1")
    assert "1 bot: 0 items handed in" in again


def test_the_command_says_in_one_sentence_what_is_wrong(annotation_site: Site):
    for arguments, sentence in (
        (("nowhere", "-n", "1"), "there is no annotation project 'nowhere'"),
        (("told", "-n", "1", "--url", "http://127.0.0.1:9"), "no site answers at http://127.0.0.1:9"),
    ):
        done = annotation_site.commands.run("simulate_annotators", *arguments)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


def stage(**changed: Any) -> dict[str, Any]:
    fast = {"n": 9, "p50": 4.0, "p95": 9.0, "max": 12.0}
    ms = {act: dict(fast) for act in ("all", "item", "save")}
    defaults = {"name": "20 flat out", "users": 20, "think_s": 0.0, "seconds": 8.0, "handed_in": 960,
                "requests": 1920, "server_cpu_s": 12.0, "load_cpu_s": 1.0, "machine_load": 2.0,
                "ms": ms}  # fmt: skip
    return defaults | changed


def test_the_benchmark_says_which_bar_was_missed():
    assert list_missed_bars([stage(), stage(users=1, handed_in=9), stage(users=50, think_s=2.0)]) == []
    assert list_missed_bars([stage(handed_in=640)]) == ["20 flat out: 80 pairs/s, bar 100"]
    slow = stage(name="one", users=1, handed_in=9)
    slow["ms"]["save"]["p95"] = 16.0
    assert list_missed_bars([slow]) == ["one: save p95 16.0 ms, bar 15 ms"]
    assert "120.0 pairs/s" in format_line(stage())
