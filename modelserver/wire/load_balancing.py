"""Several servers of one client: which is asked next, and which is left alone for a while."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from modelserver.wire.errors import Unavailable

SHORTEST_REST = 0.5  # seconds, after a first failure; each further one doubles it
LONGEST_REST = 60.0


@dataclass(eq=False)
class Server:
    """One server as its clients see it: requests in flight, failures in a row, and until when it rests.

    ``wakes`` is a time of ``time.monotonic``. ``revisions`` are those its answers named, by system.
    """

    url: str
    in_flight: int = 0
    failures: int = 0
    wakes: float = 0.0
    revisions: dict[str, str] = field(default_factory=dict)


class Servers:
    """The servers behind the URLs; one object may be shared by clients and threads, but not by processes.

    Of the servers that are awake the one with the fewest requests in flight goes first, ties at random. One
    that failed rests, each time in a row for up to twice as long, and at least for as long as it asked for
    itself. A rest is a preference: when all rest, the one that wakes first is asked all the same.

    Raises ValueError where there is no URL, or one that is no address of a server.
    """

    def __init__(self, urls: str | Sequence[str]) -> None:
        parts = urls.split(",") if isinstance(urls, str) else urls
        cleaned = dict.fromkeys(part.strip().rstrip("/") for part in parts if part.strip())
        if not cleaned:
            raise ValueError("there is no URL of a model server")
        for url in cleaned:
            _require_address(url)
        self.all = [Server(url) for url in cleaned]
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return ", ".join(server.url for server in self.all)

    def take(self, tried: Collection[Server] = ()) -> Server | None:
        """Return the server to ask next, not one of ``tried``; None when there is no other.

        It counts as in flight until ``give_back``.
        """
        with self._lock:
            now = time.monotonic()
            left = [server for server in self.all if server not in tried]
            awake = [server for server in left if server.wakes <= now]
            if awake:
                fewest = min(server.in_flight for server in awake)
                chosen = random.choice([server for server in awake if server.in_flight == fewest])
            elif left and not self._any_awake(now):
                chosen = min(left, key=lambda server: server.wakes)
            else:
                return None
            chosen.in_flight += 1
            return chosen

    def give_back(self, server: Server, failure: Unavailable | None) -> None:
        """End a request; with a failure the server rests, without one its failures are forgotten."""
        with self._lock:
            server.in_flight -= 1
            if failure is None:
                server.failures, server.wakes = 0, 0.0
                return
            longest = min(LONGEST_REST, SHORTEST_REST * 2**server.failures)
            rest = max(random.uniform(longest / 2, longest), failure.retry_after or 0.0)
            server.failures = min(server.failures + 1, 30)  # or the power would outgrow a float
            server.wakes = time.monotonic() + rest

    def _any_awake(self, now: float) -> bool:
        return any(server.wakes <= now for server in self.all)


def _require_address(url: str) -> None:
    wrong = ValueError(f"{url!r} is no URL of a model server: it needs http:// or https://, and a host")
    try:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            raise wrong
    except ValueError as error:  # as for a port that is none
        raise wrong from error
