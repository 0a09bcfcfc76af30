"""Which systems are in memory: each from its first use on, until the least recently used makes room.

Systems are loaded one at a time in a thread of their own, so those in memory go on answering meanwhile; those
elsewhere in another, for they may be long in coming. Everything else here runs in the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from modelserver.serving.batching import ModelThreads, free_memory
from modelserver.systems.base import WARM_UP, described, out_of_memory, weight_bytes
from modelserver.wire.errors import LoadFailed, ModelServerError, Unavailable
from modelserver.wire.schema import SystemInfo, SystemKind
from modelserver.wire.system_protocol import Served, kind_of

Loader = Callable[[], Served]

FORGIVE_SECONDS = 10.0  # after this a load that failed is tried again: its files may have been repaired


@dataclass(frozen=True)
class Source:
    """Where a system comes from.

    ``expect`` says how many bytes its weights will take, as well as it can be told before; 0 when it
    cannot. ``elsewhere`` marks a system that computes in another process, so that asking it must keep no
    model thread from its work. ``kind`` is what is said of it until it is loaded.
    """

    load: Loader
    description: str = ""
    expect: Callable[[], int] = lambda: 0
    elsewhere: bool = False
    kind: SystemKind = "reader"


@dataclass(frozen=True)
class Change:
    """What happened to a system: for log and metrics.

    ``size`` is in bytes; ``reason`` is why it failed.
    """

    kind: Literal["loaded", "failed", "unloaded"]
    system: str
    seconds: float = 0.0
    size: int = 0
    revision: str = ""
    reason: str = ""


class _Place:
    """One system's place on the shelf, be it there or not."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self.source = name, source
        self.system: Served | None = None
        self.revision = ""  # these four stay known when the system has been put down
        self.description = source.description
        self.kind = source.kind
        self.size: int | None = None
        self.users = 0
        self.used_at = 0.0
        self.leaving = False  # whoever asks for it now comes after those who wait for its room
        self.queued = False
        self.waiters: list[asyncio.Future[None]] = []
        self.failure: tuple[float, LoadFailed] | None = None

    def info(self) -> SystemInfo:
        return SystemInfo(
            name=self.name,
            revision=self.system.revision if self.system is not None else self.revision,
            description=self.description,
            loaded=self.system is not None,
            kind=self.kind,
        )

    def settle(self, error: ModelServerError | None) -> None:
        """Tell all waiters.

        Those who get the system are its users from this moment on.
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


class _Line:
    """Places that wait to be loaded one after the other, and the thread that does it."""

    def __init__(self, name: str) -> None:
        self.thread = ModelThreads(1, name=name)
        self.wanted: asyncio.Queue[_Place] = asyncio.Queue()


class Shelf:
    """The systems of a server, of which as many are loaded as ``most`` bytes hold; None sets no bound.

    ``computing`` says whether a batch of a system is under way. A system that has users or computes is
    never put down.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        most: int | None = None,
        computing: Callable[[str], bool] = lambda _: False,
        report: Callable[[Change], None] = lambda _: None,
    ) -> None:
        self._places = {name: _Place(name, source) for name, source in sources.items()}
        self._most, self._computing, self._report = most, computing, report
        self._here, self._elsewhere = _Line("loader"), _Line("loader-elsewhere")
        self._stirred = asyncio.Event()
        self._closed: ModelServerError | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._places

    @property
    def names(self) -> list[str]:
        """The names of all systems, loaded or not."""
        return sorted(self._places)

    @property
    def used(self) -> int:
        """Bytes of the loaded systems."""
        return sum(place.size or 0 for place in self._loaded())

    @property
    def count(self) -> int:
        """How many systems are loaded."""
        return len(self._loaded())

    def infos(self) -> list[SystemInfo]:
        """Every system as the wire tells it."""
        return [place.info() for place in self._places.values()]

    def info(self, name: str) -> SystemInfo:
        """One system as the wire tells it."""
        return self._places[name].info()

    def at_hand(self, name: str) -> bool:
        """Whether ``take`` would return the system at once."""
        place = self._places[name]
        return place.system is not None and not place.leaving

    async def fill(self) -> None:
        """Load every system once, in order, so that what is wrong with one shows now and not later.

        What has no room beside the next is put down again. Raises LoadFailed.
        """
        for place in self._places.values():
            await self._make_room(place, await self._expected(place), wanted=True)
            system = await self._load(place)
            await self._make_room(place, place.size or 0, wanted=True)
            self._put_up(place, system)

    async def take(self, name: str) -> Served:
        """Return a system, loaded if it was not, that stays until ``give_back``.

        Raises LoadFailed, and what ``close`` was given.
        """
        place = self._places[name]
        if self.at_hand(name):
            place.users += 1
        else:
            await self._granted(place)
        place.used_at = time.monotonic()
        assert place.system is not None
        return place.system

    def give_back(self, name: str) -> None:
        """Say that a system that was taken is not needed any more."""
        self._places[name].users -= 1
        self.stir()

    def stir(self) -> None:
        """Look again whether a system can be put down: something has ended."""
        self._stirred.set()

    def close(self, error: ModelServerError) -> None:
        """Load nothing more: answer the error to those who wait, and to those who will."""
        self._closed = error
        for place in self._places.values():
            place.settle(error)
        self.stir()

    async def run(self) -> None:
        """Load what is asked for, in the order in which it was, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for line in (self._here, self._elsewhere):
                group.create_task(self._work_off(line))

    def _line(self, place: _Place) -> _Line:
        return self._elsewhere if place.source.elsewhere else self._here

    async def _work_off(self, line: _Line) -> None:
        while True:
            place = await line.wanted.get()
            error: ModelServerError | None = None
            try:
                await self._bring(place)
            except ModelServerError as caught:
                error = caught
            except Exception as caught:  # the edge of the server: the others go on
                error = LoadFailed(f"{place.name} could not be loaded: {described(caught)}")
            if error is None and place.system is None and place.waiters:
                line.wanted.put_nowait(place)  # they came while it was put away, wanted by nobody
                continue
            if isinstance(error, LoadFailed):
                place.failure = (time.monotonic(), error)
            place.queued = False
            place.settle(error)

    async def _granted(self, place: _Place) -> None:
        """Wait until the system is there for this caller."""
        self._refuse(place)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place.waiters.append(waiter)
        if not place.queued:
            place.queued = True
            self._line(place).wanted.put_nowait(place)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() and waiter.exception() is None:
                self.give_back(place.name)
            raise
        finally:
            with suppress(ValueError):
                place.waiters.remove(waiter)
            self.stir()

    def _refuse(self, place: _Place) -> None:
        if self._closed is not None:
            raise self._closed
        if place.failure is not None:
            failed_at, error = place.failure
            if time.monotonic() - failed_at < FORGIVE_SECONDS:
                raise type(error)(str(error))
            place.failure = None

    async def _bring(self, place: _Place) -> None:
        """Load a system that somebody waits for; return without it when nobody does any more."""
        if place.system is not None or not place.waiters:
            return
        if not await self._make_room(place, await self._expected(place)):
            return
        system = await self._load(place)
        stays = False
        try:
            stays = await self._make_room(place, place.size or 0)
        finally:
            if stays:
                self._put_up(place, system)
            else:
                await self._line(place).thread.call(_unloading(system))
                self._report(Change("unloaded", place.name, size=place.size or 0, revision=place.revision))

    async def _expected(self, place: _Place) -> int:
        return (
            place.size if place.size is not None else await self._line(place).thread.call(place.source.expect)
        )

    async def _make_room(self, place: _Place, size: int, *, wanted: bool = False) -> bool:
        """Put systems down until ``size`` more bytes fit; False when nobody waits for them any more.

        With ``wanted`` they are needed though nobody waits. Those that nobody uses go first, the least
        recently used of them before the others. When all are in use, the least recently used takes no more
        callers until it has been put down. Raises LoadFailed when the system would not fit alone.
        """
        if self._most is None or not size:
            return True
        if size > self._most:
            raise LoadFailed(f"{place.name} takes {size} bytes, more than the {self._most} that are allowed")
        try:
            while self.used + size > self._most:
                if not (wanted or place.waiters):
                    return False
                self._stirred.clear()
                last = min(self._loaded(), key=lambda one: (not self._idle(one), one.used_at))
                if self._idle(last):
                    await self._put_down(last)
                else:
                    last.leaving = True
                    await self._stirred.wait()
        finally:
            for other in self._places.values():
                other.leaving = False
        return True

    def _loaded(self) -> list[_Place]:
        return [place for place in self._places.values() if place.system is not None]

    def _idle(self, place: _Place) -> bool:
        return not place.users and not self._computing(place.name)

    async def _load(self, place: _Place) -> Served:
        started = time.monotonic()
        try:
            load = partial(load_and_warm, place.name, place.source.load)
            system, size = await self._line(place).thread.call(load)
        except ModelServerError as error:
            self._report(Change("failed", place.name, time.monotonic() - started, reason=str(error)))
            await self._line(place).thread.call(free_memory)
            raise
        place.size, place.revision = size, system.revision
        place.description, place.kind = system.description, kind_of(system)
        seconds = time.monotonic() - started
        self._report(Change("loaded", place.name, seconds, size, place.revision))
        return system

    def _put_up(self, place: _Place, system: Served) -> None:
        place.system, place.used_at, place.failure = system, time.monotonic(), None

    async def _put_down(self, place: _Place) -> None:
        unload, place.system = _unloading(place.system), None
        await self._line(place).thread.call(unload)
        self._report(Change("unloaded", place.name, size=place.size or 0, revision=place.revision))


def load_and_warm(name: str, loader: Loader) -> tuple[Served, int]:
    """Return a system that has answered a first question, and the bytes of its weights.

    Raises LoadFailed, which says what could not be done, and Unavailable as the system does.
    """
    doing = "be loaded"
    try:
        system = loader()
        size = weight_bytes(system)
        doing = "answer a first question"
        if not getattr(system, "warm", False):
            _warm(system)
    except (LoadFailed, Unavailable):
        raise
    except Exception as error:  # the edge of the server: a loader may be anybody's code
        memory = "the memory does not suffice: " if out_of_memory(error) else ""
        raise LoadFailed(f"{name} could not {doing}: {memory}{described(error)}") from error
    return system, size


def _unloading(system: object) -> Callable[[], None]:
    """Return what gives the memory of a system back once nothing here refers to it any more."""
    elsewhere: Callable[[], None] | None = getattr(system, "unload", None)
    return elsewhere or free_memory


def _warm(system: Any) -> None:
    """Have a system do what it will be asked for: an item is enough to find out that it cannot."""
    if hasattr(system, "execute"):
        system.execute([system.warm_up])
    if hasattr(system, "predict"):
        system.predict([WARM_UP])
