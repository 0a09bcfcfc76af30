"""Batch items of many requests dynamically and run them in model threads.

Nothing waits for a batch to fill: while a thread computes, requests gather, and what has gathered is the
next batch. The oldest item always goes first, and only items of similar cost join it. Therefore neither
long nor rare items starve, and little of a batch is padding.
"""

from __future__ import annotations

import asyncio
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from modelserver.inputs.packing import BatchLimits, find_companions
from modelserver.systems.base import describe_error
from modelserver.systems.predict_each import log_failure, predict_each, report_item_error
from modelserver.wire.errors import (
    BudgetSpent,
    InvalidRequest,
    LoadFailed,
    ModelServerError,
    Overloaded,
    TooLarge,
    Unavailable,
)
from modelserver.wire.schema import ItemError, ModuleItem, find_text_problem
from modelserver.wire.system_protocol import Asked, BatchTask, Outcome, Served, queue_key_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
Call = tuple[asyncio.Future[Any], Callable[[], Any]]


def check_each(
    system: Served, items: Sequence[Asked], most_tokens: int
) -> list[tuple[ItemError | None, int]]:
    """Return each item's error, or None if it can be predicted, and its cost."""
    return [_check_item(system, item, most_tokens) for item in items]


def _check_item(system: Any, item: Asked, most_tokens: int) -> tuple[ItemError | None, int]:
    if problem := find_text_problem(item):
        return ItemError(id=item.id, error="invalid_item", message=problem), 0
    try:
        system.check(item)
        cost = system.cost(item)
    except InvalidRequest as error:
        where = f"{error.field}: " if error.field else ""
        return ItemError(id=item.id, error="invalid_item", message=f"{where}{error}"), 0
    except Exception as error:  # the edge of the server: a system may be anybody's code
        log_failure("check_failed", error, system=system.name)
        message = f"{system.name} could not check the item: {describe_error(error)}"
        return ItemError(id=item.id, error="prediction_failed", message=message), 0
    if cost > most_tokens:
        where = "passage" if isinstance(item, ModuleItem) else "context"
        message = f"{where}: the item has {cost} tokens; at most {most_tokens} are taken"
        return ItemError(id=item.id, error="invalid_item", message=message), 0
    return None, cost


_thread = threading.local()


def get_thread_number() -> int:
    """Return the number of this model thread, from 0; 0 in any other thread."""
    return getattr(_thread, "number", 0)


class ModelThreads:
    """The threads that run systems.

    Daemons, unlike those of an executor: a system that hangs must not keep the process from ending.
    """

    def __init__(self, count: int = 1, name: str = "model") -> None:
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name=f"{name}-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        return len(self._threads)

    @property
    def alive(self) -> bool:
        """Return True while all threads run."""
        return all(thread.is_alive() for thread in self._threads)

    async def call(self, function: Callable[[], T]) -> T:
        """Run a function in the next free thread and return its result."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls.put((future, function))
        return await future

    def stop(self, *, within: float = 0.0) -> bool:
        """End the threads after the calls already queued.

        Returns:
            False if that takes more than ``within`` seconds.
        """
        for _ in self._threads:
            self._calls.put(None)
        end = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self, number: int) -> None:
        _thread.number = number
        while (call := self._calls.get()) is not None:
            _carry_out(*call)
            del call  # or an unloaded system would stay in memory until the next call


def _carry_out(future: asyncio.Future[Any], function: Callable[[], Any]) -> None:
    result, error = None, None
    try:
        result = function()
    except Exception as caught:  # carried over to the caller
        error = caught
    except BaseException as caught:  # such as SystemExit: other systems need the thread
        error = RuntimeError(describe_error(caught))
    with suppress(RuntimeError):  # the loop is closed, so no caller waits
        future.get_loop().call_soon_threadsafe(_settle, future, result, error)


def _settle(future: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class QueuedRequest:
    """The items of one request on their way through the queue.

    ``done`` is set with the last outcome.
    """

    def __init__(self, system: BatchTask, outcomes: Sequence[Outcome | None], request_id: str) -> None:
        self.system = system
        self.queue_key = queue_key_of(system)
        self.request_id = request_id
        self._outcomes = list(outcomes)
        self._missing = sum(outcome is None for outcome in outcomes)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self._missing:
            self.done.set_result(None)

    def settle(self, position: int, outcome: Outcome) -> None:
        """Store the outcome of one item."""
        self._outcomes[position] = outcome
        self._missing -= 1
        if not self._missing and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: ModelServerError) -> None:
        """Answer the whole request with an error."""
        if not self.done.done():
            self.done.set_exception(error)

    def outcomes(self) -> list[Outcome]:
        """Return one outcome per item, in request order; only once ``done``.

        Raises Unavailable when the system was, or when the server gave the request up.
        """
        self.done.result()
        return [outcome for outcome in self._outcomes if outcome is not None]


@dataclass(eq=False, slots=True)
class Job:
    """One item in the queue."""

    request: QueuedRequest
    position: int
    item: Asked
    cost: int
    since: float


@dataclass(frozen=True)
class BatchReport:
    """One batch for metrics and logs, with times in seconds."""

    system: str
    items: int
    failed: int
    padded_tokens: int
    tokens: int
    waited: float
    seconds: float
    request_ids: tuple[str, ...]


class Batcher:
    """Queue jobs by system and feed them to the model threads in batches.

    The oldest job goes first. All methods run in the event loop; only systems run in the threads.
    """

    def __init__(
        self,
        threads: ModelThreads,
        limits: BatchLimits,
        report: Callable[[BatchReport], None] = lambda _: None,
    ) -> None:
        self._threads = threads
        self._limits = limits
        self._report = report
        # A queue for each system and task. It is a dict, because that keeps the order of its keys and
        # removes a job from the middle at once.
        self._queues: dict[str, dict[Job, None]] = {}
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._running: list[list[Job]] = []
        self._seconds_per_token = 0.0

    @property
    def waiting(self) -> int:
        """The number of queued items, not counting those being computed."""
        return sum(map(len, self._queues.values()))

    def is_computing(self, system: str) -> bool:
        """Return True while a batch of this system runs, even if unwanted by now."""
        return any(batch[0].request.system.name == system for batch in self._running)

    def submit(self, request: QueuedRequest, jobs: Sequence[tuple[int, Asked, int]]) -> None:
        """Queue all jobs ``(position, item, cost)`` of a request, or none.

        Raises TooLarge when they could never fit into the queue and Overloaded when they do not now.
        """
        if len(jobs) > self._limits.queue:
            raise TooLarge(f"{len(jobs)} items exceed the queue of {self._limits.queue}", field="items")
        if self.waiting + len(jobs) > self._limits.queue:
            message = f"the queue holds {self.waiting} of {self._limits.queue} items"
            raise Overloaded(message, retry_after=self.estimate_wait())
        if not jobs:
            return
        job_queue = self._queues.setdefault(request.queue_key, {})
        now = time.monotonic()
        job_queue.update((Job(request, position, item, cost, now), None) for position, item, cost in jobs)
        self._idle.clear()
        self._arrived.set()

    def withdraw(self, request: QueuedRequest) -> None:
        """Drop the queued jobs of a request that nobody waits for."""
        job_queue = self._queues.get(request.queue_key, {})
        for job in [job for job in job_queue if job.request is request]:
            del job_queue[job]

    def estimate_wait(self) -> float:
        """Return the seconds until the queue is empty, rounded up, 1 to 60."""
        tokens = sum(job.cost for job_queue in self._queues.values() for job in job_queue)
        seconds = tokens * self._seconds_per_token / len(self._threads)
        return float(min(60, max(1, math.ceil(seconds))))

    async def run(self) -> None:
        """Work batches off in all threads until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(len(self._threads)):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            while not self.waiting:
                if not self._running:
                    self._idle.set()
                self._arrived.clear()
                await self._arrived.wait()
            await self._compute(self._take())

    def abandon(self) -> None:
        """Answer Unavailable to all unfinished requests, because the process ends."""
        unfinished = {job.request for jobs in (*self._queues.values(), *self._running) for job in jobs}
        self._queues.clear()
        for request in unfinished:
            request.fail(Unavailable("the server shut down before it could answer"))

    async def wait_until_drained(self) -> None:
        """Return once nothing is queued or being computed."""
        await self._idle.wait()

    def _take(self) -> list[Job]:
        """Remove and return the next batch, of the system with the oldest job."""
        queues = (job_queue for job_queue in self._queues.values() if job_queue)
        job_queue = min(queues, key=lambda jobs: next(iter(jobs)).since)
        queued = list(job_queue)
        free = len(self._threads) - len(self._running)
        share = max(self._limits.spread_from, math.ceil(len(queued) / free))
        limits = replace(self._limits, items=min(self._limits.items, share))
        batch = [queued[position] for position in find_companions([job.cost for job in queued], limits)]
        for job in batch:
            del job_queue[job]
        return batch

    async def _compute(self, batch: list[Job]) -> None:
        self._running.append(batch)
        system, items = batch[0].request.system, [job.item for job in batch]
        started = time.monotonic()
        outcomes: Sequence[Outcome] = ()
        try:
            outcomes = await self._threads.call(lambda: predict_each(system, items))
        except (Unavailable, LoadFailed, BudgetSpent) as error:
            for request in {job.request for job in batch}:
                self.withdraw(request)
                request.fail(error)
        except Exception as error:  # the edge of the server: no batch may end the work on all others
            outcomes = [report_item_error(system, item, error) for item in items]
        seconds = time.monotonic() - started
        for job, outcome in zip(batch, outcomes, strict=False):  # none, when the system was away
            job.request.settle(job.position, outcome)
        self._running.remove(batch)
        self._account(batch, outcomes, started, seconds)

    def _account(self, batch: list[Job], outcomes: Sequence[Outcome], started: float, seconds: float) -> None:
        tokens = sum(job.cost for job in batch)
        latest = seconds / max(1, tokens)
        self._seconds_per_token = (
            0.8 * self._seconds_per_token + 0.2 * latest if self._seconds_per_token else latest
        )
        self._report(
            BatchReport(
                system=batch[0].request.system.name,
                items=len(batch),
                failed=len(batch) - sum(not isinstance(outcome, ItemError) for outcome in outcomes),
                padded_tokens=len(batch) * max(job.cost for job in batch),
                tokens=tokens,
                waited=started - min(job.since for job in batch),
                seconds=seconds,
                request_ids=tuple(dict.fromkeys(job.request.request_id for job in batch)),
            )
        )
