"""A site whose every program is killed and restarted in use.

The database server is one of the programs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from annotation.bots import Bot, Plan, run_bots
from scripts.load.walkers import Tally, run_crowd
from scripts.sites import servers
from scripts.sites.commands import Commands
from scripts.sites.processes import Part, PartFailed, Supervisor, free_port, is_url_answering
from scripts.sites.site import CommandFailed, Site, prepare, prepare_sqlite
from scripts.sites.stack import Stack
from tests.fault.test_annotation_survives_kills import SEED, bots_of
from tests.fault.test_web_process_dies import web_processes
from tests.studyapp.questions import entries, write_json
from tests.waiting import eventually

PATIENCE = 180.0  # seconds that people wait for a page
SYSTEM = "slow"
WEB_PROCESS = "one of two web processes"  # its server starts another


class Killable:
    """The programs by name, each with what starts it."""

    def __init__(self, site: Site, database: Part | None) -> None:
        self.site, stack = site, site.stack
        self.parts = {
            "broker": stack.broker(),
            "model server": _slow_model_server(stack),
            "worker": stack.worker(1),  # with the beat
            "worker 2": stack.worker(2),
            "web server": stack.web(),
        }
        if database is not None:
            self.parts["PostgreSQL"] = database

    def start(self, name: str) -> None:
        """Start a program, and return when it answers.

        A database may need the last one's memory back.
        """
        if name == WEB_PROCESS:
            if self._web_server_goes_on():
                return
            name = "web server"
            self.site.parts.stop_one(name)
        part = self.parts[name]

        def up() -> bool:
            process = self.site.parts.start(part)
            while process.poll() is None:
                if part.ready():
                    return True
                time.sleep(0.05)
            self.site.parts.stop_one(name)
            return False

        eventually(up, 120.0)

    def _web_server_goes_on(self) -> bool:
        """Return True once the dead process has a successor.

        Return False if the server ended, as it does after two early deaths.
        """
        for _ in range(200):
            try:
                self.site.parts.check()
            except PartFailed:
                return False
            if len(web_processes(self.site.parts.pids["web server"])) == 2:
                return True
            time.sleep(0.05)
        raise AssertionError("the web server neither ended nor replaced its process")

    def kill(self, name: str) -> None:
        if name == WEB_PROCESS:
            for pid in web_processes(self.site.parts.pids["web server"])[:1]:
                os.kill(pid, signal.SIGKILL)
        else:
            self.site.parts.stop_one(name, kill=True)


def _slow_model_server(stack: Stack) -> Part:
    command = [sys.executable, "-m", "tests.fault.slow_model_server", "--port", str(stack.model_port)]
    command += ["--seconds", "0.05", "--stop", str(stack.var / "stop")]
    log = stack.var / "log" / "model-server.log"
    return Part(
        name="model server", command=command, log=log, env=stack.env,
        ready=lambda: is_url_answering(f"{stack.model_url}/ready"),
    )  # fmt: skip


@contextmanager
def killable_site(*, postgres: bool) -> Iterator[Killable]:
    """Run a whole site with two workers, on SQLite or PostgreSQL.

    The PostgreSQL server is one of its own.
    """
    with ExitStack() as lasting:
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-kills-")))
        cluster = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-pg-")))
        port = free_port()
        database = servers.create_killable_postgres(cluster, port) if postgres else None
        url = f"postgres://postgres@127.0.0.1:{port}/postgres" if postgres else prepare_sqlite(folder)
        settings = {
            "SECRET_KEY": secrets.token_urlsafe(50), "DATABASE_URL": url, "DEBUG": "false",
            "LOG_LEVEL": "INFO", "DJANGO_ADMIN": "false", "RUN_SWEEP_SECONDS": "3", "RATE_LIMITS": "false",
        }  # fmt: skip
        stack = Stack(folder, free_port(), free_port(), settings)
        commands = lasting.enter_context(Commands(stack.env))
        parts = lasting.enter_context(Supervisor(commands.start))
        killable = Killable(Site(stack, parts, commands), database)
        if database is not None:
            killable.start("PostgreSQL")
            prepare(url, folder)
        for name in killable.parts:
            if name != "PostgreSQL":
                killable.start(name)
        yield killable


class Load:
    """Participants, annotators and runs that come again and again.

    When `finish` is called, they come to the end of their work, and none comes again.
    """

    def __init__(self, site: Site, link: str, seed: str) -> None:
        self.site, self.link, self.seed = site, link, seed
        self.tally, self.bots, self.datasets = Tally(), list[Bot](), list[str]()
        self.errors: list[str] = []
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._again, args=(work,), daemon=True)
            for work in (self._participants, self._annotators, self._runs)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Let everybody come to the end of their work."""
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=3 * PATIENCE)
            assert not thread.is_alive()

    def _again(self, work: Callable[[int, Commands], None]) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            try:
                work(number, self.site.commands)
            except CommandFailed:
                time.sleep(0.2)  # the database or the queue was away, and it said so
            except BaseException as error:
                self.errors.append(repr(error)[:2000])
                raise

    def _participants(self, number: int, _commands: Commands) -> None:
        walking = run_crowd(self.link, self.tally, users=6, think=0.2, patience=PATIENCE, seed=number)
        asyncio.run(walking)

    def _annotators(self, number: int, commands: Commands) -> None:
        slug = f"kills-{number}"
        seeded = SEED.format(items=8, bots=4).replace('"kills"', f'"{slug}"')
        sessions = json.loads(done(commands, "shell", "--no-imports", "--command", seeded).splitlines()[-1])
        bots = bots_of(sessions)
        self.bots += bots
        asyncio.run(run_bots(bots, self.site.url, Plan(slug), concurrency=8, think=0.1, patience=PATIENCE))

    def _runs(self, number: int, commands: Commands) -> None:
        name = f"questions-{number}"
        path = write_json(self.site.var / f"{name}.json", entries(24))
        done(commands, "import_dataset", "hotpot", str(path), "--name", name)
        for _ in range(100):  # the queue or the model server may be away
            if not commands.run("predict", "--dataset", name, "--system", SYSTEM, "--slice", "4").returncode:
                self.datasets.append(name)
                break
            time.sleep(0.5)
        time.sleep(2)


def done(commands: Commands, *arguments: str) -> str:
    """Return what a command printed. Raises CommandFailed."""
    ended = commands.run(*arguments)
    if ended.returncode:
        raise CommandFailed(ended.stderr[-2000:])
    return ended.stdout


def kill_at_random(killable: Killable, rng: random.Random, times: int, names: list[str]) -> dict[str, int]:
    """Kill programs one after another, each at a random moment.

    Return how often each was killed.
    """
    killed = dict.fromkeys(names, 0)
    for _ in range(times):
        name = rng.choice(names)
        time.sleep(rng.uniform(0.2, 2.0))
        killable.kill(name)
        killed[name] += 1
        time.sleep(rng.uniform(0.0, 0.5))
        killable.start(name)
    return killed


def shell(site: Site, code: str) -> Any:
    """Return what the code printed last, which is JSON."""
    return json.loads(site.manage("shell", "--no-imports", "--command", code).splitlines()[-1])
