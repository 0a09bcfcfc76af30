"""Tasks of the annotation app: deliver webhooks and execute programs.

The pending rows are the job: a lost message only delays them until the next sweep. Each webhook has its own
task, so that an address that does not answer delays no other.
"""

from functools import partial
from typing import Any

import httpx
from celery import Task, shared_task

from annotation.actions.runs import RUNS, compute_slice, fail_run, finish_run
from annotation.actions.webhooks import TIMEOUT, deliver
from annotation.models import OutputRun
from annotation.queries.deliveries import due_deliveries, due_webhooks
from annotation.queries.runs import missing
from jobs.queue import attempt, cut_slices, publish

SLICE = 16  # items: a batch of pictures, and seconds to lose

MOST = 100  # deliveries of a webhook at a time; the next sweep takes the rest


@shared_task(ignore_result=True)
def deliver_webhooks() -> None:
    """Start a task for each webhook with due deliveries; called by beat."""
    for webhook in due_webhooks():
        deliver_to.apply_async((webhook,), retry=False)


@shared_task(ignore_result=True)
def deliver_to(webhook: int) -> None:
    """Send the due deliveries of a webhook until one fails."""
    # Without a proxy of the environment, so that the connection goes to the address that was checked.
    with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
        for delivery in due_deliveries(webhook, MOST):
            if not deliver(delivery=delivery, client=client):
                break


@shared_task(bind=True, max_retries=None)
def execute_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Execute the programs of a run's missing items ``first`` to ``last``."""
    attempt(
        self,
        partial(compute_slice, run_id=run_id, first=first, last=last),
        give_up=lambda error: fail_run(run_id=run_id, error=error),
    )


def enqueue_missing(run: OutputRun, *, size: int = SLICE) -> int:
    """Enqueue what a run lacks; finish the run if it lacks nothing.

    It also brings back lost slices.

    Args:
        run: The run.
        size: The most items in a slice.

    Returns:
        The number of slices.

    Raises:
        NoBroker: The queue cannot be reached.
    """
    keys = missing(run).order_by("pk").values_list("pk", flat=True).iterator()
    slices = cut_slices(((key, 0) for key in keys), most=size)
    publish(execute_slice, [(run.pk, *part) for part in slices])
    if not slices:
        finish_run(run_id=run.pk)
    return len(slices)


@shared_task(ignore_result=True)
def sweep_output_runs() -> None:
    """Enqueue the lost slices of stalled runs again. Celery's beat calls it."""
    RUNS.sweep(execute_slice, enqueue_missing)
