"""Compute slices under leases; retry slices and rescue lost ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from celery import Task, current_app
from django.conf import settings
from django.db import OperationalError, transaction
from django.utils import timezone

from jobs import leases
from jobs.models import SliceLease
from jobs.queue import LOST_LIMIT, list_active_calls, publish
from modelserver.wire.errors import DeadlineExceeded, Unavailable

WAITS = (2, 5, 10, 20, 30)  # seconds between tries; the last repeats
TRIES = 120  # about an hour without a model server
SLOW_TRIES = 3  # of a slice that took longer than its deadline
# Counts in the headers of a message, because headers go with the task to its next try.
SLOW = "slow_tries"
TAKEOVERS = "takeovers"


def attempt(
    task: Task[Any, Any], compute: Callable[[], object], *, give_up: Callable[[str], object] | None = None
) -> None:
    """Compute a slice, and retry the task if server or database is away.

    Args:
        task: The running task.
        compute: Computes the slice.
        give_up: Called with a message after the last try, or if the slice has ended too many workers;
            without it the last error is raised, and such a slice is left to those who wait for it.
    """
    takeovers = int((task.request.headers or {}).get(TAKEOVERS, 0))
    if takeovers > LOST_LIMIT:
        if give_up is not None:
            give_up(f"given up: a slice ended its worker {takeovers} times")
        return
    try:
        with _lease(task, takeovers):
            compute()
    except (Unavailable, OperationalError) as error:
        if _may_retry(task, error):
            pause = WAITS[min(task.request.retries, len(WAITS) - 1)]
            raise task.retry(exc=error, countdown=pause) from error
        if give_up is None:
            raise
        give_up(f"given up after {task.request.retries + 1} tries: {error}")


def take_over_lost() -> int:
    """Enqueue the slices of workers that are gone; return their number.

    They go to the queue of the upkeep, so that they do not wait behind the rest of their run.

    Raises:
        NoBroker: The queue cannot be reached.
    """
    recent = leases.compute_recent_range(timezone.now())
    rows = SliceLease.objects.exclude(begun_at__range=recent).order_by("pk")
    silent = [row for row in rows if leases.read_age(row.lease) is None]
    if not silent:
        return 0
    active = list_active_calls()
    return sum(_take_over(row) for row in silent if (row.task, *row.arguments) not in active)


@transaction.atomic
def _take_over(row: SliceLease) -> bool:
    """Enqueue a slice again, unless it ended or another sweep did that."""
    if not SliceLease.objects.filter(pk=row.pk).delete()[0]:
        return False
    headers = {TAKEOVERS: row.takeovers + 1}
    publish(current_app.tasks[row.task], [tuple(row.arguments)], headers=headers, queue=settings.UPKEEP)
    return True


@contextmanager
def _lease(task: Task[Any, Any], takeovers: int) -> Iterator[None]:
    """Keep the row and the lease of a slice while it is computed."""
    lease = uuid4()
    leases.take(lease)
    row = SliceLease.objects.create(
        task=task.name, arguments=list(task.request.args or ()), lease=lease, takeovers=takeovers
    )
    try:
        with leases.hold_lease(lease):
            yield
    finally:
        row.delete()


def _may_retry(task: Task[Any, Any], error: Exception) -> bool:
    if isinstance(error, DeadlineExceeded):
        headers = task.request.headers or {}
        slow = int(headers.get(SLOW, 0)) + 1
        if slow > SLOW_TRIES:
            return False
        task.request.headers = headers | {SLOW: slow}
    return task.request.retries < TRIES
