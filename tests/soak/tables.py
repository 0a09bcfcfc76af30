"""The content of every table shows if a refused request left a trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, transaction

WRITES = re.compile(r'\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)
# Notes about the requests themselves: sessions, failed logins, reads of personal data, answered requests.
NOTES = {
    "django_session",
    "usersessions_usersession",
    "axes_accessattempt",
    "axes_accessfailurelog",
    "accounts_auditentry",
    "accounts_answeredrequest",
    "accounts_apitoken",  # the time of its last use
}
Content = frozenset[tuple[Any, ...]]


def content(table: str) -> Content:
    """Return the rows of a table as text."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - of our models
        return frozenset(tuple(map(str, row)) for row in cursor.fetchall())


class Tables:
    """The rows of all tables before each input; each input is undone after it."""

    def __init__(self) -> None:
        names = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
        self.before = {name: content(name) for name in names}

    @contextmanager
    def undone(self) -> Iterator[set[str]]:
        """Undo what is done inside, and name the tables that were written to."""
        written: set[str] = set()

        def record(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if match := WRITES.match(sql):
                written.add(match[1])
            return execute(sql, params, many, context)

        with transaction.atomic(), connection.execute_wrapper(record):
            yield written
            transaction.set_rollback(True)

    def changed(self, written: Iterable[str]) -> list[str]:
        """Return the tables among ``written`` that differ from before."""
        return sorted(
            name
            for name in set(written) - NOTES
            if name in self.before and content(name) != self.before[name]
        )
