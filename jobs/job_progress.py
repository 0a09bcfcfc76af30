"""The progress of jobs, and wishes to cancel them, in the cache.

Jobs write inside transactions, whose rows nobody else sees before they end; on SQLite nobody else can write
any meanwhile. Without a cache a job shows no progress, and works all the same.
"""

from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

KEPT_SECONDS = 3600


def note_progress(job_id: int, done: int, total: int | None) -> None:
    """Note the progress of a job; ``total`` is None while it is unknown."""
    with suppress(RedisError):
        cache.set(_build_progress_key(job_id), (done, total), timeout=KEPT_SECONDS)


def read_progress(job_id: int) -> tuple[int, int | None]:
    """Return the progress of a job: done, and the total if it is known."""
    try:
        noted: tuple[int, int | None] | None = cache.get(_build_progress_key(job_id))
    except RedisError:
        noted = None
    return noted or (0, None)


def ask_to_cancel(job_id: int) -> None:
    """Ask the worker of a job to give it up."""
    with suppress(RedisError):
        cache.set(_build_cancel_key(job_id), True, timeout=KEPT_SECONDS)


def is_asked_to_cancel(job_id: int) -> bool:
    """Return True if somebody has asked so."""
    try:
        return bool(cache.get(_build_cancel_key(job_id)))
    except RedisError:
        return False


def _build_cancel_key(job_id: int) -> str:
    return f"job-cancel-{job_id}"


def _build_progress_key(job_id: int) -> str:
    return f"job-progress-{job_id}"
