"""Programs die in the middle of prediction and scoring.

Nothing of what they began is lost or doubled.
"""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.sites import (
    DISTINCT_PREDICTIONS,
    DISTINCT_REDUCED,
    RUNS,
    SECONDS_EACH,
    Site,
    finished,
    prediction,
)
from tests.waiting import eventually

QUESTIONS = 28


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("fault")
    with Site(folder) as site:
        site.broker()
        site.model_server()
        site.worker()
        yield site


@pytest.fixture
def dataset(site: Site, request: pytest.FixtureRequest) -> str:
    return site.import_questions(request.node.name.replace("_", "-")[:60], QUESTIONS)


def check_complete(site: Site, dataset: str, outcome: tuple[int, str, str]) -> None:
    status, output, error = outcome
    assert status == 0, error
    assert f"{QUESTIONS} of {QUESTIONS} questions predicted" in output
    assert site.predicted(dataset) == site.value(DISTINCT_PREDICTIONS, dataset) == QUESTIONS
    assert site.value(RUNS, dataset, "done") == 1


def in_the_middle(site: Site, dataset: str) -> None:
    """Return when two slices are done and the third has begun.

    The model server waits there, because it may begin no more items.
    """
    eventually(lambda: site.predicted(dataset) >= 8)
    time.sleep(2 * SECONDS_EACH)
    assert site.predicted(dataset) == 8


def test_a_killed_model_server_loses_nothing(site: Site, dataset: str):
    site.stop_after(8)
    waiting = site.predict(dataset, "--wait")
    in_the_middle(site, dataset)
    site.parts.stop_one("model server", kill=True)
    site.go_on()
    time.sleep(7)
    assert site.predicted(dataset) == 8
    assert waiting.fork.poll() is None
    site.model_server()
    outcome = finished(waiting)
    check_complete(site, dataset, outcome)
    assert "The model server does not answer" in outcome[2]


@pytest.mark.soak
def test_predict_again_takes_up_a_run_that_nobody_waited_for(site: Site, dataset: str):
    site.parts.stop_one("worker")
    status, output, error = site.run_prediction(dataset)
    assert status == 0, error
    assert "7 slices enqueued" in output
    site.stop_after(8)
    site.parts.start(site.stack.worker())
    in_the_middle(site, dataset)
    site.parts.stop_one("worker", kill=True)
    site.parts.stop_one("model server", kill=True)
    site.go_on()
    site.model_server()
    site.worker()
    check_complete(site, dataset, site.run_prediction(dataset, "--wait"))
    time.sleep(1)  # slices that were enqueued twice have run by now
    assert site.predicted(dataset) == QUESTIONS


@pytest.mark.soak
def test_interrupting_the_wait_leaves_the_run_resumable(site: Site, dataset: str):
    site.parts.stop_one("worker")
    waiting = site.process(*prediction(dataset), "--wait")
    eventually(lambda: site.value(RUNS, dataset, "running") == 1)
    time.sleep(8)  # longer than it takes to say what is missing
    waiting.send_signal(signal.SIGINT)
    _, error = waiting.communicate(timeout=120)
    assert waiting.returncode == 130
    assert "no worker answers" in error
    assert "Stopped waiting" in error
    assert "Traceback" not in error
    site.worker()
    check_complete(site, dataset, site.run_prediction(dataset, "--wait"))


def test_a_broker_that_comes_back_goes_on(site: Site, dataset: str):
    site.stop_after(8)
    waiting = site.predict(dataset, "--wait")
    in_the_middle(site, dataset)
    site.parts.stop_one("broker", kill=True)
    site.go_on()
    time.sleep(2)
    site.broker()
    check_complete(site, dataset, finished(waiting))


def test_without_a_broker_one_sentence(site: Site, dataset: str):
    site.parts.stop_one("broker")
    try:
        status, _, error = site.run_prediction(dataset)
    finally:
        site.broker()
    assert status == 1
    assert "the work queue at redis+socket://" in error
    assert "start the broker" in error
    assert "Traceback" not in error
    check_complete(site, dataset, site.run_prediction(dataset, "--wait"))


def test_scoring_survives_a_killed_worker_and_asks_each_input_once(site: Site, dataset: str, tmp_path: Path):
    check_complete(site, dataset, site.run_prediction(dataset, "--wait"))
    out = tmp_path / "scores.json"
    scoring = site.command("score", "--dataset", dataset, "--slice", "8", "--out", str(out))
    eventually(lambda: site.reduced(dataset) > 0)
    site.parts.stop_one("worker", kill=True)
    partial = site.reduced(dataset)
    site.worker()
    status, _, error = finished(scoring)
    assert status == 0, error
    total = site.reduced(dataset)
    assert 0 < partial < total
    assert site.value(DISTINCT_REDUCED, dataset) == total
    scores = json.loads(out.read_text())["systems"]["slow"]
    assert scores["scores"]["farm_4"] == 1.0
    assert scores["scores"]["loca"] is not None
