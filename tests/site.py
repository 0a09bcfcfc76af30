"""A real site on free ports for the tests: broker, worker, model server and web server as people run them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.site import Site, running_site

__all__ = ["Site", "running_site", "site"]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.service)])
def postgres_or_sqlite(request: pytest.FixtureRequest) -> str | None:
    """What ``running_site`` takes for each database: None for SQLite, and a PostgreSQL server's URL."""
    return request.getfixturevalue("postgres_server") if request.param == "postgres" else None


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The whole site on SQLite with the fake model server, shared by the tests of a module."""
    with running_site() as running:
        yield running
