"""Choose among several servers, and leave failing ones alone for a while."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from modelserver.wire.errors import Unavailable
from modelserver.wire.redaction import redact_logins

SHORTEST_REST = 0.5  # seconds, after a first failure; each further one doubles it
LONGEST_REST = 60.0


@dataclass(eq=False)
class Server:
    """One server as its clients see it.

    It counts requests in flight and failures in a row. ``wakes`` is the time of ``time.monotonic`` until
    which it rests. ``revisions`` are those its answers named, by system.
    """

    url: str = field(repr=False)  # may hold a password
    in_flight: int = 0
    failures: int = 0
    wakes: float = 0.0
    revisions: dict[str, str] = field(default_factory=dict)


class Servers:
    """The servers behind the URLs.

    One object may be shared by clients and threads, but not by processes. Of the servers that do not
    rest, the one with the fewest requests in flight goes first, ties at random. A server that failed
    rests, after each failure in a row for up to twice as long, and at least for as long as it asked for
    itself. A rest is a preference: if all rest, the one that wakes first is asked all the same.

    Raises ValueError if there is no URL, or an invalid one.
    """

    def __init__(self, urls: str | Sequence[str]) -> None:
        parts = urls.split(",") if isinstance(urls, str) else urls
        cleaned = dict.fromkeys(part.strip().rstrip("/") for part in parts if part.strip())
        if not cleaned:
            raise ValueError("no URL of a model server was given")
        for url in cleaned:
            if not is_server_url(url):
                raise ValueError(
                    f"{redact_logins(url)!r} is not the URL of a model server: it needs http:// or https://, "
                    "and a host"
                )
        self.all = [Server(url) for url in cleaned]
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return redact_logins(", ".join(server.url for server in self.all))

    def take(self, tried: Collection[Server] = ()) -> Server | None:
        """Return the server to ask next, not one of ``tried``, or None.

        It counts as in flight until ``give_back``.
        """
        with self._lock:
            now = time.monotonic()
            left = [server for server in self.all if server not in tried]
            awake = [server for server in left if server.wakes <= now]
            if awake:
                fewest = min(server.in_flight for server in awake)
                chosen = random.choice([server for server in awake if server.in_flight == fewest])
            elif left and not self._has_awake_server(now):
                chosen = min(left, key=lambda server: server.wakes)
            else:
                return None
            chosen.in_flight += 1
            return chosen

    def give_back(self, server: Server, failure: Unavailable | None) -> None:
        """End a request.

        After a failure the server rests; a success clears its failures.
        """
        with self._lock:
            server.in_flight -= 1
            if failure is None:
                server.failures, server.wakes = 0, 0.0
                return
            longest = min(LONGEST_REST, SHORTEST_REST * 2**server.failures)
            rest = max(random.uniform(longest / 2, longest), failure.retry_after or 0.0)
            server.failures = min(server.failures + 1, 30)  # or the power would outgrow a float
            server.wakes = time.monotonic() + rest

    def _has_awake_server(self, now: float) -> bool:
        return any(server.wakes <= now for server in self.all)


def is_server_url(url: str) -> bool:
    """Return True for an http or https URL with a host, and a port if any."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # as for a port that is none
        return False
