"""A site whose programs a test kills and starts again.

Tests also read what its database holds meanwhile.
"""

import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Self

from scripts.sites.commands import Commands, Running
from scripts.sites.processes import ROOT, Part, Supervisor, free_port, is_url_answering
from scripts.sites.site import prepare_sqlite
from scripts.sites.stack import Stack
from tests.studyapp.questions import entries, write_json
from tests.waiting import eventually

SECONDS_EACH = 0.08


class Site:
    """Broker, workers and slow model servers around an SQLite database.

    A test may kill and start each of them.
    """

    def __init__(self, folder: Path, *, servers: int = 1, **settings: str) -> None:
        self.folder = folder
        ports = [free_port() for _ in range(servers)]
        self.urls = [f"http://127.0.0.1:{port}" for port in ports]
        settings |= {"DATABASE_URL": prepare_sqlite(folder)}
        settings |= {"MODEL_SERVER_URL": ",".join(self.urls)}
        self.stack = Stack(folder, free_port(), ports[0], settings)
        self._commands = Commands(self.stack.env)
        self.parts = Supervisor(self._commands.start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.parts.stop()
        self._commands.__exit__()

    def broker(self) -> None:
        self.parts.start(self.stack.broker())
        self.parts.wait_ready()

    def worker(self, number: int = 1) -> None:
        """Start a worker, and wait until it has started.

        Another worker may already wait at the broker, so the starts in its log count.
        """
        before = self._worker_starts(number)
        self.parts.start(self.stack.worker(number))
        self.parts.wait_ready()
        eventually(lambda: self._worker_starts(number) > before)

    def worker_log(self, number: int) -> str:
        log = self.folder / "log" / ("worker.log" if number == 1 else f"worker-{number}.log")
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def _worker_starts(self, number: int) -> int:
        return len(re.findall(rf"worker{number}@\S+ ready\.", self.worker_log(number)))

    def model_server(self, number: int = 1) -> None:
        url = self.urls[number - 1]
        command = [sys.executable, "-m", "tests.fault.slow_model_server"]
        command += ["--port", url.rpartition(":")[2], "--seconds", str(SECONDS_EACH)]
        command += ["--stop", str(self._stop)]
        self.parts.start(
            Part(
                name="model server" if number == 1 else f"model server {number}",
                command=command,
                log=self.folder / "log" / f"model-server-{number}.log",
                env=self.stack.env,
                ready=lambda: is_url_answering(f"{url}/ready"),
            )
        )
        self.parts.wait_ready()

    @property
    def _stop(self) -> Path:
        return self.folder / "stop"

    def stop_after(self, items: int) -> None:
        """Let each model server begin no more items than these.

        The servers wait until `go_on`.
        """
        new = self.folder / "new"
        new.write_text(f"{items} {time.monotonic_ns()}", encoding="utf-8")
        new.replace(self._stop)

    def go_on(self) -> None:
        self._stop.unlink()

    def process(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``manage.py`` as people do."""
        return subprocess.Popen(
            self.stack.manage(*arguments), cwd=ROOT, env=self.stack.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def command(self, *arguments: str) -> Running:
        """Begin a command in a fork."""
        return self._commands.begin(*arguments)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command in a fork, and return its status, output and errors."""
        return finished(self.command(*arguments))

    def predict(self, dataset: str, *arguments: str) -> Running:
        return self.command(*prediction(dataset), *arguments)

    def run_prediction(self, dataset: str, *arguments: str) -> tuple[int, str, str]:
        return self.run(*prediction(dataset), *arguments)

    def import_questions(self, name: str, count: int) -> str:
        path = write_json(self.folder / f"{name}.json", entries(count))
        status, _, error = self.run("import_dataset", "hotpot", str(path), "--name", name)
        assert status == 0, error
        return name

    def value(self, query: str, *arguments: object) -> int:
        with closing(sqlite3.connect(self.folder / "touchstone.sqlite3", timeout=20)) as database:
            return int(database.execute(query, arguments).fetchone()[0])

    def predicted(self, dataset: str) -> int:
        return self.value(PREDICTIONS, dataset)

    def reduced(self, dataset: str) -> int:
        return self.value(REDUCED, dataset)


def prediction(dataset: str) -> list[str]:
    return ["predict", "--dataset", dataset, "--system", "slow", "--slice", "4"]


RUNS = (
    "SELECT count(*) FROM predictions_predictionrun r "
    "JOIN predictions_dataset d ON d.id = r.dataset_id WHERE d.name = ? AND r.status = ?"
)
PREDICTIONS = (
    "SELECT count(*) FROM predictions_prediction p JOIN predictions_predictionrun r ON r.id = p.run_id "
    "JOIN predictions_dataset d ON d.id = r.dataset_id WHERE d.name = ?"
)
REDUCED = (
    "SELECT count(*) FROM predictions_reducedanswer a JOIN predictions_prediction p "
    "ON p.id = a.prediction_id "
    "JOIN predictions_predictionrun r ON r.id = p.run_id "
    "JOIN predictions_dataset d ON d.id = r.dataset_id WHERE d.name = ?"
)
DISTINCT_PREDICTIONS = PREDICTIONS.replace("count(*)", "count(DISTINCT p.question_id)")
DISTINCT_REDUCED = REDUCED.replace("count(*)", "count(DISTINCT a.prediction_id || a.digest)")


def finished(command: Running) -> tuple[int, str, str]:
    """Wait for a command; return its status, output and errors."""
    done = command.end(120)
    return done.returncode, done.stdout, done.stderr
