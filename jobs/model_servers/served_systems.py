"""The model servers and their systems, for pages: with a time limit.

A page never waits for a server that hangs, and asks each one at most once in `KEPT_SECONDS`.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from threading import Lock
from urllib.parse import urlsplit

from django.conf import settings

from jobs.model_servers.gateway import connect_to_model_servers
from modelserver.wire.errors import ModelServerError
from modelserver.wire.load_balancing import Servers
from modelserver.wire.schema import SystemInfo

PATIENCE_SECONDS = 1.0
KEPT_SECONDS = 10.0


@dataclass(frozen=True)
class ServerState:
    """A model server.

    Attributes:
        address: Its host and port, without the login that a URL may hold.
        systems: The systems that it serves.
        answers: False if it did not answer in time, or not as a model server.
    """

    address: str
    systems: tuple[SystemInfo, ...]
    answers: bool


_states: dict[str, tuple[float, list[ServerState]]] = {}
_lock = Lock()


def read_server_states() -> list[ServerState]:
    """Return the state of each model server, at most a few seconds old."""
    urls: str = settings.MODEL_SERVER_URL
    with _lock:
        at, states = _states.get(urls, (-KEPT_SECONDS, []))
    if time.monotonic() - at < KEPT_SECONDS:
        return states
    states = _ask_servers([server.url for server in Servers(urls).all])
    with _lock:
        _states.clear()
        _states[urls] = time.monotonic(), states
    return states


def list_served_systems() -> list[SystemInfo]:
    """Return the systems that every answering server has, by name."""
    answering = [
        {system.name: system for system in server.systems}
        for server in read_server_states()
        if server.answers
    ]
    if not answering:
        return []
    first, *others = answering
    return [first[name] for name in sorted(first) if all(name in other for other in others)]


def _ask_servers(urls: list[str]) -> list[ServerState]:
    """Ask all servers at once."""
    pool = ThreadPoolExecutor(max_workers=len(urls))
    asked = [pool.submit(_ask, url) for url in urls]
    end = time.monotonic() + PATIENCE_SECONDS
    states = [
        _await_state(url, future, end - time.monotonic()) for url, future in zip(urls, asked, strict=True)
    ]
    pool.shutdown(wait=False, cancel_futures=True)
    return states


def _await_state(url: str, future: "Future[list[SystemInfo]]", seconds: float) -> ServerState:
    parts = urlsplit(url)
    address = parts.hostname or url
    address += f":{parts.port}" if parts.port else ""
    try:
        return ServerState(address, tuple(future.result(timeout=max(0.0, seconds))), answers=True)
    except (Late, ModelServerError):
        return ServerState(address, (), answers=False)


def _ask(url: str) -> list[SystemInfo]:
    with connect_to_model_servers(patience=0, url=url) as client:
        return client.systems().systems
