"""Worker processes, each with a copy of every loaded system.

A model in the server's process would share Python's interpreter with HTTP: at each of its many short
steps it would wait until the requests of the moment are read. And a system that ends its process ends
nothing else: the process is restarted, and the batch is computed again in halves until the item that
caused it is alone and known.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, Self, cast

from modelserver.serving.batching import get_thread_number
from modelserver.serving.devices import Hardware
from modelserver.serving.model_cache import AvailableSystem, Source
from modelserver.serving.system_spec import ChatSpec, RemoteSpec, ServedSpec, select_local_specs
from modelserver.serving.worker import CHANNELS, LoadedSystem, Setup
from modelserver.wire.errors import LoadFailed, ModelServerError, PredictionFailed, Unavailable
from modelserver.wire.schema import ItemError, SaliencyOptions
from modelserver.wire.system_protocol import Asked, Outcome, Served

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
# For glibc: to keep the memory of a batch for the next one. Given back each time, as by default, it comes as
# new pages, which the system has to clear.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(32 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(256 * 2**20)}
# Attempts at a process that ends meanwhile, the first included. Its other work may have ended it: a batch in
# which one item does so has it ended several times until that item is known.
LOAD_ATTEMPTS, CHECK_ATTEMPTS = 3, 5
END_SECONDS = 5.0  # within which a process that closed its connections must have ended


class WorkerDied(ModelServerError):
    """A worker ended before it answered: its system crashed or it was killed."""


class _Subprocess:
    """A worker process from its start to its end, and its connections."""

    def __init__(self, setup: Setup) -> None:
        pairs = [Pipe() for _ in CHANNELS]
        numbers = [theirs.fileno() for _, theirs in pairs]
        path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "modelserver.serving.worker", *map(str, numbers)],
            pass_fds=numbers,
            stdin=subprocess.DEVNULL,
            env=ALLOCATOR | os.environ | {"PYTHONPATH": path},
        )
        for _, theirs in pairs:
            theirs.close()  # or its end would not be noticed here
        self._connections = {channel: ours for channel, (ours, _) in zip(CHANNELS, pairs, strict=True)}
        self._turns = {channel: threading.Lock() for channel in CHANNELS}
        self._has_started = False
        with suppress(OSError):  # it has ended already, and the first call raises
            self._connections["load"].send(setup)
        self.loaded: dict[str, LoadedSystem] = {}
        self.loading = threading.Lock()
        self.ended = False

    def wait_started(self) -> None:
        """Wait until the process can be called.

        Raises what is wrong with its setup, and WorkerDied.
        """
        with self.loading:
            if not self._has_started:
                self._answer("load")
                self._has_started = True

    def ask(self, channel: str, *request: Any, within: float | None = None) -> Any:
        """Call a method of the process's Worker.

        Raises what the method raises, and WorkerDied. A process that has not answered ``within`` some
        seconds is ended.
        """
        with self._turns[channel]:
            return self._answer(channel, request, within=within)

    def _answer(self, channel: str, *requests: Any, within: float | None = None) -> Any:
        connection = self._connections[channel]
        try:
            for request in requests:
                connection.send(request)
            if not connection.poll(within):
                self.end()
                raise WorkerDied(f"the process was ended after {within:g} s without an answer")
            answer = connection.recv()
        except (EOFError, OSError) as error:
            self.end(within=END_SECONDS)
            raise WorkerDied(f"the process ended {_exit_reason(self.process.returncode)}") from error
        if isinstance(answer, ModelServerError):
            raise answer
        return answer

    def end(self, *, within: float = 0.0) -> None:
        """End the process, which may do so by itself ``within`` some seconds."""
        self.ended = True
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(within)
        self.process.kill()
        self.process.wait()


def _exit_reason(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


class WorkerProcess:
    """A worker, started on first use and restarted when it has ended.

    A batch may take up to ``batch_seconds``; None sets no bound.
    """

    def __init__(self, setup: Setup, *, batch_seconds: float | None = None) -> None:
        self._setup = setup
        self.batch_seconds = batch_seconds
        self.restarts = 0
        self._lock = threading.Lock()
        self._current: _Subprocess | None = None
        self._is_shut_down = False

    def start(self) -> _Subprocess:
        """Return the running process, which may still be importing what it needs.

        Raises Unavailable after `end`.
        """
        with self._lock:
            if self._is_shut_down:
                raise Unavailable("the server is shutting down")
            if self._current is None or self._current.ended or self._current.process.poll() is not None:
                if self._current is not None:
                    self._current.end()
                    self.restarts += 1
                self._current = _Subprocess(self._setup)
            return self._current

    def list_available(self) -> dict[str, AvailableSystem]:
        """Return the systems that can be loaded.

        Raises what is wrong with the setup.
        """
        running = self.start()
        running.wait_started()
        return cast(dict[str, AvailableSystem], running.ask("load", "list_available"))

    def load(self, name: str) -> LoadedSystem:
        """Load a system here if needed.

        Raises LoadFailed.
        """
        return self._process_with(name).loaded[name]

    def unload(self, name: str) -> None:
        """Remove a system from the worker's memory."""
        running = self._current
        if running is not None and name in running.loaded:
            del running.loaded[name]
            with suppress(WorkerDied):
                running.ask("load", "unload", name)

    def ask(self, channel: str, request: str, name: str, revision: str, *arguments: Any) -> Any:
        """Call a system of this worker, loading it again after a restart.

        Raises LoadFailed if it then has another revision or cannot be loaded any more, and WorkerDied.
        """
        running = self._process_with(name)
        loaded_revision = running.loaded[name].revision
        if loaded_revision != revision:
            message = (
                f"{name} is revision {revision} in one process and {loaded_revision} in another: its files "
                "were changed while it was loaded; start the server again"
            )
            raise LoadFailed(message)
        return running.ask(channel, request, name, *arguments, within=self.batch_seconds)

    def _process_with(self, name: str) -> _Subprocess:
        """Return the running process with a system loaded in it.

        If the process ends meanwhile, another system may be to blame, so this tries again.
        """
        for _ in range(LOAD_ATTEMPTS - 1):
            with suppress(WorkerDied):
                return self._ensure_loaded(name)
        try:
            return self._ensure_loaded(name)
        except WorkerDied as error:
            raise LoadFailed(f"{name} could not be loaded: {error}") from error

    def _ensure_loaded(self, name: str) -> _Subprocess:
        running = self.start()
        if name not in running.loaded:
            running.wait_started()
            with running.loading:
                if name not in running.loaded:
                    running.loaded[name] = running.ask("load", "load", name)
        return running

    def end(self) -> None:
        """End the process for good."""
        with self._lock:
            self._is_shut_down = True
            if self._current is not None:
                self._current.end()


class PooledSystem:
    """A system as the server sees it, with its copies in workers.

    Each model thread calls the copy in its own worker.
    """

    warm = True  # each copy has answered a first question where it is

    def __init__(self, name: str, processes: Sequence[WorkerProcess], loaded: Sequence[LoadedSystem]) -> None:
        self.name, self._processes = name, processes
        first = loaded[0]
        self.description, self.revision = first.description, first.revision
        self.language_model = first.language_model
        self.weight_bytes = sum(system.weight_bytes for system in loaded)
        for task in ("predict", "explain", "execute"):
            if task in first.tasks:
                setattr(self, task, partial(self._compute, task))
        if first.examiner is None:
            self.check_each = self._check_each
        else:
            self.check, self.cost = first.examiner.check, first.examiner.cost

    def _check_each(self, items: Sequence[Asked], most_tokens: int) -> list[tuple[ItemError | None, int]]:
        """Have a worker check items, again if it ended in the meantime.

        A running batch may be to blame for that. If the worker ends each time, the items are checked one
        by one; an item that still ends it is an error.
        """
        ask = self._processes[0].ask
        check = partial(ask, "check", "check_each", self.name, self.revision, items, most_tokens)
        reason = ""
        for _ in range(CHECK_ATTEMPTS):
            try:
                return cast(list[tuple[ItemError | None, int]], check())
            except WorkerDied as error:
                self._log(error)
                reason = str(error)
        if len(items) > 1:
            return [found for item in items for found in self._check_each([item], most_tokens)]
        message = f"{self.name} could not check the item: {reason}, {CHECK_ATTEMPTS} times in a row"
        return [(ItemError(id=items[0].id, error="prediction_failed", message=message), 0)]

    def _compute(self, what: str, items: Sequence[Asked], *options: SaliencyOptions) -> list[Outcome]:
        """Compute in the worker of this thread.

        Raises WorkerDied for a batch, and PredictionFailed for a single item that ended the worker
        twice.
        """
        process = self._processes[get_thread_number() % len(self._processes)]
        compute = partial(process.ask, "compute", what, self.name, self.revision, items, *options)
        try:
            return cast(list[Outcome], compute())
        except WorkerDied as error:
            self._log(error)
            if len(items) > 1:
                raise
        try:
            return cast(list[Outcome], compute())
        except WorkerDied as error:
            raise PredictionFailed(f"{error}, twice in a row") from error

    def _log(self, error: WorkerDied) -> None:
        logger.error("process_ended", extra={"fields": {"system": self.name, "reason": str(error)}})

    def unload(self) -> None:
        """Remove all copies from memory."""
        for process in self._processes:
            process.unload(self.name)


class WorkerPool:
    """Workers, one for each of ``hardware``, with the chosen systems.

    None chooses all systems with shipped weights. ``remote_seconds`` bounds the wait for a remote
    server, which this process calls directly because nothing is computed for it. A worker that computes
    a batch for more than ``batch_seconds`` is ended as if it had crashed. The workers end with the
    block.
    """

    def __init__(
        self,
        hardware: Sequence[Hardware],
        chosen: Sequence[ServedSpec] | None,
        *,
        remote_seconds: float = 60.0,
        batch_seconds: float | None = None,
    ) -> None:
        self._chosen, self._remote_seconds = chosen, remote_seconds
        here = None if chosen is None else select_local_specs(chosen)
        level = logging.getLevelName(logging.getLogger().level)
        setups = [Setup(here, device, level, tuple(sys.path)) for device in hardware] if here != () else []
        self.processes = [WorkerProcess(setup, batch_seconds=batch_seconds) for setup in setups]

    def sources(self) -> dict[str, Source]:
        """Return the chosen systems for a model cache.

        Raises UnknownSystem for an unknown name, UnreadableWeights if nothing is left to serve, and
        LoadFailed for a device that is not there.
        """
        for process in self.processes:  # all of them, so that they import at the same time
            process.start()
        available = self.processes[0].list_available() if self.processes else {}
        names = [spec.name for spec in self._chosen] if self._chosen is not None else list(available)
        remote = {spec.name: spec for spec in self._chosen or () if isinstance(spec, RemoteSpec | ChatSpec)}
        return {name: self._source(name, remote.get(name), available) for name in names}

    def _source(
        self, name: str, remote: RemoteSpec | ChatSpec | None, available: Mapping[str, AvailableSystem]
    ) -> Source:
        if remote is None:
            expected = available[name].expected_bytes * len(self.processes)
            return Source(partial(self.load, name), replace(available[name], expected_bytes=expected))
        if isinstance(remote, ChatSpec):
            # In this process, so that all requests to a server share its bounds.
            from modelserver.systems.language.chat import open_chat

            about = AvailableSystem("Language model")
            return Source(partial(open_chat, remote.file, name), about, is_remote=True)
        from modelserver.systems.remote import RemoteSystem  # imports torch, with the other systems

        load = partial(
            RemoteSystem, remote.url, name=name, revision=remote.revision, timeout=self._remote_seconds
        )
        return Source(load, is_remote=True)

    def load(self, name: str) -> Served:
        """Load a system into every worker.

        Raises LoadFailed, and has then loaded it into none.
        """
        with ThreadPoolExecutor(len(self.processes)) as pool:
            loads = [pool.submit(process.load, name) for process in self.processes]
        try:
            loaded = [load.result() for load in loads]
            if len({system.revision for system in loaded}) > 1:
                raise LoadFailed(f"{name} was changed while it was loaded; ask again")
        except ModelServerError:
            for process in self.processes:
                process.unload(name)
            raise
        return cast(Served, PooledSystem(name, self.processes, loaded))

    def restarts(self) -> int:
        """Return how often a worker was restarted."""
        return sum(process.restarts for process in self.processes)

    def end(self) -> None:
        """End all workers, whatever they are doing."""
        for process in self.processes:
            process.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
