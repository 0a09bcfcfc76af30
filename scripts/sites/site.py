"""A whole site in a temporary folder, for tests and benchmarks."""

from __future__ import annotations

import atexit
import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier

from scripts.sites import servers
from scripts.sites.commands import Commands
from scripts.sites.processes import ROOT, Supervisor, free_port
from scripts.sites.stack import Stack


class CommandFailed(AssertionError):
    """A command ended with an unexpected status; holds its output."""


@dataclass(frozen=True)
class Site:
    """A running site.

    ``parts`` starts and ends its programs, ``commands`` runs management commands.
    """

    stack: Stack
    parts: Supervisor
    commands: Commands

    @property
    def url(self) -> str:
        """Return the address of the site."""
        return self.stack.url

    @property
    def var(self) -> Path:
        """Return the folder of the site's data."""
        return self.stack.var

    @property
    def env(self) -> dict[str, str]:
        """Environment of a command that works on this site."""
        return self.stack.env

    def run(self, *command: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a program in the site's environment.

        Raises CommandFailed unless it ends with ``status``.
        """
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=900,
        )  # fmt: skip
        return _check_status(done, " ".join(command), status)

    def manage(self, *arguments: str, status: int = 0) -> str:
        """Run a management command in a fork, and return what it printed."""
        return _check_status(self.commands.run(*arguments), " ".join(arguments), status).stdout

    def python(self, module: str, *arguments: str, status: int = 0) -> str:
        """Run ``python -m module`` and return what it printed."""
        return self.run(sys.executable, "-m", module, *arguments, status=status).stdout


def _check_status(
    done: subprocess.CompletedProcess[str], command: str, status: int
) -> subprocess.CompletedProcess[str]:
    if done.returncode != status:
        raise CommandFailed(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def prepare_sqlite(folder: Path) -> str:
    """Prepare static files and an empty SQLite database; return its URL."""
    shutil.copytree(prepare_site_folder(), folder, dirs_exist_ok=True)
    return _format_sqlite_url(folder)


@cache
def prepare_site_folder() -> Path:
    """Return a folder with static files and an empty touchstone.sqlite3.

    Migrating takes seconds, a copy of the result takes none. All processes of a test run share one folder.
    """
    with _lock_shared_folder() as shared:
        folder = shared / "site"
        if not folder.exists():
            # Renamed when it is whole: a run that is stopped meanwhile leaves no half of it.
            _manage("prepare_site", _format_sqlite_url(shared / "unfinished"), shared / "unfinished")
            (shared / "unfinished").rename(folder)
    return folder


@contextmanager
def _lock_shared_folder() -> Iterator[Path]:
    """Lock the folder of what processes share.

    It is TEST_PREPARED, which belongs to a test run, or a folder that is deleted with this process.
    """
    folder = Path(os.environ.get("TEST_PREPARED") or _make_own_folder())
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@cache
def _make_own_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="touchstone-prepared-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def _provide_postgres(server: str, folder: Path) -> Iterator[str]:
    """Prepare static files and a PostgreSQL database; yield its URL."""
    shutil.copytree(prepare_site_folder() / "static", folder / "static")
    with servers.copy_postgres_database(server, template=prepare_postgres(server)) as url:
        yield url


@cache
def prepare_postgres(server: str) -> str:
    """Return the name of a migrated database.

    It is dropped when this process ends; that of a test run ends with its server.
    """
    with _lock_shared_folder() as shared:
        name = shared / f"postgres-{urlsplit(server).port}"
        if not name.exists():
            name.write_text(_create_migrated_postgres(server), encoding="utf-8")
        return name.read_text(encoding="utf-8")


def _create_migrated_postgres(server: str) -> str:
    name = f"prepared_{secrets.token_hex(6)}"

    def run(command: str) -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(SQL(command).format(Identifier(name)))

    def drop() -> None:
        with suppress(psycopg.OperationalError):  # the server has ended, and with it all that it held
            run("DROP DATABASE {} WITH (FORCE)")

    run("CREATE DATABASE {}")
    if "TEST_PREPARED" not in os.environ:
        atexit.register(drop)
    with tempfile.TemporaryDirectory(prefix="touchstone-prepared-") as folder:
        _manage("migrate", f"{server.rpartition('/')[0]}/{name}", Path(folder))
    return name


def prepare(database_url: str, var: Path) -> None:
    """Migrate a database, and put the static files into ``var``."""
    shutil.copytree(prepare_site_folder() / "static", var / "static", dirs_exist_ok=True)
    _manage("migrate", database_url, var)


def _manage(command: str, database_url: str, var: Path) -> None:
    settings = {"DATABASE_URL": database_url, "VAR_DIR": str(var), "SECRET_KEY": "of-no-site"}
    env = {**os.environ, **settings, "DEBUG": "false", "DJANGO_ADMIN": "false"}
    var.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "manage.py", command, "--verbosity", "0"], cwd=ROOT, env=env, check=True)


def _format_sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder}/touchstone.sqlite3"


@contextmanager
def run_site(
    *,
    postgres: str | None = None,
    fake: Sequence[str] = ("fake",),
    modular: Sequence[str] = (),
    worker: bool = True,
    extra: Mapping[str, str] | None = None,
    as_deployed: bool = False,
) -> Iterator[Site]:
    """Run a site on an empty database: SQLite, or a PostgreSQL server.

    ``fake`` names the readers of a fake model server, and ``modular`` its modular networks; without the
    former it takes the real one. Without ``worker`` neither broker, worker nor model server run.

    Web server and worker are forks of one process that has their modules, and the model server has one
    process, for a third of the work; ``as_deployed`` starts all as people do, for what is measured.
    """
    # The environment of a test run is not for the site.
    settings = {
        "DEBUG": "false", "LOG_LEVEL": "INFO", "DJANGO_ADMIN": "false", "DJANGO_ALLOW_ASYNC_UNSAFE": ""
    }  # fmt: skip
    settings |= {} if as_deployed else {"MODELSERVER_PROCESSES": "1"}
    settings |= {"SECRET_KEY": secrets.token_urlsafe(50), **(extra or {})}
    with ExitStack() as lasting:
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-site-")))
        database = (
            lasting.enter_context(_provide_postgres(postgres, folder)) if postgres else prepare_sqlite(folder)
        )
        stack = Stack(folder, free_port(), free_port(), {**settings, "DATABASE_URL": database})
        commands = lasting.enter_context(Commands(stack.env))
        parts = lasting.enter_context(Supervisor() if as_deployed else Supervisor(commands.start))
        if worker:
            parts.start(stack.broker())
            parts.start(stack.model_server(fake=fake, modular=modular))
            parts.start(stack.worker())
        parts.start(stack.web())
        parts.wait_ready()
        yield Site(stack, parts, commands)
