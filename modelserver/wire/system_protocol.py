"""The protocols of systems as serving needs them.

They are declared here because importing the systems imports torch, which client, fake server and site
must not do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

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
Item = TypeVar("Item", contravariant=True)
Explainer = Callable[[Sequence[QAItem], SaliencyOptions], Sequence[Explanation]]


class Checker(Protocol[Item]):
    """A system of any kind.

    ``revision`` is at most 50 characters, of our own systems 12 hex digits: a digest of weights and
    configuration, so that a stored prediction says what made it. Several threads may call its methods at
    once: the server looks at items while a batch computes.
    """

    name: str
    description: str
    revision: str

    def cost(self, item: Item) -> int:
        """Return the work units (tokens) of an item.

        Batches are filled with items of similar cost.
        """
        ...

    def check(self, item: Item) -> None:
        """Raise InvalidRequest, naming the field, for an item it cannot take."""
        ...


class Predictor(Checker[QAItem], Protocol):
    """A reader: answers questions and names the facts it used.

    ``predict`` answers exactly its items, in their order. It raises Unavailable or LoadFailed if it
    cannot work at all, in which case no item is to blame.
    """

    def predict(self, items: Sequence[QAItem]) -> Sequence[Outcome]:
        """Return an outcome for each item, computed as one batch.

        Our own systems are deterministic, and no outcome depends on the items beside it.
        """
        ...


class Executor(Checker[ModuleItem], Protocol):
    """A modular network: executes programs and returns each module's output.

    ``warm_up`` is an item that it can execute; ``execute`` is to it as ``predict`` is to a reader.
    """

    warm_up: ModuleItem

    def execute(self, items: Sequence[ModuleItem]) -> Sequence[Outcome]:
        """Return an outcome for each item."""
        ...


Served = Predictor | Executor


class BatchTask(Protocol):
    """One task of a system, as the batcher sees it: items in, outcomes out."""

    name: str

    def predict(self, items: Sequence[Any]) -> Sequence[Outcome]:
        """Return an outcome for each item."""
        ...


def find_kind(system: Served) -> SystemKind:
    """Return the kind of a system, judged by its methods."""
    return "modular" if hasattr(system, "execute") else "reader"


def find_explainer(system: Predictor) -> Explainer | None:
    """Return a system's ``explain``, or None if it has no saliency."""
    return getattr(system, "explain", None)


def as_reader(system: Served) -> Predictor:
    """Return the system as a reader.

    Raises InvalidRequest for one that answers no questions.
    """
    if not hasattr(system, "predict"):
        message = f"{system.name} is a modular network, which executes programs: ask it at /v1/execute"
        raise InvalidRequest(message, field="system")
    return cast(Predictor, system)


class ExplainTask:
    """A reader's saliency in place of its predictions.

    Raises InvalidRequest if it has none.
    """

    def __init__(self, system: Served, options: SaliencyOptions) -> None:
        reader = as_reader(system)
        explain = find_explainer(reader)
        if explain is None:
            message = f"{system.name} has no saliency: it offers no way to its inside"
            raise InvalidRequest(message, field="system")
        self.name = reader.name
        # Only what is asked alike runs together.
        self.queue_key = f"{reader.name} {options.model_dump_json()}"
        self._explain, self._options = explain, options

    def predict(self, items: Sequence[QAItem]) -> Sequence[Outcome]:
        """Return the saliency of each item."""
        return self._explain(items, self._options)


class ExecuteTask:
    """A modular network's executions in place of predictions.

    Raises InvalidRequest if it has none.
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
    """Return the key of the queue whose jobs may run together.

    There is one for a system's predictions, for its explanations with the same options, and for its
    executions.
    """
    return getattr(task, "queue_key", task.name)
