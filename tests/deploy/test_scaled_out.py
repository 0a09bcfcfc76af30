"""One of each part of a scaled-out site dies.

The parts are two web servers, three workers, two model servers, PgBouncer, and Redis with a replica.

``make soak`` runs it (suite "scaled"). Most of its parts have a small test that runs with the others:
``test_redis_group.py``, ``test_pooled_database.py``, ``tests/fault``.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scripts.load.walkers import Tally, run_crowd
from scripts.sites import servers
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering
from scripts.sites.site import prepare
from scripts.sites.stack import Stack
from tests.deploy.certificates import make_certificate
from tests.deploy.pooler import pooler
from tests.deploy.redis_group import RedisGroup
from tests.deploy.scaled_site import ScaledSite, scaled_site
from tests.deploy.test_rolling_restart import ITEMS, check_answers
from tests.soak import SEED, size
from tests.soak.killing import shell
from tests.studyapp.questions import entries, write_json
from tests.waiting import eventually

pytestmark = [pytest.mark.service, pytest.mark.soak]

USERS, QUESTIONS = 12, 600
PATIENCE = 180.0  # seconds that people wait while the database or the proxy is away
STORED = """
import json
from predictions.models import Event, Prediction, PredictionRun
(run,) = PredictionRun.objects.filter(dataset__name="questions")
rows = Prediction.objects.filter(run=run)
print(json.dumps({
    "status": run.status, "failures": run.failures.count(), "rows": rows.count(),
    "questions": rows.values("question").distinct().count(),
    "ends": Event.objects.filter(kind="run_finished", data__dataset="questions").count(),
}))
"""


@dataclass
class Platform:
    """The site, and the group of Redis servers whose master changes."""

    scaled: ScaledSite
    redis: RedisGroup
    ended: list[str] = field(default_factory=list)

    def kill(self, name: str) -> str:
        """Kill a program and return its name; "redis" is the master of the moment."""
        if name == "redis":
            eventually(self.redis.is_whole, 120.0)
            name = self.redis.master()
        self.scaled.site.parts.stop_one(name, kill=True)
        return name

    def start(self, name: str) -> None:
        """Start a program, and those that ended by themselves, as systemd would."""
        self.scaled.site.parts.start(self.scaled.parts[name])
        eventually(self._all_run, 120.0)

    def _all_run(self) -> bool:
        running = self.scaled.site.parts
        running.restart_ended(self.ended.append)
        parts = self.scaled.parts
        return running.pids.keys() == parts.keys() and all(part.ready() for part in parts.values())


@contextmanager
def platform() -> Iterator[Platform]:
    with ExitStack() as lasting:
        folders = [
            Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix=f"touchstone-{name}-")))
            for name in ("pg", "pgbouncer", "redis")
        ]
        parts = lasting.enter_context(Supervisor())
        port = free_port()
        postgres = servers.create_killable_postgres(folders[0], port)
        database = f"postgres://postgres@127.0.0.1:{port}/postgres"
        pool, pool_url = pooler(folders[1], database, connections=10)
        redis = RedisGroup(folders[2], parts, make_certificate(folders[2]))
        urls = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
        extra = {
            "DATABASE_POOL_URL": pool_url, "MODEL_SERVER_URL": ",".join(urls), "RUN_SWEEP_SECONDS": "3",
            **redis.settings,
        }  # fmt: skip
        scaled = lasting.enter_context(scaled_site(database, parts, extra))
        stack = scaled.site.stack
        others = [
            *(postgres, pool, *redis.parts.values(), beat(stack)),
            *(model_server(stack, number, url) for number, url in enumerate(urls, start=1)),
            *(worker(stack, number) for number in (1, 2, 3)),
        ]
        scaled.parts |= {part.name: part for part in others}
        scaled.start("PostgreSQL", "pgbouncer")
        prepare(database, scaled.site.var)
        redis.start()
        scaled.start(*(scaled.parts.keys() - parts.pids.keys()))
        yield Platform(scaled, redis)


def model_server(stack: Stack, number: int, url: str) -> Part:
    command = [sys.executable, "-m", "tests.fault.slow_model_server", "--port", url.rpartition(":")[2]]
    command += ["--seconds", "0.1", "--stop", str(stack.var / "stop")]
    return Part(
        name=f"model server {number}", command=command, log=stack.var / "log" / f"model-server-{number}.log",
        env=stack.env, ready=lambda: is_url_answering(f"{url}/ready"),
    )  # fmt: skip


def worker(stack: Stack, number: int) -> Part:
    """Return a worker as the units of deploy/ start it, without the beat."""
    part = stack.worker(number)
    command = [word for word in part.command if word != "--beat"]
    log = stack.var / "log" / f"worker-{number}.log"
    return Part(
        name=f"worker {number}", command=command, log=log, env=stack.env,
        ready=lambda: "ready." in log.read_text(),
    )  # fmt: skip


def beat(stack: Stack) -> Part:
    command = [sys.executable, "-m", "celery", "--app", "config", "beat", "--loglevel", "INFO"]
    log = stack.var / "log" / "beat.log"
    return Part(
        name="beat", command=command, log=log, env=stack.env, ready=lambda: "Starting" in log.read_text()
    )  # fmt: skip


KILLED = (
    "redis", "web 1", "worker 1", "model server 1", "pgbouncer", "PostgreSQL", "sentinel 1", "worker 2",
    "web 2", "beat", "nginx", "redis", "worker 3", "model server 2",
)  # fmt: skip


def test_one_of_each_dies_and_nothing_is_lost_or_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"{SEED}/scaled")
    with platform() as running:
        site = running.scaled.site
        load_example(site, items=ITEMS)
        path = write_json(site.var / "questions.json", entries(QUESTIONS))
        site.manage("import_dataset", "hotpot", str(path), "--name", "questions")
        monkeypatch.setenv("SSL_CERT_FILE", str(site.var / "site.crt"))
        tally = Tally()
        walking = run_crowd(make_link(site), tally, users=USERS, think=8.0, patience=PATIENCE)
        people = threading.Thread(target=asyncio.run, args=(walking,))
        people.start()
        site.manage("predict", "--dataset", "questions", "--system", "slow", "--slice", "4")
        killed = []
        for number in range(size(len(KILLED))):
            if number % len(KILLED) == 0:
                names = rng.sample(KILLED, len(KILLED))
            killed.append(running.kill(names[number % len(KILLED)]))
            time.sleep(rng.uniform(0.5, 4.0))
            running.start(killed[-1])
        people.join(timeout=3 * PATIENCE)
        assert not people.is_alive()
        assert tally.completed == USERS
        eventually(lambda: shell(site, STORED)["status"] == "done", 600.0)
        assert shell(site, STORED) == {
            "status": "done", "failures": 0, "rows": QUESTIONS, "questions": QUESTIONS, "ends": 1
        }  # fmt: skip
        check_answers(running.scaled, tally)
        sys.stderr.write(f"killed {killed}; {tally.items} answers, {tally.repeated} requests sent again\n")
        sys.stderr.writelines(f"{line}\n" for line in running.ended)
