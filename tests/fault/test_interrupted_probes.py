"""A worker dies in the middle of probes and of programs.

The probe has saliency; nothing is lost or doubled.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.formats.jsonl import write_jsonl
from scripts.sites.commands import Running
from tests.annotation.factories import make_record
from tests.fault.sites import Site, finished
from tests.studyapp.questions import comparison, write_json
from tests.waiting import eventually

N = 24
READ = "SELECT count(*) FROM predictions_readingrecord WHERE result IS NOT NULL"
EXECUTED = "SELECT count(*) FROM annotation_systemoutput"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("probes")) as site:
        site.broker()
        site.model_server()
        site.worker()
        questions = write_json(
            site.folder / "people.json", [comparison(number) for number in range(30, 30 + N)]
        )
        done(site.command("import_dataset", "hotpot", str(questions), "--name", "people"))
        yield site


def done(command: Running) -> str:
    status, output, error = finished(command)
    assert status == 0, error
    return output


def through_a_kill(site: Site, counted: str, *arguments: str) -> str:
    """Kill the worker in the middle of a command, and return its output.

    The command waits all along; the worker dies when some of the rows that ``counted`` counts are there.
    """
    site.stop_after(N // 2)
    command = site.command(*arguments)
    eventually(lambda: site.value(counted) >= 4)
    site.parts.stop_one("worker", kill=True)
    assert 0 < site.value(counted) < N
    site.go_on()
    site.worker()
    return done(command)


def test_a_reading_probe(site: Site):
    out = site.folder / "records.jsonl"
    output = through_a_kill(
        site, READ, "probe_reading", "--dataset", "people", "--system", "slow", "--method", "occlusion",
        "--distribution", "in", "--context", "facts", "--slice", "4", "--out", str(out),
    )  # fmt: skip
    assert f"{N} records" in output
    assert site.value(READ) == N
    ids = [json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(ids) == len(set(ids)) == N


@pytest.mark.soak
def test_programs_of_a_project(site: Site):
    items: Path = site.folder / "items.jsonl"
    write_jsonl([make_record(f"q{number}") for number in range(N)], items)
    done(site.command("import_dataset", "jsonl", str(items), "--name", "dogs"))
    output = through_a_kill(
        site, EXECUTED, "execute_programs", "dogs", "--system", "slow-modular", "--slice", "4", "--wait"
    )
    assert f"outputs for {N} of {N} items" in output
    assert site.value(EXECUTED) == N
