"""A clean clone becomes a site that outlives what a year brings.

It is set up by the commands of the page on deploying. A year brings TLS, a kill of each program, a backup, a
restore on an empty folder and database, and a new version. ``make soak`` runs it (suite "deployed"): it
installs everything again, which takes minutes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest

from scripts.debian import find_redis_server
from scripts.load.walkers import Tally, run_crowd
from scripts.sites import servers
from scripts.sites.commands import Commands
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import ROOT, Part, Supervisor, free_port, is_redis_answering, is_url_answering
from scripts.sites.site import Site
from tests.deploy.certificates import make_certificate
from tests.deploy.scaled_site import SecureStack
from tests.deploy.test_start import command_of
from tests.deploy.web_proxy import web_proxy
from tests.fault.test_study_survives_kills import STORED, written
from tests.waiting import eventually

pytestmark = [pytest.mark.service, pytest.mark.soak]
ITEMS, PEOPLE, QUESTIONS = 5, 6, 60
SETUP = "python3 scripts/setup.py run"
NEXT = {"DJANGO_SETTINGS_MODULE": "tests.deploy.next_version.settings"}


class Cloned(Commands):
    """Runs the management commands of a clone, by the clone's own Python."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        super().__init__(env)
        self.home, self.env = home, env

    def run(self, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """Run ``manage.py`` in the clone."""
        return self.shell(shlex.join([".venv/bin/python", "manage.py", *arguments]))

    def shell(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command line in the clone."""
        words = shlex.split(command)
        return subprocess.run(words, cwd=self.home, env=self.env | more, capture_output=True, text=True)


@dataclass
class Deployed:
    """The site, the clone that it runs from, and its programs by name.

    The programs run as systemd would run them.
    """

    site: Site
    clone: Cloned
    parts: dict[str, Part] = field(default_factory=dict)

    def do(self, command: str, **more: str) -> str:
        """Run a command in the clone that has to succeed."""
        done = self.clone.shell(command, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def unit(self, name: str, unit: str, ready: str = "", **ports: int) -> None:
        """Add the program of a unit.

        ``ready`` is an address that answers when the program does.
        """
        command = self.command(unit, name[-1], **ports)
        log, env = self.site.var / "log" / f"{name}.log", self.clone.env
        self.parts[name] = Part(
            name=name, command=command, log=log, env=env, seconds=180.0,
            ready=(lambda: is_url_answering(ready)) if ready else (lambda: True),
        )  # fmt: skip

    def command(self, unit: str, instance: str = "", **ports: int) -> list[str]:
        """Return the command of a unit, in the clone."""
        _python, *words = command_of(unit, instance, **ports)
        return ["env", "-C", str(self.clone.home), str(self.clone.home / ".venv/bin/python"), *words]

    def start(self, *names: str) -> None:
        """Start programs, and return when all answer."""
        for name in names:
            self.site.parts.start(self.parts[name])
        self.site.parts.wait_ready()


def redis(folder: Path, port: int, password: str) -> Part:
    """Redis with the settings that the page asks for."""
    program = find_redis_server()
    assert program, "Redis is not installed (Debian package redis-server)."
    folder.mkdir()
    options = {"requirepass": password, "appendonly": "yes", "maxmemory-policy": "noeviction"}
    command = [str(program), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    for name, value in options.items():
        command += [f"--{name}", value]
    return Part(
        name="Redis", command=command, log=folder / "log", env=os.environ,
        ready=lambda: is_redis_answering(("127.0.0.1", port)) or "NOAUTH" in ping_redis(port),
    )  # fmt: skip


def ping_redis(port: int) -> str:
    """Return the answer of Redis to a ping without the password."""
    done = subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, text=True)
    return done.stdout


@contextmanager
def deployed(folder: Path) -> Iterator[Deployed]:
    """Deploy a clean clone on free ports, up to its last program."""
    home, var = folder / "touchstone", folder / "var"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(home)], check=True)
    var.mkdir()
    page = (home / "docs/how-to/deploy.md").read_text(encoding="utf-8")
    assert f"cd /opt/touchstone\n    {SETUP}\n" in page
    database, broker, model, first, second = (free_port() for _ in range(5))
    password, token = secrets.token_urlsafe(12), secrets.token_urlsafe(24)
    example = (home / "deploy/site.env.example").read_text(encoding="utf-8")
    settings = dict(re.findall(r"^([A-Z_]+)=(.*)$", example, re.MULTILINE)) | {
        "SECRET_KEY": secrets.token_urlsafe(48), "VAR_DIR": str(var),
        "DATABASE_URL": f"postgres://postgres@127.0.0.1:{database}/postgres",
        "REDIS_URL": f"redis://:{password}@127.0.0.1:{broker}/0",
        "MODEL_SERVER_URL": f"http://127.0.0.1:{model}", "MODEL_SERVER_TOKEN": token,
        "MODELSERVER_TOKEN": token, "METRICS_TOKEN": token,
    }  # fmt: skip
    stack = SecureStack(var, free_port(), model, settings)
    settings["SITE_URL"] = stack.url
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    clone = Cloned(home, clean | settings)
    with tempfile.TemporaryDirectory(prefix="touchstone-pg-") as data, Supervisor() as parts:
        there = Deployed(Site(stack, parts, clone), clone)
        there.do(SETUP.replace("python3", sys.executable))
        there.parts["PostgreSQL"] = servers.create_killable_postgres(Path(data), database)
        there.parts["Redis"] = redis(folder / "redis", broker, password)
        there.start("PostgreSQL", "Redis")
        there.do(shlex.join(there.command("touchstone-prepare.service")))
        urls = {port: f"http://127.0.0.1:{port}" for port in (first, second, model)}
        there.unit("web 1", "touchstone-web@.service", f"{urls[first]}/health/live", _8001=first)
        there.unit("web 2", "touchstone-web@.service", f"{urls[second]}/health/live", _8002=second)
        there.unit("model server", "touchstone-modelserver.service", f"{urls[model]}/ready", _8100=model)
        for name in ("worker 1", "worker 2"):
            there.unit(name, "touchstone-worker@.service")
        there.unit("beat", "touchstone-beat.service")
        tls = make_certificate(folder)
        there.parts["nginx"] = web_proxy(folder / "nginx", stack.port, [first, second], tls)
        yield there


def stored_is_sent(site: Site, tally: Tally) -> None:
    stored = json.loads(site.manage("shell", "--no-imports", "--command", STORED).splitlines()[-1])
    sent = {key.partition(".")[0].removeprefix("item-"): form for key, form in tally.answers.items()}
    assert sent.keys() == stored["answers"].keys()
    for trial, answers in stored["answers"].items():
        assert {key: written(value) for key, value in answers.items()}.items() <= sent[trial].items()
    assert stored["people"] == [["completed", ITEMS]] * tally.consents
    assert tally.completed == tally.consents


@contextmanager
def people(link: str, tally: Tally, patience: float) -> Iterator[None]:
    """Have participants come and go while the body runs.

    ``patience`` is for a site that is away.
    """
    over = threading.Event()

    def walk() -> None:
        for _turn in itertools.takewhile(lambda _: not over.is_set(), itertools.count()):
            seed = tally.consents + 1
            asyncio.run(run_crowd(link, tally, users=PEOPLE, think=0.5, seed=seed, patience=patience))

    before = tally.items
    with ThreadPoolExecutor(1) as pool:
        walking = pool.submit(walk)
        try:
            eventually(lambda: tally.items > before or walking.done())
            yield
        finally:
            over.set()
        walking.result(timeout=600)


def kill_each(there: Deployed) -> None:
    """Kill one program after the other.

    Each starts again after a second, as its unit says.
    """
    for name in there.parts:
        os.killpg(there.site.parts.pids[name], signal.SIGKILL)
        eventually(lambda: runs_again(there), 180.0)


def runs_again(there: Deployed) -> bool:
    """Start ended programs; return whether all programs run and answer."""
    # A worker may end with the database or Redis: Celery's transport does not outlive every moment.
    there.site.parts.restart_ended(lambda _sentence: None)
    running = there.site.parts.pids.keys() == there.parts.keys()
    return running and all(part.ready() for part in there.parts.values())


def upgrade(there: Deployed) -> None:
    """Do as the page says: install, prepare, restart.

    One web server restarts after the other.
    """
    there.do(SETUP.replace("python3", sys.executable))
    there.do(shlex.join(there.command("touchstone-prepare.service")), **NEXT)
    for name in ("web 1", "web 2", "worker 1", "worker 2", "beat", "model server"):
        there.parts[name] = replace(there.parts[name], env={**there.parts[name].env, **NEXT})
        there.site.parts.stop_one(name)
        there.start(name)
    there.clone.env |= NEXT


def exported(there: Deployed, out: Path, **env: str) -> dict[str, bytes]:
    command = [
        ".venv/bin/python",
        "manage.py",
        "export_results",
        "example",
        "--mode",
        "live",
        "--out",
        str(out),
    ]
    there.do(shlex.join(command), **env)
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def restored(there: Deployed, folder: Path) -> dict[str, str]:
    """Back up as the timer does, restore, and return the new settings.

    The backup is restored on an empty folder and database.
    """
    url = there.clone.env["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
    backups, var = folder / "backups", folder / "restored"
    backups.mkdir(mode=0o700)
    var.mkdir()
    command = shlex.join(there.command("touchstone-backup.service")).replace(
        "'${CACHE_DIRECTORY}'", str(backups)
    )
    there.do(command)
    (archive,) = backups.iterdir()
    empty = {"VAR_DIR": str(var), "DATABASE_URL": url.rpartition("/")[0] + "/restored"}
    there.do(f".venv/bin/touchstone restore {archive}", **empty)
    return empty


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards: an environment takes 2 GB."""
    with tempfile.TemporaryDirectory(prefix="touchstone-deployed-") as name:
        yield Path(name)


def test_a_clean_clone_serves_and_lasts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "site.crt"))
    with deployed(folder) as there:
        there.start(*(name for name in there.parts if name not in there.site.parts.pids))
        site, tally = there.site, Tally()
        load_example(site, items=ITEMS, questions=QUESTIONS)
        link = make_link(site)
        assert link.startswith("https://127.0.0.1:")
        with people(link, tally, patience=120.0):
            kill_each(there)
        stored_is_sent(site, tally)
        predicted = site.manage("predict", "--dataset", "example", "--system", "heuristic", "--wait")
        assert f"{QUESTIONS} of {QUESTIONS} questions predicted" in predicted
        empty = restored(there, folder)
        bundle = exported(there, folder / "a")
        assert "trials.csv" in bundle
        assert exported(there, folder / "b", **empty) == bundle
        repeated = tally.repeated
        with people(link, tally, patience=0.0):  # a request that failed would raise
            upgrade(there)
        assert tally.repeated == repeated
        stored_is_sent(site, tally)
        assert "next_version" in site.manage("showmigrations")
        sys.stderr.write(f"{len(there.parts)} programs killed once each, {tally.items} answers stored once\n")
