"""What the actions ask of the model server. Never called inside a transaction: an answer may take minutes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import httpx
from django.conf import settings

from modelserver.client import ModelClient, Retry
from modelserver.errors import InvalidRequest, Unavailable, UnknownSystem
from modelserver.schema import ItemError, QAItem, QAPrediction, SystemInfo
from modelserver.servers import Servers
from studyapp import tracing
from studyapp.errors import RunFailed

PATIENCE_SECONDS = 30.0  # for a server that restarts; the task queue waits longer than that by itself

Outcome = QAPrediction | ItemError


def served_system(name: str) -> SystemInfo:
    """Return what the server says about a system.

    Its revision is known: a server that has not loaded it yet loads it now. Raises UnknownSystem, which
    lists the served names, and what ``ModelClient.systems`` and ``load`` raise.
    """
    with _client(patience=0) as client:
        systems = client.systems().systems
        for system in systems:
            if system.name == name:
                return system if system.revision else client.load(name)
    known = ", ".join(sorted(system.name for system in systems)) or "none"
    raise UnknownSystem(f"the model server at {client.base_url} does not serve {name!r}; it serves: {known}")


def server_problem() -> str | None:
    """Why the server cannot be asked now, as a sentence; None when it answers."""
    try:
        with _client(patience=0) as client:
            client.systems()
    except Unavailable as error:
        return f"The model server does not answer: {error}."
    return None


def ask(*, system: str, revision: str, items: Sequence[QAItem]) -> list[Outcome]:
    """Return one prediction or error for each item, in their order.

    Raises RunFailed when another revision answers than the one asked for, MixedRevisions when two servers
    differ, and what ``ModelClient.predict`` raises but InvalidRequest: an item that the server refuses
    becomes an ItemError of its own.
    """
    with _client(patience=PATIENCE_SECONDS) as client:
        return _asked(client, system, revision, items)


def _asked(client: ModelClient, system: str, revision: str, items: Sequence[QAItem]) -> list[Outcome]:
    try:
        response = client.predict(system, items, request_id=tracing.label() or None)
    except InvalidRequest as error:
        if len(items) == 1:
            return [ItemError(id=items[0].id, error="invalid_item", message=str(error))]
        # Too much at once, or one bad item: halves find out which, and lose nothing else.
        half = len(items) // 2
        return [
            *_asked(client, system, revision, items[:half]),
            *_asked(client, system, revision, items[half:]),
        ]
    if response.revision != revision:
        client.systems()  # raises where servers differ, which is not the same as new weights
        raise RunFailed(
            f"the model server now serves {system} in revision {response.revision}, and this run is of "
            f"revision {revision}; predict again to begin a run of the new one"
        )
    return list(response.predictions)


@contextmanager
def _client(*, patience: float) -> Iterator[ModelClient]:
    url: str = settings.MODEL_SERVER_URL
    # Loading the certificates for TLS takes longer than a small request, and a plain URL needs none.
    with httpx.Client(trust_env=False, verify="https:" in url) as http:
        yield ModelClient(
            _servers(url), http=http, token=settings.MODEL_SERVER_TOKEN or None, retry=Retry(total=patience)
        )


@cache
def _servers(urls: str) -> Servers:
    """The servers as this process has come to know them: what one slice learned helps the next."""
    return Servers(urls)
