"""The connections of a client: as many as there have been callers at once, each used by one at a time."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from typing import NamedTuple

import httpx


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int | None


class Connections(httpx.BaseTransport):
    """A transport that hands a request to a connection nobody uses, and reads its answer to the end.

    httpx's own pool looks at all of its connections for every request, which with 32 callers takes longer
    than all else that the client does. One that broke is closed; one that the server closed meanwhile is
    found out and opened again by httpx.
    """

    def __init__(self) -> None:
        self._certificates = httpx.create_ssl_context(trust_env=False)
        self._idle: defaultdict[Origin, list[httpx.HTTPTransport]] = defaultdict(list)
        self._closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return its whole answer. Raises what httpx does."""
        url = request.url
        idle = self._idle[Origin(url.scheme, url.host, url.port)]
        try:
            connection = idle.pop()  # the last used, so that one which is not needed any more grows old
        except IndexError:
            connection = self._opened()
        try:
            response = connection.handle_request(request)
            assert isinstance(response.stream, httpx.SyncByteStream)
            with closing(response):
                content = httpx.ByteStream(b"".join(response.stream))
        except BaseException:
            connection.close()
            raise
        idle.append(connection)
        if self._closed:
            self.close()
        return httpx.Response(
            response.status_code, headers=response.headers, stream=content, extensions=response.extensions
        )

    def close(self) -> None:
        """Close every connection, and those in use as soon as they are not."""
        self._closed = True
        for idle in list(self._idle.values()):
            while idle:
                idle.pop().close()

    def _opened(self) -> httpx.HTTPTransport:
        return httpx.HTTPTransport(
            verify=self._certificates, trust_env=False, limits=httpx.Limits(max_connections=1)
        )
