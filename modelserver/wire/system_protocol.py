"""What serving asks of a system: to predict, to explain, or to execute programs.

Declared here too, beside `modelserver.systems.base`, because importing the systems imports torch, which
client, fake and site must not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import (
    Execution,
    Explanation,
    ItemError,
    ModuleItem,
    QAItem,
    QAPrediction,
    SaliencyOptions,
    SystemKind,
)

Asked = QAItem | ModuleItem
Outcome = QAPrediction | Explanation | Execution | ItemError
Explainer = Callable[[Sequence[QAItem], SaliencyOptions], Sequence[Explanation]]


class Predictor(Protocol):
    """A reader: the same shape as ``modelserver.systems.base.System``.

    Several threads may call its methods at once. ``predict`` answers exactly its items, in their order; it
    raises Unavailable or LoadFailed where it could not work at all, and then no item is to blame.
    """

    name: str
    description: str
    revision: str

    def cost(self, item: QAItem) -> int: ...

    def check(self, item: QAItem) -> None: ...

    def predict(self, items: Sequence[QAItem]) -> Sequence[Outcome]: ...


class Executor(Protocol):
    """A modular network: the same shape as ``modelserver.systems.base.ModularSystem``."""

    name: str
    description: str
    revision: str
    warm_up: ModuleItem

    def cost(self, item: ModuleItem) -> int: ...

    def check(self, item: ModuleItem) -> None: ...

    def execute(self, items: Sequence[ModuleItem]) -> Sequence[Outcome]: ...


Served = Predictor | Executor


class BatchTask(Protocol):
    """One thing that a system is asked for, as the batcher sees it: its answers to items of one sort."""

    name: str

    def predict(self, items: Sequence[Any]) -> Sequence[Outcome]: ...


def kind_of(system: Served) -> SystemKind:
    """Which kind of system it is, by what it offers."""
    return "modular" if hasattr(system, "execute") else "reader"


def explainer(system: Predictor) -> Explainer | None:
    """Return what gives a system's saliency of items, its ``explain``, or None where it has none."""
    found: Explainer | None = getattr(system, "explain", None)
    return found


def as_reader(system: Served) -> Predictor:
    """Return the system as a reader.

    Raises InvalidRequest for one that answers no questions.
    """
    if not hasattr(system, "predict"):
        message = f"{system.name} is a modular network, which executes programs: ask it at /v1/execute"
        raise InvalidRequest(message, field="system")
    return cast(Predictor, system)


class ExplainTask:
    """A reader's saliency in the place of its predictions.

    Raises InvalidRequest where it has none.
    """

    def __init__(self, system: Served, options: SaliencyOptions) -> None:
        reader = as_reader(system)
        found = explainer(reader)
        if found is None:
            message = f"{system.name} has no saliency: it offers no way to its inside"
            raise InvalidRequest(message, field="system")
        self.name = reader.name
        self.queue_key = f"{reader.name} {options.model_dump_json()}"  # only what is asked alike runs together
        self._explain, self._options = found, options

    def predict(self, items: Sequence[QAItem]) -> Sequence[Outcome]:
        return self._explain(items, self._options)


class ExecuteTask:
    """A modular network's executions in the place of predictions.

    Raises InvalidRequest where it has none.
    """

    def __init__(self, system: Served) -> None:
        if not hasattr(system, "execute"):
            message = f"{system.name} is a reader, which executes no programs: ask it at /v1/predict"
            raise InvalidRequest(message, field="system")
        network = cast(Executor, system)
        self.name = network.name
        self.queue_key = f"{network.name} execute"  # a system may be both
        self.predict = network.execute


def queue_key_of(task: BatchTask) -> str:
    """What may run together: a system's predictions, its explanations of one way, its executions."""
    queue_key: str = getattr(task, "queue_key", task.name)
    return queue_key
