"""LRU cache of loaded models.

A system is loaded when it is first used and stays until a less recently used one must make room. Systems
are loaded one at a time in a thread of their own, so that loaded ones keep answering meanwhile. Remote
systems have a second thread, because connecting may take long. Everything else here runs in the event
loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from modelserver.serving.batching import ModelThreads
from modelserver.systems.base import WARM_UP, count_weight_bytes, describe_error, is_out_of_memory
from modelserver.systems.predict_each import free_memory
from modelserver.wire.errors import LoadFailed, ModelServerError, Unavailable
from modelserver.wire.schema import ProgramKind, SystemInfo, SystemKind
from modelserver.wire.system_protocol import Served, find_kind

Loader = Callable[[], Served]

RETRY_LOAD_SECONDS = 10.0  # after this a load that failed is tried again: its files may have been repaired


@dataclass(frozen=True)
class AvailableSystem:
    """A system that could be loaded.

    ``expected_bytes`` are those that its weights will take, as far as that is known, else 0. ``kind`` is
    shown until it is loaded, ``programs`` and ``spans_only`` always.
    """

    description: str = ""
    expected_bytes: int = 0
    kind: SystemKind = "reader"
    programs: ProgramKind | None = None
    spans_only: bool = False


@dataclass(frozen=True)
class Source:
    """How to get a system.

    ``is_remote`` marks a system that another server computes, so that waiting for it must not occupy a
    model thread.
    """

    load: Loader
    about: AvailableSystem = AvailableSystem()
    is_remote: bool = False


@dataclass(frozen=True)
class Change:
    """A change of a system's state, for log and metrics.

    ``size`` is in bytes; ``reason`` says why loading failed.
    """

    kind: Literal["loaded", "failed", "unloaded"]
    system: str
    seconds: float = 0.0
    size: int = 0
    revision: str = ""
    reason: str = ""


class _Entry:
    """The state of one system in the cache, loaded or not."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self.source = name, source
        self.system: Served | None = None
        self.revision = ""  # these stay when the system is evicted
        self.description, self.kind = source.about.description, source.about.kind
        self.size: int | None = None
        self.users = 0
        self.used_at = 0.0
        self.is_leaving = False  # new callers queue behind those who wait for its room
        self.queued = False
        self.waiters: list[asyncio.Future[None]] = []
        self.failure: tuple[float, LoadFailed] | None = None

    @property
    def expected(self) -> int:
        """Return the bytes of the weights, as far as they are known."""
        return self.source.about.expected_bytes if self.size is None else self.size

    def info(self) -> SystemInfo:
        """Return the system as a wire type."""
        return SystemInfo(
            name=self.name,
            revision=self.system.revision if self.system is not None else self.revision,
            description=self.description,
            loaded=self.system is not None,
            kind=self.kind,
            programs=self.source.about.programs,
            spans_only=self.source.about.spans_only,
            language_model=getattr(self.system, "language_model", None),
        )

    def settle(self, error: ModelServerError | None) -> None:
        """Wake all waiters with the system or the error.

        Those who get the system count as its users from this moment on.
        """
        for waiter in self.waiters:
            if waiter.done():
                continue
            if error is not None:
                waiter.set_exception(error)
            else:
                self.users += 1
                waiter.set_result(None)
        self.waiters.clear()


class _LoadQueue:
    """Entries to load one after the other, and the thread that loads them."""

    def __init__(self, name: str) -> None:
        self.thread = ModelThreads(1, name=name)
        self.entries: asyncio.Queue[_Entry] = asyncio.Queue()


class ModelCache:
    """The systems of a server, of which ``max_bytes`` bounds the loaded ones.

    None sets no bound. ``computing`` tells if a batch of a system is running. A system with users or a
    running batch is never evicted.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        max_bytes: int | None = None,
        computing: Callable[[str], bool] = lambda _: False,
        report: Callable[[Change], None] = lambda _: None,
    ) -> None:
        self._entries = {name: _Entry(name, source) for name, source in sources.items()}
        self._max_bytes, self._computing, self._report = max_bytes, computing, report
        self._local, self._remote = _LoadQueue("loader"), _LoadQueue("loader-remote")
        self._changed = asyncio.Event()
        self._closed: ModelServerError | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    @property
    def names(self) -> list[str]:
        """Return the names of all systems, loaded or not."""
        return sorted(self._entries)

    @property
    def used_bytes(self) -> int:
        """Return the bytes of the loaded systems."""
        return sum(entry.size or 0 for entry in self._list_loaded())

    @property
    def loaded_count(self) -> int:
        """Return the number of loaded systems."""
        return len(self._list_loaded())

    def infos(self) -> list[SystemInfo]:
        """Return every system as a wire type."""
        return [entry.info() for entry in self._entries.values()]

    def info(self, name: str) -> SystemInfo:
        """Return one system as a wire type."""
        return self._entries[name].info()

    def is_available(self, name: str) -> bool:
        """Return True if ``acquire`` would return the system at once."""
        entry = self._entries[name]
        return entry.system is not None and not entry.is_leaving

    async def load_all(self) -> None:
        """Load every system once, in order, so that problems show at the start.

        A system is evicted again if the next one needs its room. Raises LoadFailed.
        """
        for entry in self._entries.values():
            await self._make_room(entry, entry.expected, even_if_unused=True)
            system = await self._load(entry)
            await self._make_room(entry, entry.size or 0, even_if_unused=True)
            self._insert(entry, system)

    async def acquire(self, name: str) -> Served:
        """Return a system, loading it if needed; it stays until ``release``.

        Raises LoadFailed, or the error that ``close`` was given.
        """
        entry = self._entries[name]
        if self.is_available(name):
            entry.users += 1
        else:
            await self._wait_for(entry)
        entry.used_at = time.monotonic()
        assert entry.system is not None
        return entry.system

    def release(self, name: str) -> None:
        """End one use of an acquired system."""
        self._entries[name].users -= 1
        self.notify()

    def notify(self) -> None:
        """Check again if a system can be evicted, because some work has ended."""
        self._changed.set()

    def close(self, error: ModelServerError) -> None:
        """Load nothing more and answer present and future waiters with an error."""
        self._closed = error
        for entry in self._entries.values():
            entry.settle(error)
        self.notify()

    async def run(self) -> None:
        """Load requested systems in the order of the requests, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for queue in (self._local, self._remote):
                group.create_task(self._run_queue(queue))

    def _queue_of(self, entry: _Entry) -> _LoadQueue:
        return self._remote if entry.source.is_remote else self._local

    async def _run_queue(self, queue: _LoadQueue) -> None:
        while True:
            entry = await queue.entries.get()
            error: ModelServerError | None = None
            try:
                await self._load_if_wanted(entry)
            except ModelServerError as caught:
                error = caught
            except Exception as caught:  # the edge of the server: the others go on
                error = LoadFailed(f"{entry.name} could not be loaded: {describe_error(caught)}")
            if error is None and entry.system is None and entry.waiters:
                queue.entries.put_nowait(entry)  # new callers came while it was being evicted
                continue
            if isinstance(error, LoadFailed):
                entry.failure = (time.monotonic(), error)
            entry.queued = False
            entry.settle(error)

    async def _wait_for(self, entry: _Entry) -> None:
        """Wait until the system is loaded for this caller."""
        self._raise_if_failed(entry)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry.waiters.append(waiter)
        if not entry.queued:
            entry.queued = True
            self._queue_of(entry).entries.put_nowait(entry)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() and waiter.exception() is None:
                self.release(entry.name)
            raise
        finally:
            with suppress(ValueError):
                entry.waiters.remove(waiter)
            self.notify()

    def _raise_if_failed(self, entry: _Entry) -> None:
        if self._closed is not None:
            raise self._closed
        if entry.failure is not None:
            failed_at, error = entry.failure
            if time.monotonic() - failed_at < RETRY_LOAD_SECONDS:
                raise type(error)(str(error))
            entry.failure = None

    async def _load_if_wanted(self, entry: _Entry) -> None:
        """Load a system unless no caller waits for it any more."""
        if entry.system is not None or not entry.waiters:
            return
        if not await self._make_room(entry, entry.expected):
            return
        system = await self._load(entry)
        stays = False
        try:
            stays = await self._make_room(entry, entry.size or 0)
        finally:
            if stays:
                self._insert(entry, system)
            else:
                await self._queue_of(entry).thread.call(_choose_unloader(system))
                self._report(Change("unloaded", entry.name, size=entry.size or 0, revision=entry.revision))

    async def _make_room(self, entry: _Entry, size: int, *, even_if_unused: bool = False) -> bool:
        """Evict systems until ``size`` more bytes fit.

        Idle systems go first, the least recently used before the others. If all are in use, the least
        recently used one accepts no more callers and is evicted when its last user is done.

        Returns:
            False if no caller waits any more; ``even_if_unused`` makes room all the same.

        Raises:
            LoadFailed: the system would not even fit alone.
        """
        if self._max_bytes is None or not size:
            return True
        if size > self._max_bytes:
            raise LoadFailed(
                f"{entry.name} takes {size} bytes, more than the {self._max_bytes} that are allowed"
            )
        try:
            while self.used_bytes + size > self._max_bytes:
                if not (even_if_unused or entry.waiters):
                    return False
                self._changed.clear()
                last = min(
                    self._list_loaded(), key=lambda loaded: (not self._is_idle(loaded), loaded.used_at)
                )
                if self._is_idle(last):
                    await self._evict(last)
                else:
                    last.is_leaving = True
                    await self._changed.wait()
        finally:
            for other in self._entries.values():
                other.is_leaving = False
        return True

    def _list_loaded(self) -> list[_Entry]:
        return [entry for entry in self._entries.values() if entry.system is not None]

    def _is_idle(self, entry: _Entry) -> bool:
        return not entry.users and not self._computing(entry.name)

    async def _load(self, entry: _Entry) -> Served:
        started = time.monotonic()
        try:
            load = partial(load_and_warm, entry.name, entry.source.load)
            system, size = await self._queue_of(entry).thread.call(load)
        except ModelServerError as error:
            self._report(Change("failed", entry.name, time.monotonic() - started, reason=str(error)))
            await self._queue_of(entry).thread.call(free_memory)
            raise
        entry.size, entry.revision = size, system.revision
        entry.description, entry.kind = system.description, find_kind(system)
        seconds = time.monotonic() - started
        self._report(Change("loaded", entry.name, seconds, size, entry.revision))
        return system

    def _insert(self, entry: _Entry, system: Served) -> None:
        entry.system, entry.used_at, entry.failure = system, time.monotonic(), None

    async def _evict(self, entry: _Entry) -> None:
        unload, entry.system = _choose_unloader(entry.system), None
        await self._queue_of(entry).thread.call(unload)
        self._report(Change("unloaded", entry.name, size=entry.size or 0, revision=entry.revision))


def load_and_warm(name: str, loader: Loader) -> tuple[Served, int]:
    """Load a system, have it answer a first question and measure its weights.

    Raises LoadFailed, which says which step failed, and Unavailable as the system does.
    """
    doing = "be loaded"
    try:
        system = loader()
        size = count_weight_bytes(system)
        doing = "answer a first question"
        if not getattr(system, "warm", False):
            _warm(system)
    except (LoadFailed, Unavailable):
        raise
    except Exception as error:  # the edge of the server: a loader may be user code
        memory = "out of memory: " if is_out_of_memory(error) else ""
        raise LoadFailed(f"{name} could not {doing}: {memory}{describe_error(error)}") from error
    return system, size


def _choose_unloader(system: object) -> Callable[[], None]:
    """Return the function that frees a system's memory.

    Call it once nothing here refers to the system any more.
    """
    is_remote: Callable[[], None] | None = getattr(system, "unload", None)
    return is_remote or free_memory


def _warm(system: Any) -> None:
    """Run one item through each task of a system to find faults early."""
    if hasattr(system, "execute"):
        system.execute([system.warm_up])
    if hasattr(system, "predict"):
        system.predict([WARM_UP])
