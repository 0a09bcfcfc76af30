"""Wait for slices: show progress, the reason of a wait, and lost slices."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from celery import Task

from foundation.errors import NoBroker, RunFailed
from jobs.model_servers.gateway import find_served_system, list_served_names
from jobs.models import SlicedRun
from jobs.progress_bar import Bar
from jobs.queue import LOST_LIMIT, has_pending_slices, list_workers
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import SystemInfo, SystemKind

POLL_SECONDS = 0.3
STALL_SECONDS = 5.0

WORKER_COMMAND = "celery -A config worker"


@dataclass(frozen=True)
class Job:
    """The slices of one run.

    Attributes:
        run_id: The key of the run.
        task: The task that computes a slice.
        count_done: Counts the units that are done.
        is_finished: Returns whether all are done, given that count; raises RunFailed if the run has ended
            otherwise.
        enqueue: Enqueues what is missing and returns the number of slices.
    """

    run_id: int
    task: Task[Any, Any]
    count_done: Callable[[], int]
    is_finished: Callable[[int], bool]
    enqueue: Callable[[], int]


def run_job(
    run: SlicedRun, task: Task[Any, Any], *, count_done: Callable[[], int], enqueue: Callable[[], int]
) -> Job:
    """Return the job of a sliced run; its status says when it is finished."""

    def is_finished(_done: int) -> bool:
        run.refresh_from_db(fields=["status", "error"])
        if run.status in (SlicedRun.Status.FAILED, SlicedRun.Status.PAUSED):
            raise RunFailed(f"{run}: {run.error}")
        if run.status == SlicedRun.Status.CANCELLED:
            raise RunFailed(f"{run}: cancelled")
        return run.status == SlicedRun.Status.DONE

    return Job(run.pk, task, count_done, is_finished, enqueue)


def wait_for_system(name: str, bar: Bar, *, kind: SystemKind = "reader", patient: bool) -> SystemInfo:
    """Return the server's description of a system.

    Args:
        name: The system.
        bar: Shows once why the server does not answer.
        kind: The kind of system that is needed.
        patient: Wait until the server answers, instead of raising Unavailable.

    Raises:
        ModelServerError: As `find_served_system`.
        RunFailed: The system is of the other kind.
    """
    shown = ""
    while True:
        try:
            return find_served_system(name, kind)
        except Unavailable as error:
            if not patient:
                raise
            if str(error) != shown:
                shown = str(error)
                bar.write(f"Waiting for the model server: {error}.")
        time.sleep(POLL_SECONDS)


def wait(job: Job, bar: Bar) -> None:
    """Return when the job is finished; never give up on a server or worker.

    The bar shows each reason of a wait once.

    Raises:
        RunFailed: The run fails, or its slices get lost again and again.
    """
    done, lost, shown = -1, 0, ""
    checked = time.monotonic()
    while not job.is_finished(now := job.count_done()):
        bar.at(now)
        if now != done:
            done, lost, shown = now, 0, ""
            checked = time.monotonic()
        elif time.monotonic() - checked > STALL_SECONDS:
            try:
                names = list_workers()
                problem = _find_problem(names)
                if problem is None and not has_pending_slices(job.task, job.run_id, names):
                    lost += not job.is_finished(job.count_done())  # the last slice may have ended meanwhile
                    problem = _enqueue_again(job, lost)
            except NoBroker as error:
                problem = f"Waiting: {error}."
            if problem and problem != shown:
                bar.write(problem)
            shown = problem or shown
            checked = time.monotonic()
        time.sleep(POLL_SECONDS)


def _find_problem(names: list[str]) -> str | None:
    """Return what the job waits for, or None if worker and server are there."""
    if not names:
        return f"Waiting: no worker answers. Start one with: {WORKER_COMMAND}"
    try:
        list_served_names("reader")
    except Unavailable as error:
        return f"Waiting. The model server does not answer: {error}."
    return None


def _enqueue_again(job: Job, times: int) -> str | None:
    if times > LOST_LIMIT:
        raise RunFailed(
            f"slices were enqueued {LOST_LIMIT} times and never came back; see the log of the worker"
        )
    number = job.enqueue()
    return f"{number} slices were lost with their worker and are enqueued again." if number else None
