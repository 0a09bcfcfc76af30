"""Tasks of the annotation app: execute programs.

The pending rows are the job: a lost message only delays them until the next sweep.
"""

from functools import partial
from typing import Any

from celery import Task, shared_task

from annotation.actions.runs import RUNS, compute_slice, fail_run, finish_run
from annotation.models import OutputRun
from annotation.queries.runs import missing
from jobs.actions.slices import attempt
from jobs.queue import cut_slices, publish

SLICE = 16  # items: a batch of pictures, and seconds to lose


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
