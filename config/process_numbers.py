"""Small numbers for processes, each of which one living process has.

Files of metrics are named by them. By process ids, each restart would leave files behind, and deleting those
would make counters fall.
"""

import fcntl
import os
from itertools import count
from pathlib import Path
from typing import IO


class ProcessNumber:
    """The lowest number that no other living process of a folder has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._of = 0
        self._number = ""
        self._lock: IO[str] | None = None

    def __call__(self) -> str:
        """Return the number, a new one after a fork."""
        if self._of != os.getpid():
            # The lock of the parent stays open here: closing it is harmless, unlocking it is not.
            self._number, self._lock = self._take()
            self._of = os.getpid()
        return self._number

    def _take(self) -> tuple[str, IO[str]]:
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in count():
            lock = (self._folder / f"{number}.lock").open("w", encoding="ascii")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            return str(number), lock
        raise AssertionError("unreachable")
