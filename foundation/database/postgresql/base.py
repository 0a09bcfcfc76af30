"""A database backend: Django's for PostgreSQL, with queries kept there.

Django writes values into the text of a query, so that PostgreSQL parses and plans it each time; and before
each request it asks the server whether it is there. Both cost more than most queries of a page
(docs/adr/0010).
"""

import select
import time
from typing import Any

from django.db.backends.postgresql import base, operations
from psycopg.types.numeric import Int8Dumper

ASKED_FOR_S = 1.0  # how long the server's answer counts
PREPARED = "prepared"  # in place of the name of a cursor on the server


class DatabaseOperations(operations.DatabaseOperations):
    """Django's, which also write the text of prepared queries into its log."""

    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """Return the text of a query with its values."""
        return super().last_executed_query(cursor, sql, params) or str(self.compose_sql(sql, params))


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL that can keep prepared statements.

    It keeps them if OPTIONS has a "prepare_threshold"; a pooler may give each transaction another connection.
    """

    ops_class = DatabaseOperations
    _asked_at = 0.0
    _prepared_cursor: base.ServerBindingCursor

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection on which every integer has one type.

        By default the type depends on the value, and with it the statement.
        """
        connection = super().get_new_connection(conn_params)
        connection.adapters.register_dumper(int, Int8Dumper)
        self._prepared_cursor = base.ServerBindingCursor(connection)  # type: ignore[call-arg]
        return connection

    def close_if_unusable_or_obsolete(self) -> None:
        """Close the connection between two requests if it may not work.

        After a migration it may keep statements that do not fit their tables any more.
        """
        if self.errors_occurred and not self.in_atomic_block:
            self.close()
        super().close_if_unusable_or_obsolete()

    def is_usable(self) -> bool:
        """Return whether the server is there.

        A server that ends a connection says so. A silent one is asked once a second.
        """
        now = time.monotonic()
        if now < self._asked_at + ASKED_FOR_S and self._is_silent():
            return True
        usable = bool(super().is_usable())
        self._asked_at = now if usable else 0.0
        return usable

    def _is_silent(self) -> bool:
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def prepared_cursor(self) -> Any:
        """Return the cursor for queries that differ in nothing but their values.

        It keeps what it learnt about types; its last result is gone once it is used again.
        """
        name = PREPARED if "prepare_threshold" in self.settings_dict["OPTIONS"] else None
        return self._cursor(name)  # type: ignore[attr-defined]

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor of the driver."""
        return self._prepared_cursor if name is PREPARED else super().create_cursor(name)
