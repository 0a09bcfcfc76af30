"""A schedule of the beat that no clock set forward or back holds up."""

import time
from datetime import UTC, datetime, timedelta

from celery.schedules import schedule

_BEGUN, _SINCE = datetime.now(tz=UTC), time.monotonic()


def schedule_every(seconds: float) -> schedule:
    """Return a schedule that counts the seconds since the program began.

    By the clock of the machine, a beat that ran a task while the clock was a day ahead would wait for a day
    once the clock is right again.
    """
    return schedule(seconds, nowfun=_read_steady_clock)


def _read_steady_clock() -> datetime:
    return _BEGUN + timedelta(seconds=time.monotonic() - _SINCE)
