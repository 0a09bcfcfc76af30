"""Log files that several processes write and any of them rotates."""

import fcntl
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

# The forms of log lines, each with its formatter.
FORMATS: dict[str, dict[str, str]] = {
    "text": {
        "class": "studyapp.web.log_redaction.RedactingFormatter",
        "format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s",
    },
    "json": {"()": "studyapp.web.log_redaction.JsonLines"},
}


class SharedRotatingFile(RotatingFileHandler):
    """A rotating file for the processes of one machine.

    They take turns by a lock, and follow when another one has rotated; else each would go on in a file of
    its own, and rotate the others' away.
    """

    def __init__(self, filename: str, maxBytes: int, backupCount: int) -> None:  # noqa: N803 (of logging)
        path = Path(filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, maxBytes=maxBytes, backupCount=backupCount, encoding="utf-8", delay=True)
        self._lock_path = path.with_name(f".{path.name}.lock")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, into the file that has the name now."""
        with self._lock_path.open("a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._follow()
            super().emit(record)

    def _follow(self) -> None:
        if self.stream is None:
            return
        ours = os.fstat(self.stream.fileno())
        try:
            named = Path(self.baseFilename).stat()
        except FileNotFoundError:
            named = None
        if named is None or (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino):
            self.stream.close()
            self.stream = None  # opened again by `emit`


def build_logging_settings(level: str, file: str, *, form: str, megabytes: int, kept: int) -> dict[str, Any]:
    """Return Django's LOGGING: lines on stderr, and in a file if one is named."""
    shown = {"formatter": "line", "filters": ["request_id", "database"]}
    handlers: dict[str, dict[str, Any]] = {"stderr": {"class": "logging.StreamHandler", **shown}}
    if file:
        rotated = {"filename": file, "maxBytes": megabytes * 1_000_000, "backupCount": kept}
        handlers["file"] = {"class": "config.observability.log_files.SharedRotatingFile", **rotated, **shown}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": FORMATS[form]},
        "filters": {
            "request_id": {"()": "jobs.request_ids.RequestIdFilter"},
            "database": {"()": "config.database_errors.OneLineASecond"},
        },
        "handlers": handlers,
        "root": {"handlers": list(handlers), "level": level},
        # httpx logs whole addresses, and those of entry links hold tokens.
        "loggers": {"httpx": {"level": "WARNING"}},
    }
