"""The model server behind HTTP: limits, checks, queues, drain.

It holds no model code and imports no torch: systems come in as sources, and
``modelserver.serving.model_cache`` loads them.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Literal, TypeVar

from modelserver.inputs.packing import BatchLimits
from modelserver.serving.batching import Batcher, BatchReport, ModelThreads, QueuedRequest, check_each
from modelserver.serving.metrics import Metrics
from modelserver.serving.model_cache import Loader, ModelCache, Source
from modelserver.wire.errors import Overloaded, TooLarge, Unavailable, UnknownSystem
from modelserver.wire.schema import (
    ExecuteRequest,
    ExecuteResponse,
    Execution,
    ExplainRequest,
    ExplainResponse,
    Explanation,
    ItemError,
    ModuleItem,
    PredictRequest,
    PredictResponse,
    QAPrediction,
    SystemInfo,
)
from modelserver.wire.system_protocol import (
    Asked,
    BatchTask,
    ExecuteTask,
    ExplainTask,
    Outcome,
    Served,
    as_reader,
)

T = TypeVar("T")
ItemsRequest = PredictRequest | ExplainRequest | ExecuteRequest
ItemsResponse = PredictResponse | ExplainResponse | ExecuteResponse

# The response to each kind of request, and its field for the outcomes.
RESPONSES: dict[type[ItemsRequest], tuple[type[ItemsResponse], str]] = {
    PredictRequest: (PredictResponse, "predictions"),
    ExplainRequest: (ExplainResponse, "explanations"),
    ExecuteRequest: (ExecuteResponse, "executions"),
}
QUICK_SECONDS = 0.001  # a check that takes no longer is made in the event loop
# The label of a done item in the metrics.
DONE = {QAPrediction: "predicted", Explanation: "explained", Execution: "executed"}
REMOTE_CALLS = 8  # concurrent batches to one remote server


@dataclass(frozen=True)
class ServerLimits:
    """Limits of one request, with times in seconds.

    ``timeout`` is the deadline of a request that names none; ``body_seconds`` bounds the time in which
    its body must arrive.
    """

    body_bytes: int = 32 * 2**20
    body_seconds: float = 60.0
    items: int = 1_024
    timeout: float = 300.0
    longest_timeout: float = 3_600.0
    batch: BatchLimits = field(default_factory=BatchLimits)


class Service:
    """All systems of one server: load, check, queue, answer, drain.

    With ``preload`` every system is loaded once before the first request is accepted; ``memory`` bounds
    the bytes of loaded weights. ``restarts`` returns how often a worker process was restarted.
    """

    def __init__(
        self,
        sources: Mapping[str, Source | Loader],
        *,
        limits: ServerLimits | None = None,
        token: str | None = None,
        threads: int = 1,
        preload: bool = True,
        memory: int | None = None,
        restarts: Callable[[], int] = lambda: 0,
    ) -> None:
        self.limits = limits or ServerLimits()
        self.token = token
        self.state: Literal["starting", "ready", "draining"] = "starting"
        self.metrics = Metrics(
            waiting=lambda: self.waiting,
            loaded_systems=lambda: self.cache.loaded_count,
            loaded_bytes=lambda: self.cache.used_bytes,
            is_ready=lambda: self.state == "ready",
            restarts=restarts,
        )
        self.threads = ModelThreads(threads)
        self.batcher = Batcher(self.threads, self.limits.batch, self._batch_ended)
        every_source = {
            name: source if isinstance(source, Source) else Source(source) for name, source in sources.items()
        }
        self.cache = ModelCache(
            every_source, max_bytes=memory, computing=self._is_computing, report=self.metrics.count_change
        )
        # Each remote system has threads and a queue of its own, because its threads only wait.
        self._remote_batchers = {
            name: Batcher(ModelThreads(REMOTE_CALLS, f"call-{name}"), self.limits.batch, self._batch_ended)
            for name, source in every_source.items()
            if source.is_remote
        }
        self._preload = preload
        self._check_pace: dict[str, float] = {}  # seconds a character, by system
        self._expecting = 0

    @property
    def _batchers(self) -> list[Batcher]:
        return [self.batcher, *self._remote_batchers.values()]

    def _batcher(self, name: str) -> Batcher:
        return self._remote_batchers.get(name, self.batcher)

    @property
    def waiting(self) -> int:
        """Return the number of items that wait in a queue or for their system."""
        return self._expecting + sum(batcher.waiting for batcher in self._batchers)

    async def load(self) -> None:
        """Load and warm the systems that must be ready before the first request.

        Raises LoadFailed.
        """
        if self._preload:
            await self.cache.load_all()
        if self.state == "starting":
            self.state = "ready"

    async def work(self) -> None:
        """Compute batches and load systems until cancelled."""
        async with asyncio.TaskGroup() as group:
            for batcher in self._batchers:
                group.create_task(batcher.run())
            group.create_task(self.cache.run())

    async def drain(self, seconds: float) -> bool:
        """Refuse new work and finish what is queued.

        It also refuses requests that wait for a system to be loaded. If draining takes longer than
        ``seconds``, the rest is answered Unavailable and the result is False.
        """
        self.state = "draining"
        self.cache.close(_make_shutdown_error())
        try:
            async with asyncio.timeout(seconds):
                for batcher in self._batchers:
                    await batcher.wait_until_drained()
        except TimeoutError:
            for batcher in self._batchers:
                batcher.abandon()
            return False
        return True

    def require_ready(self) -> None:
        """Raise Unavailable unless predictions are taken."""
        if self.state == "starting":
            raise Unavailable("the server is loading its systems", retry_after=1)
        if self.state == "draining":
            raise _make_shutdown_error()

    def require(self, name: str) -> str:
        """Return the name of a served system.

        Raises UnknownSystem, which lists the served ones, or Unavailable.
        """
        self.require_ready()
        if name not in self.cache:
            served = ", ".join(self.cache.names)
            raise UnknownSystem(f"no system {name!r} is served; served: {served}", field="system")
        return name

    async def load_and_describe(self, name: str) -> SystemInfo:
        """Load a system if needed and return its description."""
        with self._count_expected(name, items=1):
            await self.cache.acquire(name)
        self.cache.release(name)
        return self.cache.info(name)

    async def answer(self, request: ItemsRequest, request_id: str) -> ItemsResponse:
        """Predict, explain or execute a request's items, as its type says.

        Items fail one by one. When it is cancelled, what is still queued of the
        request is dropped. Raises InvalidRequest for a system that cannot do it.
        """
        if len(request.items) > self.limits.items:
            message = f"{len(request.items)} items in one request; at most {self.limits.items} are taken"
            raise TooLarge(message, field="items")
        with self._count_expected(request.system, items=len(request.items)):
            system = await self.cache.acquire(request.system)
        try:
            revision = system.revision
            outcomes = await self._outcomes(system, _make_task(system, request), request, request_id)
            if system.revision != revision:  # a remote server may be updated
                raise Unavailable(f"{request.system} changed from revision {revision} to {system.revision}")
        finally:
            self.cache.release(request.system)
        _count_outcomes(self.metrics, request.system, outcomes)
        response, field = RESPONSES[type(request)]
        return response.model_validate({"system": request.system, "revision": revision, field: outcomes})

    @contextmanager
    def _count_expected(self, name: str, *, items: int) -> Iterator[None]:
        """Count items that wait for their system within the limit of its queue."""
        waiting = self._expecting + self._batcher(name).waiting
        if not self.cache.is_available(name) and waiting + items > self.limits.batch.queue:
            raise Overloaded(f"{waiting} items wait, and {name} is not loaded", retry_after=5)
        self._expecting += items
        try:
            yield
        finally:
            self._expecting -= items

    async def _outcomes(
        self, system: Served, task: BatchTask, request: ItemsRequest, request_id: str
    ) -> list[Outcome]:
        """Check items one by one, queue the valid ones and wait for them."""
        items: Sequence[Asked] = request.items
        checked = await self._check_items(system, items)
        self.require_ready()
        queued = QueuedRequest(task, [error for error, _ in checked], request_id)
        jobs = [
            (position, item, cost)
            for position, (item, (error, cost)) in enumerate(zip(items, checked, strict=True))
            if error is None
        ]
        batcher = self._batcher(request.system)
        batcher.submit(queued, jobs)
        try:
            await queued.done
        except asyncio.CancelledError:
            batcher.withdraw(queued)
            raise
        return queued.outcomes()

    async def _check_items(
        self, system: Served, items: Sequence[Asked]
    ) -> list[tuple[ItemError | None, int]]:
        """Check items in the event loop if that is quick, else in a thread.

        Counting the tokens of many items would delay every other request, and a system may be a user's
        own code; but handing one quick item to a thread takes longer than checking it. The speed of
        earlier checks decides.
        """
        most = self.limits.batch.item_tokens
        check_remotely = getattr(system, "check_each", None)
        # The system is in other processes, and only they can look at its items.
        if check_remotely is not None:
            return await asyncio.to_thread(check_remotely, items, most)
        check = partial(_time_check, partial(check_each, system, items, most))
        characters = sum(map(_count_characters, items))
        pace = self._check_pace.get(system.name, math.inf)
        quick = characters * pace <= QUICK_SECONDS
        checked, seconds = check() if quick else await asyncio.to_thread(check)
        latest = seconds / max(1, characters)
        self._check_pace[system.name] = latest if pace == math.inf else 0.9 * pace + 0.1 * latest
        return checked

    def _is_computing(self, name: str) -> bool:
        return any(batcher.is_computing(name) for batcher in self._batchers)

    def _batch_ended(self, report: BatchReport) -> None:
        self.metrics.count_batch(report)
        self.cache.notify()


def _make_task(system: Served, request: ItemsRequest) -> BatchTask:
    if isinstance(request, ExecuteRequest):
        return ExecuteTask(system)
    return ExplainTask(system, request.options) if isinstance(request, ExplainRequest) else as_reader(system)


def _make_shutdown_error() -> Unavailable:
    return Unavailable("the server is shutting down", retry_after=5)


def _count_characters(item: Asked) -> int:
    """Return how much there is to check: characters, and bytes of images."""
    if isinstance(item, ModuleItem):
        return len(item.text) + len(item.passage) + sum(len(image.data or b"") for image in item.images)
    return len(item.question) + sum(map(len, chain.from_iterable(text for _title, text in item.context)))


def _time_check(check: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a check and its seconds of processor time.

    Time that the thread spends waiting for model threads does not count.
    """
    started = time.thread_time()
    return check(), time.thread_time() - started


def _count_outcomes(metrics: Metrics, system: str, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        label = outcome.error if isinstance(outcome, ItemError) else DONE[type(outcome)]
        metrics.items.labels(system, label).inc()
