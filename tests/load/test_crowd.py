"""Many participants at once lose no row and double none.

The benchmarks measure how fast they are served.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.site.participants import MOST_P95_MS, count_stored_rows, format_line, list_missed_bars
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import ROOT
from tests.site import EmptySite, Site

COMPLETE = """
import json
from django.db.models import Count, Q
from studyapp.models import Participant
answered = Count("trials", filter=Q(trials__answers__isnull=False))
people = Participant.objects.annotate(all=Count("trials"), done=answered)
print(json.dumps({
    "wrong": [row.pk for row in people if row.all != 6 or row.done != row.items_submitted],
    "codes": [row.completion_code for row in people if row.status == "completed"],
}))
"""


@pytest.fixture(scope="module")
def study_site(postgres_or_sqlite: str | None, empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(postgres=postgres_or_sqlite, worker=False) as site:
        load_example(site, items=6)
        yield site


def walkers(link: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.load.walkers", link, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_every_accepted_answer_of_a_crowd_is_stored_once(study_site: Site):
    done = walkers(make_link(study_site), "--users", "30")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert (result["consents"], result["items"], result["completed"]) == (30, 180, 30)
    assert count_stored_rows(study_site) == {"participants": result["consents"], "answered": result["items"]}
    rows = json.loads(study_site.manage("shell", "--no-imports", "--command", COMPLETE))
    assert rows["wrong"] == []
    assert len(set(rows["codes"])) == 30


def test_the_load_stops_where_the_site_does_not_answer_as_it_should(study_site: Site):
    done = walkers(f"{study_site.url}/join/nothing/", "--users", "2", "--seconds", "2")
    assert done.returncode == 1
    assert "status 404" in done.stderr


def level(**changed: float) -> dict[str, float]:
    return {"users": 50, "think_s": 0.0, "requests_per_second": 250.0, "p50_ms": 9.0, "p95_ms": 20.0,
            "max_ms": 90.0, "items": 7} | changed  # fmt: skip


def test_the_benchmark_says_which_bar_was_missed():
    assert list_missed_bars([level(), level(think_s=2.0, requests_per_second=90.0)]) == []
    assert list_missed_bars([level(requests_per_second=199.0)]) == ["50 participants: 199 requests/s"]
    assert list_missed_bars([level(users=1, requests_per_second=100.0)]) == []
    slow = level(think_s=2.0, p95_ms=MOST_P95_MS + 1)
    assert list_missed_bars([slow]) == ["50 thinking participants: p95 301 ms"]
    assert "think 2 s" in format_line(slow)
