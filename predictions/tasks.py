"""Tasks of the workers: slices of runs, reduced inputs and probes.

A slice computes what is missing in a range of keys. Any worker may run it, running it twice does no harm, and
a lost slice only waits until what is missing is enqueued again.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from celery import Task, shared_task

from jobs.actions.slices import attempt
from jobs.queue import Slice, cut_slices, publish
from predictions.actions.predictions import RUNS, compute_slice, fail_run
from predictions.actions.reading import compute_records
from predictions.actions.saliency import compute_weights
from predictions.actions.scores import compute_reductions
from predictions.models import PredictionRun, ReadingProbe
from predictions.queries.predictions import estimate_missing_sizes
from predictions.queries.reading import cut_pending_slices
from predictions.queries.saliency import cut_weight_slices

SLICE_TOKENS = 32_768  # about 20 questions of HotpotQA: enough for a batch, and seconds to lose
# In all passes that saliency takes: seconds of a small system, a minute of a large one.
PROBE_TOKENS = 131_072
SLICE = 128  # questions or predictions at most, however short they are


@shared_task(bind=True, max_retries=None)
def predict_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Predict the missing questions ``first`` to ``last`` of a run."""
    attempt(
        self,
        partial(compute_slice, run_id=run_id, first=first, last=last),
        give_up=lambda error: fail_run(run_id=run_id, error=error),
    )


@shared_task(bind=True, max_retries=None)
def reduce_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Answer the reduced inputs of the predictions ``first`` to ``last``."""
    attempt(self, partial(compute_reductions, run_id=run_id, first=first, last=last))


@shared_task(bind=True, max_retries=None)
def read_slice(self: Task[Any, Any], probe_id: int, first: int, last: int) -> None:
    """Compute the missing records ``first`` to ``last`` of a reading probe."""
    attempt(self, partial(compute_records, probe_id=probe_id, first=first, last=last))


@shared_task(bind=True, max_retries=None)
def weigh_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Compute the missing weights of the predictions ``first`` to ``last``."""
    attempt(self, partial(compute_weights, run_id=run_id, first=first, last=last))


def enqueue_missing(run: PredictionRun, *, size: int = SLICE) -> int:
    """Enqueue what a run lacks, as `RunKind.enqueue`.

    A slice has at most ``size`` questions, and about SLICE_TOKENS tokens.
    """
    slices = cut_slices(estimate_missing_sizes(run), most=size, most_tokens=SLICE_TOKENS)
    return RUNS.enqueue(predict_slice, run, slices)


def enqueue_reductions(run: PredictionRun, slices: Sequence[Slice]) -> int:
    """Enqueue slices of predictions with unanswered reduced inputs."""
    return _publish(reduce_slice, run.pk, slices)


def enqueue_records(probe: ReadingProbe, *, size: int = SLICE) -> int:
    """Enqueue what a reading probe lacks and return the number of slices."""
    return _publish(read_slice, probe.pk, cut_pending_slices(probe, tokens=PROBE_TOKENS, most=size))


def enqueue_weights(run: PredictionRun, *, size: int = SLICE) -> int:
    """Enqueue predictions that lack weights and return the number of slices."""
    return _publish(weigh_slice, run.pk, cut_weight_slices(run, tokens=PROBE_TOKENS, most=size))


@shared_task(ignore_result=True)
def sweep_runs() -> None:
    """Enqueue the lost slices of stalled runs again. Celery's beat calls it."""
    RUNS.sweep(predict_slice, enqueue_missing)


def _publish(task: Task[Any, Any], key: int, slices: Sequence[Slice]) -> int:
    publish(task, [(key, *part) for part in slices])
    return len(slices)
