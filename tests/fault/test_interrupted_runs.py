"""Programs die in the middle of prediction and scoring; nothing of what they began is lost or doubled."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scripts.processes import ROOT, Part, Supervisor, answers, free_port
from scripts.stack import Stack
from tests.studyapp.questions import entries, write_json

QUESTIONS = 28
SECONDS_EACH = 0.08


class Site:
    """Broker, worker and a slow model server around an SQLite database; each may be killed and started."""

    def __init__(self, folder: Path, parts: Supervisor) -> None:
        self.folder = folder
        self.parts = parts
        self.stack = Stack(
            folder, free_port(), free_port(), {"DATABASE_URL": f"sqlite:///{folder}/touchstone.sqlite3"}
        )

    def broker(self) -> None:
        self.parts.start(self.stack.broker())
        self.parts.wait_ready()

    def worker(self) -> None:
        self.parts.start(self.stack.worker())
        self.parts.wait_ready()

    def model_server(self) -> None:
        command = [sys.executable, "-m", "tests.fault.slow_model_server"]
        command += ["--port", str(self.stack.model_port), "--seconds", str(SECONDS_EACH)]
        self.parts.start(
            Part(
                name="model server",
                command=command,
                log=self.folder / "log" / "model-server.log",
                env=self.stack.env,
                ready=lambda: answers(f"{self.stack.model_url}/ready"),
            )
        )
        self.parts.wait_ready()

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.stack.manage(*arguments), cwd=ROOT, env=self.stack.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def predict(self, dataset: str, *arguments: str) -> subprocess.Popen[str]:
        return self.command("predict", "--dataset", dataset, "--system", "slow", "--slice", "4", *arguments)

    def value(self, query: str, *arguments: object) -> int:
        with closing(sqlite3.connect(self.folder / "touchstone.sqlite3", timeout=20)) as database:
            return int(database.execute(query, arguments).fetchone()[0])

    def predicted(self, dataset: str) -> int:
        return self.value(PREDICTIONS, dataset)

    def reduced(self, dataset: str) -> int:
        return self.value(REDUCED, dataset)


RUNS = (
    "SELECT count(*) FROM studyapp_predictionrun r "
    "JOIN studyapp_dataset d ON d.id = r.dataset_id WHERE d.name = ? AND r.status = ?"
)
PREDICTIONS = (
    "SELECT count(*) FROM studyapp_prediction p JOIN studyapp_predictionrun r ON r.id = p.run_id "
    "JOIN studyapp_dataset d ON d.id = r.dataset_id WHERE d.name = ?"
)
REDUCED = (
    "SELECT count(*) FROM studyapp_reducedanswer a JOIN studyapp_prediction p ON p.id = a.prediction_id "
    "JOIN studyapp_predictionrun r ON r.id = p.run_id "
    "JOIN studyapp_dataset d ON d.id = r.dataset_id WHERE d.name = ?"
)
DISTINCT_PREDICTIONS = PREDICTIONS.replace("count(*)", "count(DISTINCT p.question_id)")
DISTINCT_REDUCED = REDUCED.replace("count(*)", "count(DISTINCT a.prediction_id || a.digest)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("fault")
    with Supervisor() as parts:
        site = Site(folder, parts)
        assert finished(site.command("migrate", "--verbosity", "0"))[0] == 0
        site.broker()
        site.model_server()
        site.worker()
        yield site


@pytest.fixture
def dataset(site: Site, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("_", "-")[:60]
    path = write_json(tmp_path / "questions.json", entries(QUESTIONS))
    status, _, error = finished(site.command("import_dataset", "hotpot", str(path), "--name", name))
    assert status == 0, error
    return name


def finished(command: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, error = command.communicate(timeout=120)
    return command.returncode, output, error


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.02)


def check_complete(site: Site, dataset: str, outcome: tuple[int, str, str]) -> None:
    status, output, error = outcome
    assert status == 0, error
    assert f"{QUESTIONS} of {QUESTIONS} questions predicted" in output
    assert site.predicted(dataset) == site.value(DISTINCT_PREDICTIONS, dataset) == QUESTIONS
    assert site.value(RUNS, dataset, "done") == 1


def in_the_middle(site: Site, dataset: str) -> None:
    until(lambda: site.predicted(dataset) >= 8)
    time.sleep(2 * SECONDS_EACH)  # the next slice of four has begun
    assert site.predicted(dataset) < QUESTIONS


def test_a_killed_worker_loses_nothing(site: Site, dataset: str):
    waiting = site.predict(dataset, "--wait")
    in_the_middle(site, dataset)
    site.parts.stop_one("worker", kill=True)
    time.sleep(1)
    stopped_at = site.predicted(dataset)
    site.worker()
    outcome = finished(waiting)
    check_complete(site, dataset, outcome)
    assert stopped_at < QUESTIONS


def test_a_killed_model_server_loses_nothing(site: Site, dataset: str):
    waiting = site.predict(dataset, "--wait")
    in_the_middle(site, dataset)
    site.parts.stop_one("model server", kill=True)
    time.sleep(7)
    stopped_at = site.predicted(dataset)
    assert waiting.poll() is None
    site.model_server()
    outcome = finished(waiting)
    check_complete(site, dataset, outcome)
    assert stopped_at < QUESTIONS
    assert "The model server does not answer" in outcome[2]


def test_predict_again_takes_up_a_run_that_nobody_waited_for(site: Site, dataset: str):
    site.parts.stop_one("worker")
    status, output, error = finished(site.predict(dataset))
    assert status == 0, error
    assert "7 slices enqueued" in output
    site.parts.start(site.stack.worker())
    in_the_middle(site, dataset)
    site.parts.stop_one("worker", kill=True)
    site.parts.stop_one("model server", kill=True)
    site.model_server()
    site.worker()
    check_complete(site, dataset, finished(site.predict(dataset, "--wait")))
    time.sleep(1)  # slices that were enqueued twice have run by now
    assert site.predicted(dataset) == QUESTIONS


def test_interrupting_the_wait_leaves_the_run_resumable(site: Site, dataset: str):
    site.parts.stop_one("worker")
    waiting = site.predict(dataset, "--wait")
    until(lambda: site.value(RUNS, dataset, "running") == 1)
    time.sleep(8)  # longer than it takes to say what is missing
    waiting.send_signal(signal.SIGINT)
    status, _, error = finished(waiting)
    assert status == 130
    assert "no worker answers" in error
    assert "Stopped waiting" in error
    assert "Traceback" not in error
    site.worker()
    check_complete(site, dataset, finished(site.predict(dataset, "--wait")))


def test_a_broker_that_comes_back_goes_on(site: Site, dataset: str):
    waiting = site.predict(dataset, "--wait")
    in_the_middle(site, dataset)
    site.parts.stop_one("broker", kill=True)
    time.sleep(2)
    site.broker()
    check_complete(site, dataset, finished(waiting))


def test_without_a_broker_one_sentence(site: Site, dataset: str):
    site.parts.stop_one("broker")
    try:
        status, _, error = finished(site.predict(dataset))
    finally:
        site.broker()
    assert status == 1
    assert "the work queue at redis+socket://" in error
    assert "start the broker" in error
    assert "Traceback" not in error
    check_complete(site, dataset, finished(site.predict(dataset, "--wait")))


def test_scoring_survives_a_killed_worker_and_asks_each_input_once(site: Site, dataset: str, tmp_path: Path):
    check_complete(site, dataset, finished(site.predict(dataset, "--wait")))
    out = tmp_path / "scores.json"
    scoring = site.command("score", "--dataset", dataset, "--out", str(out))
    until(lambda: site.reduced(dataset) > 0)
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
