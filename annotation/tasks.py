"""The work of the annotation app that Celery hands to workers: telling webhooks, executing programs.

The rows are the job: a lost message only delays it until the next sweep. Each webhook has a task of its own,
so that an address which does not answer keeps nobody else waiting. A slice of a run does what is missing in a
range of keys.
"""

from datetime import timedelta
from typing import Any

import httpx
from celery import Task, shared_task
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from annotation.actions.runs import compute_slice, fail_run, finish_run, record_sweep
from annotation.actions.webhooks import TIMEOUT, deliver
from annotation.models import OutputRun
from annotation.queries.deliveries import due_deliveries, due_webhooks
from annotation.queries.runs import missing, slices, stalled_runs
from jobs.progress import LOST_LIMIT
from jobs.queue import may_try_again, pause, publish, under_way, workers
from modelserver.wire.errors import Unavailable

SLICE = 16  # items: a batch of pictures, and seconds to lose

MOST = 100  # deliveries of a webhook at a time; what is left comes with the next sweep


@shared_task(ignore_result=True)
def deliver_webhooks() -> None:
    """Have every webhook told what is due. Called by Celery's beat."""
    for webhook in due_webhooks():
        deliver_to.apply_async((webhook,), retry=False)


@shared_task(ignore_result=True)
def deliver_to(webhook: int) -> None:
    """Tell one webhook what is due, until it fails: an address that is away is not tried a hundred times."""
    # No proxy of the environment: what was checked is where the connection goes.
    with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
        for delivery in due_deliveries(webhook, MOST):
            if not deliver(delivery=delivery, client=client):
                break


@shared_task(bind=True, max_retries=None)
def execute_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Have the programs of the items ``first`` to ``last`` executed, as far as a run lacks them."""
    try:
        compute_slice(run_id=run_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not may_try_again(self, error):
            fail_run(run_id=run_id, error=f"given up after {self.request.retries + 1} tries: {error}")
            return
        raise self.retry(exc=error, countdown=pause(self)) from error


def enqueue_missing(run: OutputRun, *, size: int = SLICE) -> int:
    """Enqueue slices for what a run lacks and return their number; with none the run is finished.

    Also what brings back slices that were lost. Raises NoBroker.
    """
    parts = slices(missing(run).order_by("pk").values_list("pk", flat=True).iterator(), size)
    publish(execute_slice, [(run.pk, *part) for part in parts])
    if not parts:
        finish_run(run_id=run.pk)
    return len(parts)


@shared_task(ignore_result=True)
def sweep_output_runs() -> None:
    """Enqueue again what runs lack that stand still and of which nothing waits or is being computed.

    Called by Celery's beat. A run whose slices get lost again and again fails.
    """
    before = timezone.now() - timedelta(seconds=settings.RUN_SWEEP_SECONDS)
    for run in stalled_runs(before):
        if under_way(execute_slice, run.pk, workers()):
            continue
        if run.sweeps >= LOST_LIMIT:
            fail_run(
                run_id=run.pk, error=f"slices were enqueued again {LOST_LIMIT} times and never came back"
            )
        elif enqueue_missing(run):
            record_sweep(run=run)
