"""The work that Celery hands to workers: slices of prediction runs and of their reduced inputs.

A slice computes what is missing in a range of keys, so any worker may run it, twice does no harm, and a
lost one only waits until somebody enqueues what is missing again.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from celery import Task, current_app, shared_task
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone
from kombu.exceptions import ChannelError
from kombu.exceptions import OperationalError as BrokerError

from modelserver.errors import DeadlineExceeded, Unavailable
from studyapp.actions.predictions import compute_slice, fail_run, finish_run, record_sweep
from studyapp.actions.privacy import apply_retention
from studyapp.actions.scores import compute_reductions
from studyapp.actions.sizes import run_plan
from studyapp.errors import NoBroker
from studyapp.models import PredictionRun, SizePlan
from studyapp.queries.predictions import Slice, missing_sizes, slices, stalled_runs, sweeps

SLICE_TOKENS = 32_768  # about 20 questions of HotpotQA: enough for a batch, and seconds to lose
SLICE = 128  # questions or predictions at most, however short they are
LOST_LIMIT = 3  # a slice that never comes back breaks its worker; enqueueing it for ever would hide that

WAITS = (2, 5, 10, 20, 30)  # seconds between tries; the last repeats
TRIES = 120  # about an hour of a model server that is away
SLOW_TRIES = 3  # of a slice that took longer than its deadline


@shared_task(bind=True, max_retries=None)
def predict_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Predict the questions ``first`` to ``last`` of a run, as far as they are missing."""
    try:
        compute_slice(run_id=run_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not _may_try_again(self, error):
            fail_run(run_id=run_id, error=f"given up after {self.request.retries + 1} tries: {error}")
            return
        raise self.retry(exc=error, countdown=_wait(self)) from error


@shared_task(bind=True, max_retries=None)
def reduce_slice(self: Task[Any, Any], run_id: int, first: int, last: int) -> None:
    """Answer the reduced inputs of the predictions ``first`` to ``last`` of a run, as far as unanswered."""
    try:
        compute_reductions(run_id=run_id, first=first, last=last)
    except (Unavailable, OperationalError) as error:
        if not _may_try_again(self, error):
            raise
        raise self.retry(exc=error, countdown=_wait(self)) from error


@shared_task
def keep_promises() -> None:
    """Delete or anonymise whose retention is over. Doing it twice on a day finds nobody the second time."""
    apply_retention(today=timezone.now().date())


def _may_try_again(task: Task[Any, Any], error: Exception) -> bool:
    return task.request.retries < (SLOW_TRIES if isinstance(error, DeadlineExceeded) else TRIES)


def _wait(task: Task[Any, Any]) -> int:
    return WAITS[min(task.request.retries, len(WAITS) - 1)]


def enqueue_missing(run: PredictionRun, *, size: int = SLICE) -> int:
    """Enqueue slices for what a run lacks and return their number; with none the run is finished.

    A slice holds about SLICE_TOKENS tokens and at most ``size`` questions. Also what brings back slices that
    were lost. Raises NoBroker.
    """
    parts = slices(missing_sizes(run), tokens=SLICE_TOKENS, most=size)
    _publish(predict_slice, [(run.pk, *part) for part in parts])
    if not parts:
        finish_run(run_id=run.pk)
    return len(parts)


def enqueue_reductions(run: PredictionRun, parts: Sequence[Slice]) -> int:
    """Enqueue slices of predictions whose reduced inputs lack answers; return their number.

    Raises NoBroker.
    """
    _publish(reduce_slice, [(run.pk, *part) for part in parts])
    return len(parts)


@shared_task(ignore_result=True)
def compute_size_plan(plan_id: int) -> None:
    """Simulate the sample size of a plan."""
    run_plan(plan_id=plan_id)


def enqueue_size_plan(plan: SizePlan) -> None:
    """Hand a simulation to a worker. Raises NoBroker."""
    _publish(compute_size_plan, [(plan.pk,)])


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


def _publish(task: Task[Any, Any], calls: Iterable[tuple[int, ...]]) -> None:
    try:
        for arguments in calls:
            # Without a retry: a broker that is away is told at once instead of after a silent wait.
            task.apply_async(arguments, retry=False, ignore_result=True)
    except BrokerError as error:
        raise _no_broker(error) from error


def workers() -> list[str]:
    """The names of the workers that answer within a second. Raises NoBroker."""
    try:
        return [name for reply in current_app.control.ping(timeout=1.0) or [] for name in reply]
    except BrokerError as error:
        raise _no_broker(error) from error


def under_way(task: Task[Any, Any], run_id: int, names: list[str]) -> bool:
    """Whether slices of a run wait in the queue or are held by one of these workers. Raises NoBroker.

    Work of another run in the queue counts too: slices behind it are not lost.
    """
    try:
        if _queued():
            return True
        inspect = current_app.control.inspect(names, timeout=5.0)
        held = [inspect.active(), inspect.reserved(), inspect.scheduled()]
    except BrokerError as error:
        raise _no_broker(error) from error
    entries: list[Any] = [entry for replies in held for each in (replies or {}).values() for entry in each]
    requests = [entry.get("request", entry) for entry in entries]
    return any(one["name"] == task.name and list(one["args"])[:1] == [run_id] for one in requests)


def _queued() -> int:
    with current_app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        try:
            return int(channel.queue_declare(current_app.conf.task_default_queue, passive=True).message_count)
        except ChannelError:
            return 0  # an empty queue does not exist


def _no_broker(error: Exception) -> NoBroker:
    where = current_app.connection_for_write().as_uri()  # without its password
    return NoBroker(f"the work queue at {where} cannot be reached ({error}); start the broker")
