"""A database that is away for a while, and comes back.

The site answers 503 with a sentence and writes few log lines, and everything goes on after.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx
import psycopg
import pytest

from scripts.sites.example import load_example, make_link
from scripts.sites.site import Site, run_site
from tests.waiting import eventually

HIDDEN = re.compile(r'<input\s+type="hidden"\s+name="([^"]+)"\s+value="([^"]*)"')
LOCK_SECONDS = 26.0  # SQLite waits for 20
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"


def log_lines(site: Site) -> list[str]:
    return (site.var / "log" / "web-server.log").read_text().splitlines()


@contextmanager
def participant(site: Site) -> Iterator[tuple[httpx.Client, str]]:
    """A person on the page of consent, and its address."""
    with httpx.Client(follow_redirects=True, timeout=60) as client:
        page = client.get(make_link(site))
        yield client, str(page.url)


@contextmanager
def postgres_away(server: str, name: str) -> Iterator[None]:
    """Refuse connections to a database, and end those that are open.

    A restart does the same.
    """
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        connection.execute(f"{TERMINATE} AND datname = %s", (name,))
        try:
            yield
        finally:
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


@contextmanager
def sqlite_locked(site: Site) -> Iterator[None]:
    """Hold the lock of the writer, as a stuck program would."""
    with closing(sqlite3.connect(site.var / "touchstone.sqlite3", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            holder.execute("ROLLBACK")


@pytest.mark.service
def test_a_restart_of_postgres_is_503_and_one_log_line_a_second(postgres_server: str):
    with run_site(postgres=postgres_server, worker=False, extra={"RATE_LIMITS": "false"}) as site:
        load_example(site)
        name = str(site.env["DATABASE_URL"]).rpartition("/")[2]
        with participant(site) as (client, address):
            begun, before = time.monotonic(), len(log_lines(site))
            statuses = set()
            with postgres_away(postgres_server, name):
                for _restart in range(15):
                    for get in (f"{site.url}/health/ready", address, f"{site.url}/accounts/login/"):
                        page = client.get(get)
                        statuses.add((page.status_code, page.headers.get("Retry-After")))
                assert "Nothing is lost" in client.get(address).text
                assert client.get(f"{site.url}/health/live").status_code == 200
            seconds = time.monotonic() - begun
            assert (503, "10") in statuses
            assert {status for status, _after in statuses} <= {200, 503}
            lines = [line for line in log_lines(site)[before:] if "/health/" not in line]
            assert len(lines) <= 2 * (seconds + 1)  # two processes
            assert not [line for line in lines if "Traceback" in line]
            eventually(lambda: client.get(address).status_code == 200)
            assert client.get(f"{site.url}/health/ready").json()["checks"]["database"] == "ok"


def test_a_sqlite_file_that_stays_locked_is_503_and_loses_nothing():
    with run_site(worker=False, extra={"RATE_LIMITS": "false"}) as site:
        load_example(site)
        with participant(site) as (client, address):
            page = client.get(address)
            form = dict(HIDDEN.findall(page.text)) | {"consent": "yes"}
            with sqlite_locked(site):
                begun = time.monotonic()
                response = client.post(address, data=form, headers={"Referer": address})
                assert 15 < time.monotonic() - begun < LOCK_SECONDS
            assert (response.status_code, response.headers["Retry-After"]) == (503, "10")
            assert "Nothing is lost" in response.text
            again = client.post(address, data=form, headers={"Referer": address})
            assert again.status_code == 200
            assert "/item/" in str(again.url)
        assert not [line for line in log_lines(site) if "Traceback" in line]
