"""Waiting for what another thread or process is about to do."""

import time
from collections.abc import Callable


def eventually(true: Callable[[], bool], seconds: float = 180.0) -> None:
    """Return when the condition holds; fail if it does not in time.

    Checks of the condition take a quarter of the time at most: the awaited program needs the rest.
    """
    end = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if true():
            return
        now = time.monotonic()
        assert now < end, "it did not happen in time"
        time.sleep(min(max(0.01, 3 * (now - begun)), 0.2))
