"""The only code of the apps that talks to the model server.

Actions send items, commands ask which systems are served. Never call it in
a transaction, because an answer may take minutes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from django.conf import settings

from foundation.errors import RunFailed
from jobs import request_ids
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import InvalidRequest, UnknownSystem
from modelserver.wire.load_balancing import Servers
from modelserver.wire.schema import (
    Execution,
    Explanation,
    ItemError,
    ModuleItem,
    QAItem,
    QAPrediction,
    SaliencyOptions,
    SystemInfo,
    SystemKind,
)

PATIENCE_SECONDS = 30.0  # for a server that restarts; the task queue waits longer than that by itself
MOST_IMAGE_BYTES = 12 * 2**20  # in one request; base64 adds a third, and the server takes 32 MiB

Item = TypeVar("Item", QAItem, ModuleItem)
Answer = TypeVar("Answer")


def predict_items(*, system: str, revision: str, items: Sequence[QAItem]) -> list[QAPrediction | ItemError]:
    """Return one prediction or error for each item, in their order.

    Raises:
        RunFailed: The server has another revision than ``revision``.
        MixedRevisions: Two servers have different revisions.
        ModelServerError: As ``ModelClient.predict``. An item that the server refuses becomes an ItemError;
            InvalidRequest remains if the server refuses the system.
    """
    with connect_to_model_servers(patience=PATIENCE_SECONDS) as client:

        def send(part: Sequence[QAItem]) -> tuple[str, Sequence[QAPrediction | ItemError]]:
            response = client.predict(system, part, request_id=request_ids.format_label() or None)
            return response.revision, response.predictions

        return _send_in_parts(client, system, revision, send, items)


def explain_items(
    *, system: str, revision: str, items: Sequence[QAItem], options: SaliencyOptions
) -> list[Explanation | ItemError]:
    """Return the saliency of each item, or an error, in their order.

    Raises as `predict_items`; InvalidRequest means that the system has no saliency.
    """
    with connect_to_model_servers(patience=PATIENCE_SECONDS) as client:

        def send(part: Sequence[QAItem]) -> tuple[str, Sequence[Explanation | ItemError]]:
            response = client.explain(system, part, options, request_id=request_ids.format_label() or None)
            return response.revision, response.explanations

        return _send_in_parts(client, system, revision, send, items)


def execute_items(*, system: str, revision: str, items: Sequence[ModuleItem]) -> list[Execution | ItemError]:
    """Return one execution or error for each item, in their order.

    Raises as `predict_items`. One request holds at most ``MOST_IMAGE_BYTES`` of images.
    """
    with connect_to_model_servers(patience=PATIENCE_SECONDS) as client:

        def send(part: Sequence[ModuleItem]) -> tuple[str, Sequence[Execution | ItemError]]:
            response = client.execute(system, part, request_id=request_ids.format_label() or None)
            return response.revision, response.executions

        return [
            outcome
            for part in _limit_images(items)
            for outcome in _send_in_parts(client, system, revision, send, part)
        ]


def _send_in_parts(
    client: ModelClient,
    system: str,
    revision: str,
    send: Callable[[Sequence[Item]], tuple[str, Sequence[Answer | ItemError]]],
    items: Sequence[Item],
) -> list[Answer | ItemError]:
    """Send items and require the revision; halve what the server refuses."""
    try:
        answered_by, answers = send(items)
    except InvalidRequest as error:
        if error.field == "system":  # no smaller part would fare better
            raise
        if len(items) == 1:
            return [ItemError(id=items[0].id, error="invalid_item", message=str(error))]
        # Too much at once, or one bad item: halving finds out which and loses no other item.
        half: int = len(items) // 2
        return [
            *_send_in_parts(client, system, revision, send, items[:half]),
            *_send_in_parts(client, system, revision, send, items[half:]),
        ]
    if answered_by != revision:
        client.systems()  # raises if servers differ, which is another problem than new weights
        raise RunFailed(
            f"the model server now serves {system} in revision {answered_by}, and this run is of revision "
            f"{revision}; run the command again to start a run of the new revision"
        )
    return list(answers)


def _limit_images(items: Sequence[ModuleItem]) -> Iterator[list[ModuleItem]]:
    part: list[ModuleItem] = []
    total = 0
    for item in items:
        size = sum(len(image.data or b"") for image in item.images)
        if part and total + size > MOST_IMAGE_BYTES:
            yield part
            part, total = [], 0
        part.append(item)
        total += size
    if part:
        yield part


def find_served_system(name: str, kind: SystemKind = "reader") -> SystemInfo:
    """Return the server's description of a system of this kind.

    It contains the revision: a server that has not loaded the system yet loads it now.

    Raises:
        UnknownSystem: The server has no such system; the message lists the served names.
        RunFailed: The system is of the other kind.
        ModelServerError: As ``ModelClient.systems`` and ``ModelClient.load``.
    """
    with connect_to_model_servers(patience=0) as client:
        systems = client.systems().systems
        for system in systems:
            if system.name == name:
                _require_kind(system, kind)
                return system if system.revision else client.load(name)
    names = ", ".join(sorted(system.name for system in systems)) or "none"
    raise UnknownSystem(f"the model server at {client.base_url} does not serve {name!r}; it serves: {names}")


def list_served_names(kind: SystemKind) -> list[str]:
    """Return the names of the served systems of a kind.

    Raises:
        ModelServerError: As ``ModelClient.systems``.
    """
    with connect_to_model_servers(patience=0) as client:
        return sorted(system.name for system in client.systems().systems if system.kind == kind)


def _require_kind(system: SystemInfo, kind: SystemKind) -> None:
    if system.kind == kind:
        return
    if kind == "reader":
        raise RunFailed(f"{system.name} is a modular network: it executes programs (execute_programs)")
    raise RunFailed(f"{system.name} is a reader: it answers questions (predict), and executes no programs")


def connect_to_model_servers(*, patience: float, url: str = "") -> ModelClient:
    """Return a client of the model servers that retries for a while.

    Args:
        patience: For how many seconds; 0 for a single try.
        url: The only server to ask. Other clients learn nothing of its failures.
    """
    servers = Servers(url) if url else _get_servers(settings.MODEL_SERVER_URL)
    return ModelClient(servers, token=settings.MODEL_SERVER_TOKEN or None, retry=Retry(total=patience))


@cache
def _get_servers(urls: str) -> Servers:
    """Return this process's servers; slices share what it learned of them."""
    return Servers(urls)
