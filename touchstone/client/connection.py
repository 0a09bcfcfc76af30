"""Requests to a site: authentication, pages, streams, retries, errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import IOBase
from pathlib import Path
from typing import Any, BinaryIO, ClassVar
from urllib.parse import quote
from uuid import uuid4

import httpx

from .errors import BY_STATUS, ApiError, FieldProblem, Unreachable, WaitTimeout

JSON, LINES, FILE = "application/json", "application/x-ndjson", "application/octet-stream"
TRIES = 4
LONGEST_WAIT = 120.0  # seconds of a Retry-After that the client waits for; longer ones are the caller's
_RETRIED = (429, 503)
_IDEMPOTENT = ("GET", "PUT", "DELETE")
_PROBLEM = ("type", "title", "status", "detail", "errors")  # members of every problem

Query = Mapping[str, str | int | bool | None]


def build_address(*parts: str) -> str:
    """Return the address of an endpoint, with its parts quoted."""
    return "/".join(["/api/v1", *(quote(part, safe="") for part in parts), ""])


class Connection:
    """A connection to a site with a token.

    Args:
        url: The address of the site, without ``/api/``.
        token: An API token, ``tst_…``.
        timeout: Seconds to wait for a connection, and for each part of a response.
        transport: Takes the place of the network, for tests and special networks.
        sleep: Waits between two tries.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}", "Accept": JSON},
            timeout=timeout,
            transport=transport,
        )
        self._sleep = sleep

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, path: str, **query: str | int | bool | None) -> Any:
        """Return the JSON of a GET request; a parameter of None is not sent."""
        return self._send("GET", path, params=_format_query(query)).json()

    def send(
        self, method: str, path: str, body: Any = None, *, once: bool = False, etag: str | None = None
    ) -> httpx.Response:
        """Send a request with a JSON body.

        Args:
            method: The HTTP method.
            path: The address.
            body: The body; None sends none.
            once: Send an ``Idempotency-Key``, so that trying again creates nothing twice.
            etag: The state that the request changes, for ``If-Match``.
        """
        headers = _make_key_header(once) | ({"If-Match": etag} if etag is not None else {})
        return self._send(method, path, json=body, headers=headers)

    def upload(
        self,
        path: str,
        content: bytes | BinaryIO,
        media_type: str,
        query: Query,
        *,
        once: bool = False,
    ) -> Any:
        """Send a file or lines, and return the JSON of the response.

        ``once`` is that of `send`.
        """
        headers = {"Content-Type": media_type, **_make_key_header(once)}
        return self._send("POST", path, content=content, headers=headers, params=_format_query(query)).json()

    def pages(self, path: str, query: Query) -> Iterator[Any]:
        """Yield all rows of a list, page by page."""
        parameters = httpx.QueryParams(_format_query(query))
        while True:
            page = self._send("GET", path, params=parameters).json()
            yield from page["results"]
            if page.get("next") is None:
                return
            # Of the address only the query counts: behind a proxy the site may not know its own name, and
            # the token is for no other one.
            parameters = httpx.URL(page["next"]).params

    def lines(self, path: str) -> Iterator[Any]:
        """Yield the rows of a list as the site streams them."""
        with self._stream(path, LINES) as response:
            for line in response.iter_lines():
                yield json.loads(line)

    def download(self, path: str, target: Path) -> Path:
        """Write the file at an address; an unfinished one never gets the name."""
        unfinished = target.with_name(f"{target.name}.part")
        try:
            with self._stream(path, FILE) as response, unfinished.open("wb") as file:
                for block in response.iter_bytes():
                    file.write(block)
            return unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)

    def wait(
        self,
        read: Callable[[], Any],
        *,
        progress: Callable[[Any], None] | None,
        timeout: float | None,
        every: float,
    ) -> Any:
        """Read a row until it is finished, and return it.

        Args:
            read: Returns the row, with its ``status``.
            progress: Is called with each state.
            timeout: Seconds to wait at most; None waits for ever.
            every: Seconds between two requests.

        Raises:
            WaitTimeout: It is not finished in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            row = read()
            if progress is not None:
                progress(row)
            if row["status"] not in ("pending", "running"):
                return row
            if end is not None and time.monotonic() + every > end:
                raise WaitTimeout(f"still {row['status']} after {timeout:g} seconds")
            self._sleep(every)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with _convert_network_errors():
            for left in reversed(range(TRIES)):
                if isinstance(options.get("content"), IOBase):
                    options["content"].seek(0)  # the last try read it to the end
                request = self._http.build_request(method, path, **options)
                response = self._http.send(request)
                if response.is_success:
                    _check_api(response)
                    return response
                error = _parse_error(response)
                if not left or not _may_repeat(request, error):
                    raise error
                self._sleep(error.retry_after or 0.0)
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _stream(self, path: str, media_type: str) -> Iterator[httpx.Response]:
        with (
            _convert_network_errors(),
            self._http.stream("GET", path, headers={"Accept": media_type}) as response,
        ):
            if not response.is_success:
                response.read()
                raise _parse_error(response)
            yield response


class Subject:
    """A part of a site, at addresses below ``_root``."""

    _root: ClassVar[str]

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _get(self, *parts: str, **query: str | int | bool | None) -> Any:
        return self._connection.get(build_address(self._root, *parts), **query)

    def _pages(self, *parts: str, **query: str | int | bool | None) -> Iterator[Any]:
        return self._connection.pages(build_address(self._root, *parts), query)

    def _send(self, method: str, *parts: str, body: Any = None, once: bool = False) -> Any:
        return self._connection.send(method, build_address(self._root, *parts), body, once=once).json()

    def _post(self, *parts: str, body: Any = None) -> Any:
        return self._send("POST", *parts, body=body)

    def _create(self, *parts: str, body: Any = None) -> Any:
        return self._send("POST", *parts, body=body, once=True)

    def _act(self, *parts: str, body: Any) -> None:
        """Send what the site answers without a body."""
        self._connection.send("POST", build_address(self._root, *parts), body)

    def _delete(self, *parts: str) -> None:
        self._connection.send("DELETE", build_address(self._root, *parts))

    def _upload(self, file: str | Path, query: Query, *parts: str, once: bool = False) -> Any:
        path = build_address(self._root, *parts)
        with Path(file).open("rb") as content:
            return self._connection.upload(path, content, FILE, query, once=once)

    def _download(self, *parts: str, to: str | Path) -> Path:
        return self._connection.download(build_address(self._root, *parts), Path(to))


def _make_key_header(once: bool) -> dict[str, str]:
    return {"Idempotency-Key": uuid4().hex} if once else {}


def _check_api(response: httpx.Response) -> None:
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    if response.content and media_type != JSON:
        raise Unreachable(f"{response.url} answered with {media_type}; is this a Touchstone site?")


def _format_query(query: Query) -> dict[str, str]:
    texts = {True: "true", False: "false"}
    return {
        name: texts[value] if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }


def _may_repeat(request: httpx.Request, error: ApiError) -> bool:
    """Return whether to send a request again: only if it cannot act twice."""
    idempotent = request.method in _IDEMPOTENT or "Idempotency-Key" in request.headers
    waits = error.retry_after is not None and error.retry_after <= LONGEST_WAIT
    return idempotent and error.status in _RETRIED and waits


def _parse_error(response: httpx.Response) -> ApiError:
    """Return the error that a response describes; a proxy may answer in HTML."""
    status = response.status_code
    try:
        body = response.json()
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    title = str(body.get("title") or response.reason_phrase)
    detail = str(body.get("detail") or title)
    fields = [FieldProblem(problem["field"], problem["detail"]) for problem in body.get("errors", ())]
    members = {name: value for name, value in body.items() if name not in _PROBLEM}
    kind = BY_STATUS.get(status, ApiError)
    return kind(status, title, detail, fields, _parse_seconds(response), members)


def _parse_seconds(response: httpx.Response) -> float | None:
    try:
        return max(float(response.headers["Retry-After"]), 0.0)
    except (KeyError, ValueError):  # without the header, or with a date, which the site never sends
        return None


@contextmanager
def _convert_network_errors() -> Iterator[None]:
    """Turn errors of the network into ours."""
    try:
        yield
    except httpx.HTTPError as error:
        raise Unreachable(f"The site cannot be reached: {error or type(error).__name__}") from error
