"""A whole site on free ports, in a folder that goes when it ends: for the tests and the benchmarks."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.processes import ROOT, Supervisor, free_port
from scripts.stack import Stack


class CommandFailed(AssertionError):
    """A command on the site ended with another status than was expected; the message holds what it wrote."""


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
        """Run a program in the site's environment. Raises CommandFailed unless it ends with ``status``."""
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=900,
        )  # fmt: skip
        if done.returncode != status:
            raise CommandFailed(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done

    def manage(self, *arguments: str, status: int = 0) -> str:
        """Run a management command and return what it printed."""
        return self.run(*self.stack.manage(*arguments), status=status).stdout

    def python(self, module: str, *arguments: str, status: int = 0) -> str:
        """Run ``python -m module`` and return what it printed."""
        return self.run(sys.executable, "-m", module, *arguments, status=status).stdout


def prepare_sqlite(folder: Path) -> str:
    """Put an empty, migrated database and static files into a site's folder; return the URL."""
    shutil.copytree(_prepared(), folder, dirs_exist_ok=True)
    return _sqlite(folder)


@cache
def _prepared() -> Path:
    """A folder that ends with this process. Migrating takes seconds, copying what it made takes none."""
    folder = Path(tempfile.mkdtemp(prefix="touchstone-prepared-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {"DATABASE_URL": _sqlite(folder), "VAR_DIR": str(folder), "SECRET_KEY": "of-no-site"}
    env = {**os.environ, **settings, "DEBUG": "false"}
    subprocess.run([sys.executable, "manage.py", "prepare_site"], cwd=ROOT, env=env, check=True)
    return folder


def _sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/touchstone.sqlite3"


@contextmanager
def running_site(
    *,
    database_url: str | None = None,
    fake: Sequence[str] = ("fake",),
    modular: Sequence[str] = (),
    worker: bool = True,
    extra: Mapping[str, str] | None = None,
) -> Iterator[Site]:
    """Run a site on an empty, migrated database: SQLite in its own folder unless a URL is given.

    ``fake`` names the readers of a fake model server, and ``modular`` its modular networks; without the
    former it takes the real one. Without ``worker`` neither broker, worker nor model server run.
    """
    # What the environment of a test run sets for itself is not for the site.
    settings = {"DEBUG": "false", "LOG_LEVEL": "INFO", "DJANGO_ALLOW_ASYNC_UNSAFE": ""}
    settings |= {"SECRET_KEY": secrets.token_urlsafe(50), **(extra or {})}
    with tempfile.TemporaryDirectory(prefix="touchstone-site-") as folder, Supervisor() as parts:
        database = database_url or prepare_sqlite(Path(folder))
        stack = Stack(Path(folder), free_port(), free_port(), {**settings, "DATABASE_URL": database})
        site = Site(stack, parts)
        if worker:
            parts.start(stack.broker())
            parts.start(stack.model_server(fake=fake, modular=modular))
        if database_url:
            site.manage("prepare_site")
        if worker:
            parts.start(stack.worker())
        parts.start(stack.web())
        parts.wait_ready()
        yield site
