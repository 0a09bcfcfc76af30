"""The connections of a client: as many as there have been callers at once, each used by one at a time."""

from __future__ import annotations

import http.client
import select
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int | None


class _Plain(http.client.HTTPConnection):
    """A connection that sends head and body in one piece, so that the server reads them at once."""

    _head = b""

    def send(self, data: Any) -> None:
        """Keep the head for `send_all`; http.client calls this with it."""
        self._head += data

    def send_all(self, body: bytes) -> None:
        """Send the head that was made, and the body."""
        whole, self._head = self._head + body, b""
        super().send(whole)


class _Secure(_Plain, http.client.HTTPSConnection):
    """The same over TLS."""


class Connections(httpx.BaseTransport):
    """A transport that sends a request on a connection that nobody uses, and reads its answer to the end.

    Python's own connections under it take less processor time than httpx's, whose pool also looks at all of
    its connections for every request: on the cores that callers share with the model, that decides how many
    answers there are. A connection that broke is closed, one that the server closed meanwhile is opened
    again.
    """

    def __init__(self) -> None:
        self._certificates = httpx.create_ssl_context(trust_env=False)
        self._idle: defaultdict[Origin, list[_Plain]] = defaultdict(list)
        self._closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return its whole answer. Raises what httpx does."""
        url = request.url
        origin = Origin(url.scheme, url.host, url.port)
        idle = self._idle[origin]
        limits = request.extensions.get("timeout", {})
        connection = _usable(idle) or self._opened(origin, limits.get("connect"))
        try:
            response = _exchange(connection, request, limits.get("read"))
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:  # the server lets it stay
            idle.append(connection)
        if self._closed:
            self.close()
        return response

    def close(self) -> None:
        """Close every connection, and those in use as soon as they are not."""
        self._closed = True
        for idle in list(self._idle.values()):
            while idle:
                idle.pop().close()

    def _opened(self, origin: Origin, timeout: float | None) -> _Plain:
        if origin.scheme == "https":
            connection: _Plain = _Secure(
                origin.host, origin.port or 443, timeout=timeout, context=self._certificates
            )
        else:
            connection = _Plain(origin.host, origin.port or 80, timeout=timeout)
        with _as_httpx(httpx.ConnectTimeout, httpx.ConnectError):
            connection.connect()
        return connection


def _usable(idle: list[_Plain]) -> _Plain | None:
    """The connection used last, so that one which is not needed any more grows old; None if there is none.

    One on which something waits to be read was closed by the server: nothing was asked.
    """
    while True:
        try:
            connection = idle.pop()
        except IndexError:
            return None
        waiting = select.poll()
        waiting.register(connection.sock, select.POLLIN)
        if not waiting.poll(0):
            return connection
        connection.close()


def _exchange(connection: _Plain, request: httpx.Request, timeout: float | None) -> httpx.Response:
    with _as_httpx(httpx.ReadTimeout, httpx.ReadError):
        connection.sock.settimeout(timeout)
        connection.putrequest(
            request.method, request.url.raw_path.decode("ascii"), skip_host=True, skip_accept_encoding=True
        )
        for name, value in request.headers.raw:
            connection.putheader(name, value)
        connection.endheaders()
        connection.send_all(request.read())
        answer = connection.getresponse()
        content = answer.read()
    return httpx.Response(answer.status, headers=answer.getheaders(), stream=httpx.ByteStream(content))


@contextmanager
def _as_httpx(late: type[httpx.TimeoutException], broken: type[httpx.NetworkError]) -> Iterator[None]:
    """Raise what goes wrong in the block as httpx would."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except ConnectionResetError as error:  # also http.client's RemoteDisconnected
        raise httpx.RemoteProtocolError(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error
    except (http.client.HTTPException, ValueError) as error:
        raise httpx.RemoteProtocolError(str(error)) from error
