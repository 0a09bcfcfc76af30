"""Leases of jobs and slices: the sign of life of the worker that does one.

A lease is a key of the cache that expires, because a job writes in transactions, whose rows nobody else sees.
The worker renews it in a thread, so that a slow step is not mistaken for a dead worker. The row of the job
names its lease, and a worker with another lease may not finish the job. Slices may be computed twice, so the
row of one only says what to enqueue again.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import Event, Thread
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

RENEWALS = 6  # within the time after which a lease expires


def take(lease: UUID) -> None:
    """Take or renew a lease; without a cache the next renewal does."""
    with suppress(RedisError):
        cache.set(_build_key(lease), time.time(), timeout=settings.JOB_LEASE_SECONDS)


def read_age(lease: UUID | None) -> float | None:
    """Return the seconds since the last renewal; None if it has expired.

    Raises:
        RedisError: The cache cannot be reached.
    """
    renewed: float | None = cache.get(_build_key(lease))
    return None if renewed is None else max(0.0, time.time() - renewed)


def compute_recent_range(moment: datetime) -> tuple[datetime, datetime]:
    """Return the range of beginnings too recent for an expired lease.

    A lease that could not be taken at once is younger than that. Beginnings after ``moment`` date from before
    the clock was set back, so they are not in the range.
    """
    return moment - timedelta(seconds=settings.JOB_LEASE_SECONDS), moment


@contextmanager
def hold_lease(lease: UUID) -> Iterator[None]:
    """Renew a lease until the work ends."""
    ended = Event()

    def renew() -> None:
        while not ended.wait(settings.JOB_LEASE_SECONDS / RENEWALS):
            take(lease)

    thread = Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with suppress(RedisError):  # then it expires
            cache.delete(_build_key(lease))


def _build_key(lease: UUID | None) -> str:
    return f"job-lease-{lease}"
