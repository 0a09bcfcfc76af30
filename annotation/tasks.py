"""Tasks of the annotation app: execute programs.

The pending rows are the job: a lost message only delays them until the next sweep.
"""

from functools import partial
from typing import Any

from celery import Task, shared_task

from annotation.actions.runs import RUNS, compute_slice, fail_run
from annotation.models import OutputRun
from annotation.queries.runs import list_missing_items
from jobs.actions.slices import attempt
from jobs.queue import cut_slices

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
    """Enqueue what a run lacks, in slices of at most ``size`` items."""
    keys = list_missing_items(run).order_by("pk").values_list("pk", flat=True).iterator()
    return RUNS.enqueue(execute_slice, run, cut_slices(((key, 0) for key in keys), most=size))


@shared_task(ignore_result=True)
def sweep_output_runs() -> None:
    """Enqueue the lost slices of stalled runs again. Celery's beat calls it."""
    RUNS.sweep(execute_slice, enqueue_missing)
