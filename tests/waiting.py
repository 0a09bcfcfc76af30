"""Waiting for what another thread or process is about to do."""

import time
from collections.abc import Callable


def eventually(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Return when the condition holds; fail when it does not within some seconds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
