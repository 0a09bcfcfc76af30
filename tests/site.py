"""A real site on free ports, whose programs run as people run them.

They are broker, worker, model server and web server. Starting them takes a processor ten seconds. The modules
that a process runs one after the other therefore share them: each gets a site without data, as a new one
would be.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from scripts.sites.processes import PartFailed
from scripts.sites.site import Site, prepare_site_folder, run_site

__all__ = ["EmptySite", "Site", "run_site", "site"]

EmptySite = Callable[..., AbstractContextManager[Site]]

# One suffices for what costs seconds on each.
DATABASES = [
    pytest.param("sqlite", marks=pytest.mark.soak), pytest.param("postgres", marks=pytest.mark.service)
]  # fmt: skip
KEPT = 2  # sites of a process that wait for their next module
IDS = 1_000_000  # of rows that a module adds at most
# A new site has these in its folder; all else there is data.
PROGRAMS = {"broker", "broker.sock", "log", "static"}


@pytest.fixture(scope="module", params=DATABASES)
def postgres_or_sqlite(request: pytest.FixtureRequest) -> str | None:
    """URL of a PostgreSQL server, or None for SQLite, as for ``run_site``."""
    return request.getfixturevalue("postgres_server") if request.param == "postgres" else None


@dataclass
class _Used:
    """A running site that modules take turns at.

    Attributes:
        pids: Its programs.
        turns: Number of modules that had it.
    """

    site: Site
    options: dict[str, Any]
    lasting: ExitStack
    pids: dict[str, int] = field(init=False)
    turns: int = 0

    def __post_init__(self) -> None:
        self.pids = self.site.parts.pids

    def waits(self) -> bool:
        """Return whether the programs still run and have no work.

        Programs that were started again do not count.
        """
        try:
            self.site.parts.check()
        except PartFailed:
            return False
        if self.site.parts.pids != self.pids:
            return False
        return "broker" not in self.pids or _queue_is_empty(self.site)

    def empty(self) -> None:
        """Take everything away that the last module left.

        Rows of the next module get ids that none had before: a web server remembers what never changes.
        """
        self.turns += 1
        if "broker" in self.pids:
            _empty_broker(self.site)
        _empty_database(self.site, self.turns * IDS)
        for path in self.site.var.iterdir():
            if path.is_dir() and path.name not in PROGRAMS:
                shutil.rmtree(path)
            elif path.name not in PROGRAMS and not path.name.startswith("touchstone.sqlite3"):
                path.unlink()
        for log in (self.site.var / "log").iterdir():
            log.write_bytes(b"")


def _broker(site: Site) -> AbstractContextManager[redis.Redis]:
    return closing(redis.Redis(unix_socket_path=str(site.stack.socket)))


def _queue_is_empty(site: Site, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    with _broker(site) as broker:
        while broker.llen("celery") or broker.hlen("unacked"):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
    return True


def _empty_broker(site: Site) -> None:
    with _broker(site) as broker:
        for key in broker.scan_iter():
            # The programs enter their queues once, when they start.
            if not key.startswith(b"_kombu.binding"):
                broker.delete(key)


def _empty_database(site: Site, first: int) -> None:
    path = site.var / "touchstone.sqlite3"
    with (
        closing(sqlite3.connect(path, timeout=20)) as database,
        # Immutable, because a plain connection puts files beside it that others copy in vain.
        closing(sqlite3.connect(f"file:{prepare_site_folder() / path.name}?immutable=1", uri=True)) as new,
    ):
        new.backup(database)
        with database:
            database.execute("DELETE FROM sqlite_sequence")
            database.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT name, ? FROM sqlite_master "
                "WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'",
                (first,),
            )


@pytest.fixture(scope="session")
def empty_site() -> Iterator[EmptySite]:
    """Lend a site without data; options are those of ``run_site``.

    On SQLite it may be one that another module had. A module that ends programs, or reads of the site's start
    in its logs, starts a site of its own.
    """
    waiting: list[_Used] = []

    @contextmanager
    def lend(postgres: str | None = None, **options: Any) -> Iterator[Site]:
        if postgres:
            with run_site(postgres=postgres, **options) as running:
                yield running
            return
        used = next((candidate for candidate in waiting if candidate.options == options), None)
        if used is None:
            with ExitStack() as lasting:
                used = _Used(lasting.enter_context(run_site(**options)), options, lasting.pop_all())
        else:
            waiting.remove(used)
        with ExitStack() as ended:
            ended.callback(used.lasting.close)
            yield used.site
            if not used.waits():
                return
            used.empty()
            ended.pop_all()
        waiting.append(used)
        if len(waiting) > KEPT:
            waiting.pop(0).lasting.close()

    yield lend
    for used in waiting:
        used.lasting.close()


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    """The whole site on SQLite, shared by the tests of a module.

    Its model server is the fake one.
    """
    with empty_site() as running:
        yield running
