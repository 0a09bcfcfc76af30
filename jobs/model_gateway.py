"""The way of both apps to the model server. Only actions ask it for work; commands ask what it serves."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.conf import settings

from foundation.errors import RunFailed
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import Unavailable, UnknownSystem
from modelserver.wire.load_balancing import Servers
from modelserver.wire.schema import SystemInfo, SystemKind


def served_system(name: str, kind: SystemKind = "reader") -> SystemInfo:
    """Return what the server says about a system of this kind.

    Its revision is known: a server that has not loaded it yet loads it now. Raises UnknownSystem, which
    lists the served names, RunFailed for a system of the other kind, and what ``ModelClient.systems`` and
    ``load`` raise.
    """
    with connected(patience=0) as client:
        systems = client.systems().systems
        for system in systems:
            if system.name == name:
                _require_kind(system, kind)
                return system if system.revision else client.load(name)
    known = ", ".join(sorted(system.name for system in systems)) or "none"
    raise UnknownSystem(f"the model server at {client.base_url} does not serve {name!r}; it serves: {known}")


def served_names(kind: SystemKind) -> list[str]:
    """The names of the served systems of a kind. Raises what ``ModelClient.systems`` raises."""
    with connected(patience=0) as client:
        return sorted(one.name for one in client.systems().systems if one.kind == kind)


def server_problem() -> str | None:
    """Why the server cannot be asked now, as a sentence; None when it answers."""
    try:
        with connected(patience=0) as client:
            client.systems()
    except Unavailable as error:
        return f"The model server does not answer: {error}."
    return None


def _require_kind(system: SystemInfo, kind: SystemKind) -> None:
    if system.kind == kind:
        return
    if kind == "reader":
        raise RunFailed(f"{system.name} is a modular network: it executes programs (execute_programs)")
    raise RunFailed(f"{system.name} is a reader: it answers questions (predict), and executes no programs")


@contextmanager
def connected(*, patience: float) -> Iterator[ModelClient]:
    """Give a client of the model servers. It asks again for ``patience`` seconds in all."""
    url: str = settings.MODEL_SERVER_URL
    token = settings.MODEL_SERVER_TOKEN or None
    with ModelClient(_servers(url), token=token, retry=Retry(total=patience)) as client:
        yield client


@cache
def _servers(urls: str) -> Servers:
    """The servers as this process has come to know them: what one slice learned helps the next."""
    return Servers(urls)
