"""The paid answers of a language model, kept in one file beside its YAML.

An answer is stored under the digest of its request as soon as it has arrived, so that a run that was
killed asks only for what it has not got. Keys are no part of a request's digest and are not stored.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

from modelserver.wire.errors import UnusableSystem
from modelserver.wire.schema import Usage

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (digest TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL
);
INSERT OR IGNORE INTO spent VALUES (1, 0, 0, 0);
"""


class AnswerStore:
    """Answers by digest, and the tokens of all requests so far.

    Threads may share it. Raises UnusableSystem if the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            # Answers may quote the texts that they are about: for its owner alone.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._rows = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
            # A killed process loses nothing with NORMAL; only a power cut may lose the latest answers.
            self._rows.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {_TABLES}")
        except (OSError, sqlite3.Error) as error:
            raise UnusableSystem(f"{path}: answers cannot be kept here: {error}") from error

    def get(self, digest: str) -> str | None:
        """Return the stored answer to a request, or None."""
        with self._lock:
            row = self._rows.execute("SELECT reply FROM answers WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else row[0]

    def put(self, digest: str, reply: str) -> None:
        """Store the answer to a request; the first one stays."""
        with self._lock:
            self._rows.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (digest, reply))

    def spend(self, usage: Usage) -> None:
        """Add the tokens of a request that is paid, or may be."""
        with self._lock:
            self._rows.execute(
                "UPDATE spent SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, "
                "cached_tokens = cached_tokens + ?",
                (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
            )

    def read_usage(self) -> Usage:
        """Return the tokens of all requests so far."""
        with self._lock:
            row = self._rows.execute(
                "SELECT input_tokens, output_tokens, cached_tokens FROM spent"
            ).fetchone()
        return Usage(input_tokens=row[0], output_tokens=row[1], cached_tokens=row[2])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._rows.close()
