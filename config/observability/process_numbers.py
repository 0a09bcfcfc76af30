"""Small numbers for processes, each of which one living process has.

Files of metrics are named by them. By process ids, each restart would leave files behind, and deleting those
would make counters fall.
"""

import fcntl
import os
from itertools import count
from pathlib import Path


class ProcessNumber:
    """The lowest number that no other living process of a folder has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._of = 0
        self._number = ""

    def __call__(self) -> str:
        """Return the number, a new one after a fork."""
        if self._of != os.getpid():
            self._number = self._take()
            self._of = os.getpid()
        return self._number

    def _take(self) -> str:
        """Lock the first free number; the lock stays open until the process ends."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in count():
            lock = os.open(self._folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return str(number)
        raise AssertionError("unreachable")
