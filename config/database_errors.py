"""Errors of a database that does not answer now, and how they are logged."""

import logging
import time

from django.db import InterfaceError, OperationalError

# SQLite calls more than these OperationalError: a table that is not there is a mistake of ours.
_SQLITE = ("locked", "busy", "unable to open", "disk i/o error", "readonly", "disk is full")


def is_unavailable(error: BaseException | None) -> bool:
    """Return True if the same request may succeed when the database is back."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    if type(error.__cause__).__module__ != "sqlite3":
        return True
    return any(words in str(error).lower() for words in _SQLITE)


class OneLineASecond(logging.Filter):
    """Log a database that is away in one line a second, without tracebacks.

    Every request fails then, and each would write hundreds of lines.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = -1.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten or drop the records of such errors."""
        error = record.exc_info[1] if record.exc_info else None
        if not is_unavailable(error):
            return True
        now = time.monotonic()
        if self._last >= 0 and now - self._last < 1:
            return False
        self._last = now
        reason = " ".join(str(error).split())
        record.msg, record.args = "the database does not answer: %s", (reason,)
        record.exc_info = record.exc_text = None
        return True
