"""Waiting for slices: progress from the database, what holds it up, and slices that were lost."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from celery import Task

from foundation.errors import NoBroker, RunFailed
from jobs.model_gateway import served_system, server_problem
from jobs.progress_bar import Bar
from jobs.queue import under_way, workers
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import SystemInfo, SystemKind

POLL_SECONDS = 0.3
STALL_SECONDS = 5.0
LOST_LIMIT = 3  # a slice that never comes back breaks its worker; enqueueing it for ever would hide that

WORKER_COMMAND = "celery -A config worker"


@dataclass(frozen=True)
class Job:
    """Slices of one run: how many units are done, whether all are, and how to enqueue what is missing.

    ``finished`` is told what ``done`` gave, and raises RunFailed when the run has ended otherwise.
    """

    run_id: int
    task: Task[Any, Any]
    done: Callable[[], int]
    finished: Callable[[int], bool]
    enqueue: Callable[[], int]


def wait_for_system(name: str, bar: Bar, *, kind: SystemKind = "reader", patient: bool) -> SystemInfo:
    """What the server says about a system; with ``patient`` wait until it answers, saying why once.

    Raises what `served_system` raises, without ``patient`` Unavailable too.
    """
    said = ""
    while True:
        try:
            return served_system(name, kind)
        except Unavailable as error:
            if not patient:
                raise
            if str(error) != said:
                said = str(error)
                bar.say(f"Waiting for the model server: {error}.")
        time.sleep(POLL_SECONDS)


def wait(job: Job, bar: Bar) -> None:
    """Return when the job is finished. Says once what it waits for; never gives up on a server or worker.

    Raises RunFailed when the run fails, or when slices get lost again and again.
    """
    done, lost, said = -1, 0, ""
    looked = time.monotonic()
    while not job.finished(now := job.done()):
        bar.at(now)
        if now != done:
            done, lost, said = now, 0, ""
            looked = time.monotonic()
        elif time.monotonic() - looked > STALL_SECONDS:
            try:
                names = workers()
                problem = _problem(names)
                if problem is None and not under_way(job.task, job.run_id, names):
                    lost += not job.finished(job.done())  # the last slice may have ended meanwhile
                    problem = _bring_back(job, lost)
            except NoBroker as error:
                problem = f"Waiting: {error}."
            if problem and problem != said:
                bar.say(problem)
            said = problem or said
            looked = time.monotonic()
        time.sleep(POLL_SECONDS)


def _problem(names: list[str]) -> str | None:
    """What the job waits for, as a sentence; None when worker and server are there."""
    if not names:
        return f"Waiting: no worker answers. Start one with: {WORKER_COMMAND}"
    unavailable = server_problem()
    return f"Waiting. {unavailable}" if unavailable else None


def _bring_back(job: Job, times: int) -> str | None:
    if times > LOST_LIMIT:
        raise RunFailed(
            f"slices were enqueued {LOST_LIMIT} times and never came back; the log of the worker says why"
        )
    number = job.enqueue()
    return f"{number} slices were lost with their worker and are enqueued again." if number else None
