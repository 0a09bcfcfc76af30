"""Values that take long to read are kept for a while.

A page of a small study always shows the state of now. In a large one a value may be as old as 50 times what
it takes to compute it, so that open pages spend at most 2 % of a processor on it.
"""

import time
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

QUICK_SECONDS = 0.25
AGE = 50  # times the seconds that it took
MOST = 32  # values in the memory of a process

Value = TypeVar("Value")
_kept: dict[Hashable, tuple[float, Any]] = {}
_lock = Lock()


def keep_costly(key: Hashable, compute: Callable[[], Value]) -> Value:
    """Return a kept value; compute it, and keep it if that took long."""
    now = time.monotonic()
    until, kept = _kept.get(key, (0.0, None))
    if now < until:
        value: Value = kept
        return value
    value = compute()
    seconds = time.monotonic() - now
    if seconds > QUICK_SECONDS:
        _keep(key, now + seconds * (AGE + 1), value)
    return value


def _keep(key: Hashable, until: float, value: object) -> None:
    with _lock:
        _kept[key] = (until, value)
        while len(_kept) > MOST:
            del _kept[next(iter(_kept))]
