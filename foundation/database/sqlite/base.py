"""A database backend: Django's for SQLite, with its placeholders kept.

Django writes ``%s`` for a value where SQLite expects ``?``, and looks for them with a regular expression each
time a query runs. For a query of a page that takes longer than most other steps (docs/adr/0010).
"""

from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to SQLite that converts each text of a query once."""

    def prepared_cursor(self) -> Any:
        """Return a cursor; SQLite's driver keeps the statements of all."""
        return self.cursor()

    def create_cursor(self, name: str | None = None) -> "_Cursor":
        """Return a new cursor."""
        return self.connection.cursor(factory=_Cursor)


class _Cursor(base.SQLiteCursorWrapper):
    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        if param_names is None:
            return _convert_placeholders(query)
        return super().convert_query(query, param_names=param_names)


@lru_cache(maxsize=512)
def _convert_placeholders(query: str) -> str:
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")
