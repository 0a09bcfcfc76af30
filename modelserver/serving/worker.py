"""A worker process: ``python -m modelserver.serving.worker FD FD FD``.

It loads and runs systems for ``modelserver.serving.worker_pool``, which starts it and explains why. Each
descriptor is a connection on which requests come one after the other: to compute, to load, and to check
items. So an item is checked while a batch computes, and a batch computes while another system is loaded.
The process ends when the other end of a connection is closed, which happens however the server ends.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NoReturn, cast

from modelserver.serving.batching import check_each
from modelserver.serving.devices import Hardware
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.model_cache import AvailableSystem, Source, load_and_warm
from modelserver.serving.system_spec import LocalSpec
from modelserver.systems.base import describe_error
from modelserver.systems.predict_each import free_memory, log_failure, predict_each
from modelserver.wire.errors import ModelServerError
from modelserver.wire.schema import ItemError, LanguageModel, QAItem, SaliencyOptions
from modelserver.wire.system_protocol import (
    Asked,
    ExecuteTask,
    ExplainTask,
    Outcome,
    Predictor,
    Served,
    as_reader,
    find_explainer,
)

CHANNELS = ("compute", "load", "check")  # the connections, in the order of the command's arguments


@dataclass(frozen=True)
class Setup:
    """The first message to a worker.

    ``paths`` are those in which Python looks for modules.
    """

    chosen: tuple[LocalSpec, ...] | None
    hardware: Hardware
    log_level: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class LoadedSystem:
    """A system that a worker has loaded.

    ``tasks`` are some of predict, explain and execute. ``examiner`` has the system's ``check`` and
    ``cost`` and needs neither its weights nor torch; if it is None, the worker checks the items.
    """

    description: str
    revision: str
    weight_bytes: int
    tasks: frozenset[str]
    examiner: Any
    language_model: LanguageModel | None = None


class Worker:
    """The systems in this process; the server calls its methods."""

    def __init__(self, setup: Setup) -> None:
        gc.disable()  # among modules there is none: looking for it takes a sixth of the start
        from modelserver.serving.loading import (
            list_sources,  # imports torch, when the process has its settings
        )

        gc.freeze()
        gc.enable()

        self._sources: dict[str, Source] = list_sources(setup.chosen, setup.hardware)
        self._systems: dict[str, Served] = {}

    def list_available(self) -> dict[str, AvailableSystem]:
        """Return the systems that can be loaded."""
        return {name: source.about for name, source in self._sources.items()}

    def load(self, name: str) -> LoadedSystem:
        """Load a system and have it answer a first question. Raises LoadFailed."""
        try:
            system, size = load_and_warm(name, self._sources[name].load)
        except ModelServerError:
            free_memory()
            raise
        self._systems[name] = system
        tasks = {task for task in ("predict", "execute") if hasattr(system, task)}
        if hasattr(system, "predict") and find_explainer(cast(Predictor, system)) is not None:
            tasks.add("explain")
        return LoadedSystem(
            system.description,
            system.revision,
            size,
            frozenset(tasks),
            getattr(system, "examiner", None),
            getattr(system, "language_model", None),
        )

    def unload(self, name: str) -> None:
        """Remove a system from memory, if it is there."""
        self._systems.pop(name, None)
        free_memory()

    def check_each(
        self, name: str, items: Sequence[Asked], most_tokens: int
    ) -> list[tuple[ItemError | None, int]]:
        """Check items as `modelserver.serving.batching.check_each` does."""
        return check_each(self._systems[name], items, most_tokens)

    def predict(self, name: str, items: Sequence[Asked]) -> list[Outcome]:
        """Return an outcome for each item."""
        return predict_each(as_reader(self._systems[name]), items)

    def explain(self, name: str, items: Sequence[QAItem], options: SaliencyOptions) -> list[Outcome]:
        """Return an outcome for each item."""
        return predict_each(ExplainTask(self._systems[name], options), items)

    def execute(self, name: str, items: Sequence[Asked]) -> list[Outcome]:
        """Return an outcome for each item."""
        return predict_each(ExecuteTask(self._systems[name]), items)


def _serve(connection: Connection, worker: Worker) -> NoReturn:
    """Answer requests until the other end is closed, then end the process."""
    with _end_on_disconnect():
        while True:
            name, *arguments = connection.recv()
            _send(connection, _call_worker(worker, name, arguments))


@contextmanager
def _end_on_disconnect() -> Iterator[None]:
    """End the process if the other end of a connection was closed."""
    try:
        yield
    except (EOFError, OSError):
        os._exit(0)


def _send(connection: Connection, answer: object) -> None:
    try:
        connection.send(answer)
    except OSError:
        raise
    except Exception as error:  # it cannot be pickled, and nothing of it has been sent: a user's class
        connection.send(ModelServerError(f"the answer cannot be handed on: {describe_error(error)}"))


def _call_worker(worker: Worker, name: str, arguments: Sequence[Any]) -> Any:
    """Call a method of the worker and return its result or its error.

    The error is always a ModelServerError.
    """
    try:
        return getattr(worker, name)(*arguments)
    except ModelServerError as error:
        return error
    except BaseException as error:  # user code, which may even ask to end the process
        log_failure("process_failed", error, request=name)
        return ModelServerError(describe_error(error))


def main() -> None:
    """Serve the server at the other end of the connections."""
    # A terminal or an init system signals all processes at once; the server decides when this one ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    channels = {
        channel: Connection(int(number)) for channel, number in zip(CHANNELS, sys.argv[1:], strict=True)
    }
    with _end_on_disconnect():
        worker = _make_worker(channels["load"].recv(), channels["load"])
    for channel in ("load", "check"):
        threading.Thread(target=_serve, args=(channels[channel], worker), daemon=True).start()
    _serve(channels["compute"], worker)


def _make_worker(setup: Setup, answers: Connection) -> Worker:
    """Return the worker for a setup; report a wrong setup and exit."""
    sys.path.extend(path for path in setup.paths if path not in sys.path)
    log_to_stderr(setup.log_level)
    try:
        worker = Worker(setup)
    except ModelServerError as error:
        answers.send(error)
        sys.exit(1)
    answers.send(None)
    return worker


if __name__ == "__main__":
    from modelserver.serving import worker  # by its name: the server would not find what is of "__main__"

    worker.main()
