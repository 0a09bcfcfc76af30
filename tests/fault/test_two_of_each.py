"""Two workers and two model servers share one run.

One of them dies in mid-run; nothing is lost or doubled.
"""

import re
import time
from collections.abc import Iterator

import httpx
import pytest

from scripts.sites.commands import Running
from tests.fault.sites import DISTINCT_PREDICTIONS, RUNS, SECONDS_EACH, Site, finished
from tests.waiting import eventually

QUESTIONS = 60
SLICE = 4
TAKEN_OVER = 15.0  # seconds until another worker does the slice of a dead one, with the default settings
IN_PROGRESS = "SELECT count(*) FROM jobs_slicelease"
FINISHED = "SELECT count(*) FROM predictions_event WHERE kind = ? AND json_extract(data, '$.dataset') = ?"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("two"), servers=2) as site:
        site.broker()
        for number in (1, 2):
            site.model_server(number)
            site.worker(number)
        yield site


def answered(url: str) -> int:
    """Return how many items a server has answered, by its own count."""
    text = httpx.get(f"{url}/metrics", trust_env=False).text
    return sum(
        int(float(number))
        for number in re.findall(r'modelserver_items_total\{outcome="\w+",system="slow"\} (\S+)', text)
    )


def interrupted(site: Site, dataset: str, *arguments: str) -> Running:
    """Begin a run, and return while it stands still.

    The servers have answered, and each worker holds a slice.
    """
    site.import_questions(dataset, QUESTIONS)
    before = [answered(url) for url in site.urls]
    site.stop_after(QUESTIONS // 5)
    command = site.predict(dataset, *arguments)
    asked_again = time.monotonic()

    def is_shared() -> bool:
        nonlocal asked_again
        if time.monotonic() - asked_again > 10:  # both workers wait for the same server
            site.stop_after(SLICE)
            asked_again = time.monotonic()
        return site.value(IN_PROGRESS) == 2 and all(
            answered(url) > n for url, n in zip(site.urls, before, strict=True)
        )

    eventually(is_shared)
    return command


def check_complete(site: Site, dataset: str) -> None:
    eventually(lambda: site.value(RUNS, dataset, "done") == 1)
    assert site.predicted(dataset) == site.value(DISTINCT_PREDICTIONS, dataset) == QUESTIONS
    assert site.value(FINISHED, "run_finished", dataset) == 1


def test_a_killed_worker_and_nobody_waiting(site: Site):
    assert finished(interrupted(site, "worker"))[0] == 0
    site.parts.stop_one("worker 2", kill=True)
    site.go_on()
    killed = time.monotonic()
    eventually(lambda: site.predicted("worker") == QUESTIONS)
    # Four times the time, because other tests run beside this one, on slow machines too.
    assert time.monotonic() - killed < 4 * (TAKEN_OVER + (QUESTIONS + SLICE) * SECONDS_EACH)
    check_complete(site, "worker")
    assert site.value(FINISHED, "run_swept", "worker") == 0  # its lease was enough
    eventually(lambda: site.value(IN_PROGRESS) == 0)  # the last lease ends a moment after the run
    site.worker(2)


def test_a_killed_worker_that_kept_the_time(site: Site):
    waiting = interrupted(site, "beat", "--wait")
    site.parts.stop_one("worker", kill=True)
    site.go_on()
    status, output, error = finished(waiting)
    assert status == 0, error
    assert f"{QUESTIONS} of {QUESTIONS} questions predicted" in output
    check_complete(site, "beat")
    site.worker(1)


def test_a_killed_model_server(site: Site):
    first = answered(site.urls[0])
    assert finished(interrupted(site, "server"))[0] == 0
    in_time = answered(site.urls[1])
    site.parts.stop_one("model server 2", kill=True)
    site.go_on()
    left = QUESTIONS - site.predicted("server")
    check_complete(site, "server")
    assert site.value(FINISHED, "run_swept", "server") == 0  # no slice was lost
    assert answered(site.urls[0]) - first >= left - SLICE
    assert in_time > 0
    site.model_server(2)


def test_every_question_is_computed_once_when_nothing_dies(site: Site):
    before = sum(map(answered, site.urls))
    site.import_questions("calm", QUESTIONS)
    site.predict("calm").end(60)
    check_complete(site, "calm")
    assert sum(map(answered, site.urls)) - before == QUESTIONS
