"""Faults of the disk, the queue, a job and a migration.

The disk is full or read-only, the queue is empty, a job ends its worker, and a migration is cut off.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
import redis

from scripts.load.walkers import ITEM, Connection, Tally, fill_form
from scripts.sites.commands import Commands
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import ROOT, Supervisor, free_port, is_port_taken
from scripts.sites.site import Site, prepare_postgres, prepare_sqlite
from scripts.sites.stack import Stack
from tests.fault.sites import DISTINCT_PREDICTIONS, RUNS
from tests.fault.sites import Site as RunSite
from tests.services import require
from tests.site import DATABASES
from tests.soak import rng_of, size
from tests.soak.killing import shell
from tests.waiting import eventually


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Mount a disk in memory; skip where this user may not."""
    with tempfile.TemporaryDirectory(prefix="touchstone-disk-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "touchstone", folder]
        if os.geteuid() or subprocess.call(mount, stderr=subprocess.DEVNULL):
            require("Only root outside a container without rights can mount a small disk.")
        try:
            yield Path(folder)
        finally:
            subprocess.check_call(["umount", "--lazy", folder])


@contextmanager
def site_on(disk: Path) -> Iterator[Site]:
    """A web server whose database, and nothing else, is on a disk."""
    with tempfile.TemporaryDirectory(prefix="touchstone-site-") as name:
        folder = Path(name)
        prepare_sqlite(folder)
        shutil.move(folder / "touchstone.sqlite3", disk / "site.sqlite3")
        settings = {
            "SECRET_KEY": secrets.token_urlsafe(50), "DEBUG": "false", "DJANGO_ADMIN": "false",
            "DATABASE_URL": f"sqlite:///{disk}/site.sqlite3",
        }  # fmt: skip
        stack = Stack(folder, free_port(), free_port(), settings)
        with Commands(stack.env) as commands, Supervisor(commands.start) as parts:
            site = Site(stack, parts, commands)
            load_example(site, items=3)
            parts.start(stack.web())
            parts.wait_ready()
            yield site


ANSWERED = """
import json
from studyapp.models import Trial
print(json.dumps(Trial.objects.filter(answers__isnull=False).count()))
"""


class Walker:
    """A participant on the way to the first item."""

    def __init__(self, site: Site) -> None:
        self.site, self.link = site, make_link(site)
        self.connection = Connection("127.0.0.1", site.stack.port, Tally())

    async def to_item(self) -> tuple[str, dict[str, str]]:
        """Return the address and the filled form of the first item."""
        status, path, page = await self.connection.ask("GET", self.link.removeprefix(self.site.url))
        while not ITEM.search(path) or status == 302:
            if status == 302:
                target = path
                status, path, page = await self.connection.ask("GET", target)
                path = path or target
            else:
                status, path, page = await self.connection.ask(
                    "POST", path, fill_form(page, random.Random(1))
                )
        return path, fill_form(page, random.Random(1))

    async def send(self, path: str, form: dict[str, str]) -> int:
        """Send the item on a connection of its own; return the status."""
        self.connection.close()
        status, _target, page = await self.connection.ask("POST", path, form)
        self.connection.close()
        await asyncio.sleep(0.1)  # closing takes a turn of the loop
        assert b"Traceback" not in page
        return status


def fill(disk: Path) -> Path:
    """Fill a disk to its last block; return the file to delete."""
    with closing(sqlite3.connect(disk / "site.sqlite3")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return ballast


def test_a_full_disk():
    async def walk(site: Site, disk: Path) -> list[int]:
        walker = Walker(site)
        path, form = await walker.to_item()
        ballast = fill(disk)
        refused = await walker.send(path, form)
        ballast.unlink()
        return [refused, await walker.send(path, form)]

    with small_disk(16) as disk, site_on(disk) as site:
        assert asyncio.run(walk(site, disk)) == [503, 302]
        assert shell(site, ANSWERED) == 1


def test_a_read_only_disk():
    def remount(how: str, disk: Path, site: Site) -> None:
        site.parts.stop_one("web server")  # which has the database open
        subprocess.check_call(["mount", "-o", f"remount,{how}", str(disk)])
        site.parts.start(site.stack.web())
        eventually(lambda: is_port_taken(site.stack.port))

    async def walk(site: Site, disk: Path) -> list[int]:
        walker = Walker(site)
        path, form = await walker.to_item()
        remount("ro", disk, site)
        refused = await walker.send(path, form)
        remount("rw", disk, site)
        return [refused, await walker.send(path, form)]

    with small_disk(16) as disk, site_on(disk) as site:
        assert asyncio.run(walk(site, disk)) == [503, 302]
        assert shell(site, ANSWERED) == 1


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunSite]:
    settings = {
        "DJANGO_SETTINGS_MODULE": "tests.soak.poisoned_settings",
        "RUN_SWEEP_SECONDS": "3", "JOB_SWEEP_SECONDS": "1", "JOB_LEASE_SECONDS": "2",
    }  # fmt: skip
    with RunSite(tmp_path_factory.mktemp("runs"), **settings) as site:
        site.broker()
        site.model_server()
        site.worker()
        yield site


def test_an_emptied_queue(runs: RunSite):
    """The rows of the database fill the queue again after Redis lost it."""
    dataset, questions = runs.import_questions("emptied", 40), 40
    assert runs.run_prediction(dataset)[0] == 0
    client = redis.Redis(unix_socket_path=str(runs.stack.socket))
    for _ in range(3):
        client.flushall()
        time.sleep(0.5)
    client.close()
    eventually(lambda: runs.value(RUNS, dataset, "done") == 1, 120.0)
    assert runs.predicted(dataset) == runs.value(DISTINCT_PREDICTIONS, dataset) == questions


POISON = """
from accounts.models import User, Workspace
from jobs.actions.jobs import create_job
from jobs.tasks import enqueue_job
user = User.objects.create_user("poisoner")
enqueue_job(create_job(kind="poison", workspace=Workspace.objects.get(), by=user))
"""


def test_a_job_that_ends_its_worker_is_given_up(runs: RunSite):
    status, _output, error = runs.run("shell", "--no-imports", "--command", POISON)
    assert status == 0, error
    failed = "SELECT count(*) FROM jobs_job WHERE kind = 'poison' AND status = 'failed' AND attempts = 3"
    eventually(lambda: runs.value(failed) == 1, 120.0)
    given_up = "SELECT count(*) FROM jobs_job WHERE error = 'given up: its worker ended 3 times'"
    assert runs.value(given_up) == 1
    dataset = runs.import_questions("after-poison", 8)
    assert runs.run_prediction(dataset, "--wait")[0] == 0


@pytest.mark.soak
@pytest.mark.parametrize("database", DATABASES)
def test_a_migration_that_is_cut_off(database: str, request: pytest.FixtureRequest, tmp_path: Path):
    """A migration that was killed ends with the tables of a whole one.

    It is killed at random points and started again; the whole one was left alone.
    """
    url = f"sqlite:///{tmp_path}/cut.sqlite3"
    whole = f"sqlite:///{prepared(tmp_path)}"
    if database == "postgres":
        server = request.getfixturevalue("postgres_server")
        lasting = request.getfixturevalue("postgres_url")
        url, whole = lasting, f"{server.rpartition('/')[0]}/{prepare_postgres(server)}"
    env = {
        **os.environ,
        "VAR_DIR": str(tmp_path),
        "DATABASE_URL": url,
        "DJANGO_ADMIN": "false",
        "DEBUG": "false",
    }
    command = [sys.executable, "manage.py", "migrate"]
    for number in range(size(1, 0.05)):
        most = rng_of(f"migration {database}", number).uniform(0.0, 0.5) * len(tables(whole))
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
        eventually(lambda most=most: len(tables(url)) > most)
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it was through before it was killed"
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    assert tables(url) == tables(whole)


def prepared(folder: Path) -> Path:
    prepare_sqlite(folder / "whole")
    return folder / "whole" / "touchstone.sqlite3"


def tables(url: str) -> set[tuple[str, ...]]:
    """The columns of every table; nothing while there is no database yet."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            return set(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    with psycopg.connect(url) as connection:
        columns = "SELECT table_name, column_name, data_type FROM information_schema.columns "
        return set(connection.execute(columns + "WHERE table_schema = 'public'"))
