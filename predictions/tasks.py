"""The work that Celery hands to workers: slices of prediction runs, their reduced inputs, and probes.

A slice computes what is missing in a range of keys, so any worker may run it, twice does no harm, and a
lost one only waits until somebody enqueues what is missing again.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from celery import Task, shared_task
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from jobs.progress import LOST_LIMIT
from jobs.queue import may_try_again, pause, publish, under_way, workers
from modelserver.wire.errors import Unavailable
from predictions.actions.predictions import compute_slice, fail_run, finish_run, record_sweep
from predictions.actions.reading import compute_records
from predictions.actions.saliency import compute_weights
from predictions.actions.scores import compute_reductions
from predictions.models import PredictionRun, ReadingProbe
from predictions.queries.predictions import Slice, missing_sizes, slices, stalled_runs, sweeps
from predictions.queries.reading import pending_slices
from predictions.queries.saliency import weight_slices

SLICE_TOKENS = 32_768  # about 20 questions of HotpotQA: enough for a batch, and seconds to lose
PROBE_TOKENS = (
    131_072  # in all passes that saliency takes: seconds of a small system, a minute of a large one
)
SLICE = 128  # questions or predictions at most, however short they are


@shared_task(bind=True, max_retries=None)
def predict_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Predict the questions ``first`` to ``last`` of a run, as far as they are missing."""
    try:
        compute_slice(run_id=run_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not may_try_again(self, error):
            fail_run(run_id=run_id, error=f"given up after {self.request.retries + 1} tries: {error}")
            return
        raise self.retry(exc=error, countdown=pause(self)) from error


@shared_task(bind=True, max_retries=None)
def reduce_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Answer the reduced inputs of the predictions ``first`` to ``last`` of a run, as far as unanswered."""
    try:
        compute_reductions(run_id=run_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not may_try_again(self, error):
            raise
        raise self.retry(exc=error, countdown=pause(self)) from error


@shared_task(bind=True, max_retries=None)
def read_slice(self: Task[Any, Any], probe_id: int, first: int, last: int) -> None:
    """Compute the records ``first`` to ``last`` of a reading probe, as far as they are missing."""
    try:
        compute_records(probe_id=probe_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not may_try_again(self, error):
            raise
        raise self.retry(exc=error, countdown=pause(self)) from error


@shared_task(bind=True, max_retries=None)
def weigh_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Compute the weights of the predictions ``first`` to ``last`` of a run, as far as they are missing."""
    try:
        compute_weights(run_id=run_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not may_try_again(self, error):
            raise
        raise self.retry(exc=error, countdown=pause(self)) from error


def enqueue_missing(run: PredictionRun, *, size: int = SLICE) -> int:
    """Enqueue slices for what a run lacks and return their number; with none the run is finished.

    A slice holds about SLICE_TOKENS tokens and at most ``size`` questions. Also what brings back slices that
    were lost. Raises NoBroker.
    """
    parts = slices(missing_sizes(run), tokens=SLICE_TOKENS, most=size)
    publish(predict_slice, [(run.pk, *part) for part in parts])
    if not parts:
        finish_run(run_id=run.pk)
    return len(parts)


def enqueue_reductions(run: PredictionRun, parts: Sequence[Slice]) -> int:
    """Enqueue slices of predictions whose reduced inputs lack answers; return their number.

    Raises NoBroker.
    """
    publish(reduce_slice, [(run.pk, *part) for part in parts])
    return len(parts)


def enqueue_records(probe: ReadingProbe, *, size: int = SLICE) -> int:
    """Enqueue slices for what a reading probe lacks and return their number. Raises NoBroker."""
    parts = pending_slices(probe, tokens=PROBE_TOKENS, most=size)
    publish(read_slice, [(probe.pk, *part) for part in parts])
    return len(parts)


def enqueue_weights(run: PredictionRun, *, size: int = SLICE) -> int:
    """Enqueue slices of predictions that lack weights and return their number. Raises NoBroker."""
    parts = weight_slices(run, tokens=PROBE_TOKENS, most=size)
    publish(weigh_slice, [(run.pk, *part) for part in parts])
    return len(parts)


@shared_task(ignore_result=True)
def sweep_runs() -> None:
    """Enqueue again what runs lack that stand still and of which nothing waits or is being computed.

    For runs that nobody waits for: slices get lost when their worker is killed by its time limit or together
    with the broker. Called by Celery's beat. A run whose slices get lost again and again fails.
    """
    before = timezone.now() - timedelta(seconds=settings.RUN_SWEEP_SECONDS)
    for run in stalled_runs(before):
        if under_way(predict_slice, run.pk, workers()):
            continue
        if sweeps(run) >= LOST_LIMIT:
            fail_run(
                run_id=run.pk, error=f"slices were enqueued again {LOST_LIMIT} times and never came back"
            )
        elif parts := enqueue_missing(run):
            record_sweep(run=run, slices=parts)
