"""Placeholders of the SQLite backend mean what they do in Django's.

The tests run on both databases.
"""

from typing import Any

import pytest
from django.db import connection

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def selected(query: str, params: Any = None) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return cursor.fetchone()


def test_it_works() -> None:
    for value in ("a", "%s", "?", "100%"):  # the second time the query is known
        assert selected("SELECT %s || '%%s', '100%%'", [value]) == (f"{value}%s", "100%")


def test_named_values() -> None:
    for value in ("a", "%s"):
        assert selected("SELECT %(text)s || '%%'", {"text": value}) == (f"{value}%",)
    assert selected("SELECT '100%%'", {}) == ("100%",)


def test_without_values_nothing_is_a_placeholder() -> None:
    assert selected("SELECT '%s', '100%%'") == ("%s", "100%%")


def test_many_rows_at_once() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE texts (text varchar(9))")
        cursor.executemany("INSERT INTO texts VALUES (%s || '%%')", [("a",), ("b",)])
        cursor.execute("SELECT text FROM texts ORDER BY text")
        assert cursor.fetchall() == [("a%",), ("b%",)]
