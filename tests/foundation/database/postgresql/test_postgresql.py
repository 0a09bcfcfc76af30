"""The PostgreSQL backend plans statements once and notices a lost server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import DataError, NotSupportedError
from django.db.utils import ConnectionHandler

from foundation.database.postgresql import base
from tests.config.test_settings import settings

pytestmark = [pytest.mark.django_db, pytest.mark.service]


@contextmanager
def connected(folder: Path, **env: str) -> Iterator[Any]:
    """Connect as the site does with these settings."""
    connection = ConnectionHandler(settings(folder, **env)["DATABASES"])["default"]
    connection.connect()
    try:
        yield connection
    finally:
        connection.close()


def list_statements(connection: Any) -> list[str]:
    """Return the statements that the server keeps for a connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [statement for (statement,) in cursor.fetchall()]


def pid(connection: Any) -> int:
    return int(connection.connection.info.backend_pid)


def test_a_statement_is_kept_once_whatever_its_values(postgres_url: str, tmp_path: Path) -> None:
    with connected(tmp_path, DATABASE_URL=postgres_url) as connection:
        for number in (1, 100_000, 2**40, -1):
            cursor = connection.prepared_cursor()
            cursor.execute("SELECT %s + 1, %s", [number, f"{number} %s"])
            assert cursor.fetchall() == [(number + 1, f"{number} %s")]
        assert list_statements(connection) == ["SELECT $1 + 1, $2"]


def test_other_queries_are_not_kept(postgres_url: str, tmp_path: Path) -> None:
    with connected(tmp_path, DATABASE_URL=postgres_url) as connection:
        for number in range(9):
            with connection.cursor() as cursor:
                cursor.execute("SELECT %s", [number])
        assert list_statements(connection) == []


def test_with_a_pooler_nothing_is_kept(postgres_url: str, tmp_path: Path) -> None:
    with connected(tmp_path, DATABASE_URL=postgres_url, DATABASE_POOL_URL=postgres_url) as connection:
        for number in range(9):
            cursor = connection.prepared_cursor()
            cursor.execute("SELECT %s", [number])
            assert cursor.fetchall() == [(number,)]
        assert list_statements(connection) == []


def test_a_statement_works_again_after_an_error(postgres_url: str, tmp_path: Path) -> None:
    with connected(tmp_path, DATABASE_URL=postgres_url) as connection:
        for divisor in (1, 0, 2):
            cursor = connection.prepared_cursor()
            if divisor:
                cursor.execute("SELECT 4 / %s", [divisor])
                assert cursor.fetchall() == [(4 // divisor,)]
            else:
                with pytest.raises(DataError):
                    cursor.execute("SELECT 4 / %s", [divisor])


def test_an_ended_connection_is_replaced_before_the_next_request(postgres_url: str, tmp_path: Path) -> None:
    with connected(tmp_path, DATABASE_URL=postgres_url) as connection:
        assert connection.is_usable()
        ended = pid(connection)
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
        connection.close_if_unusable_or_obsolete()  # as Django does between requests
        cursor = connection.prepared_cursor()
        cursor.execute("SELECT %s", [1])
        assert cursor.fetchall() == [(1,)]
        assert pid(connection) != ended
        assert connection.is_usable()
        connection.connection.close()
        assert not connection.is_usable()


def test_after_a_changed_type_one_request_fails(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("CREATE TABLE texts (text varchar(9))")
        with connected(tmp_path, DATABASE_URL=postgres_url) as connection:
            read = "SELECT text FROM texts WHERE text = %s"
            connection.prepared_cursor().execute(read, ["a"])
            other.execute("ALTER TABLE texts ALTER text TYPE varchar(99)")
            with pytest.raises(NotSupportedError, match="cached plan must not change result type"):
                connection.prepared_cursor().execute(read, ["a"])
            connection.close_if_unusable_or_obsolete()
            connection.prepared_cursor().execute(read, ["a"])


def test_a_silent_server_is_asked_once_a_second(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []
    clock = [1000.0]

    def ask(_connection: Any) -> bool:
        times.append(clock[0])
        return len(times) < 3

    monkeypatch.setattr(base.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(base.base.DatabaseWrapper, "is_usable", ask)
    with connected(tmp_path, DATABASE_URL=postgres_url) as connection:
        for clock[0] in (1000.0, 1000.5, 1000.9, 1001.0):
            assert connection.is_usable()
        assert times == [1000.0, 1001.0]
        for clock[0] in (1002.0, 1002.1):
            assert not connection.is_usable(), "a server that was away is asked again at once"
