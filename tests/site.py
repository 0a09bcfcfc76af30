"""A real site on free ports for the tests: broker, worker, model server and web server as people run them."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.processes import ROOT, Supervisor, free_port
from scripts.stack import Stack


@dataclass(frozen=True)
class Site:
    """A running site. ``parts`` can end and start single programs of it."""

    stack: Stack
    parts: Supervisor

    @property
    def url(self) -> str:
        return self.stack.url

    @property
    def var(self) -> Path:
        return self.stack.var

    @property
    def env(self) -> dict[str, str]:
        """Environment of a command that works on this site."""
        return self.stack.env

    def run(self, *command: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a program in the site's environment; fail the test when it ends with another status."""
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=600,
        )  # fmt: skip
        if done.returncode != status:
            pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def manage(self, *arguments: str, status: int = 0) -> str:
        """Run a management command and return what it printed."""
        return self.run(*self.stack.manage(*arguments), status=status).stdout

    def python(self, module: str, *arguments: str, status: int = 0) -> str:
        """Run ``python -m module`` and return what it printed."""
        return self.run(sys.executable, "-m", module, *arguments, status=status).stdout


@contextmanager
def running_site(
    *,
    database_url: str | None = None,
    fake: Sequence[str] = ("fake",),
    worker: bool = True,
    extra: Mapping[str, str] | None = None,
) -> Iterator[Site]:
    """Run a site on an empty, migrated database: SQLite in its own folder unless a URL is given.

    ``fake`` names the systems of a fake model server; empty, it takes the real one. Without ``worker``
    neither broker, worker nor model server run.
    """
    # What the environment of the test run sets for itself is not for the site.
    settings = {"DEBUG": "false", "LOG_LEVEL": "INFO", "DJANGO_ALLOW_ASYNC_UNSAFE": ""}
    settings |= {"SECRET_KEY": secrets.token_urlsafe(50), **(extra or {})}
    with tempfile.TemporaryDirectory(prefix="touchstone-site-") as folder, Supervisor() as parts:
        database = database_url or f"sqlite:///{folder}/touchstone.sqlite3"
        stack = Stack(Path(folder), free_port(), free_port(), {**settings, "DATABASE_URL": database})
        site = Site(stack, parts)
        if worker:
            parts.start(stack.broker())
            parts.start(stack.model_server(fake=fake))
        site.manage("migrate", "--verbosity", "0")
        site.manage("collectstatic", "--no-input", "--verbosity", "0")
        if worker:
            parts.start(stack.worker())
        parts.start(stack.web())
        parts.wait_ready()
        yield site


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The whole site on SQLite with the fake model server, shared by the tests of a module."""
    with running_site() as running:
        yield running
