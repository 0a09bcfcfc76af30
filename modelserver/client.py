"""The client of the model server: typed values in and out, explicit timeouts, bounded retries.

It knows no Django and no torch. One client may be shared by threads, but not by processes: make it after
a fork.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

import httpx
from pydantic import ValidationError

from modelserver.errors import (
    ON_THE_WIRE,
    BadResponse,
    DeadlineExceeded,
    InvalidRequest,
    ModelServerError,
    SchemaMismatch,
    Unavailable,
)
from modelserver.schema import ErrorBody, PredictRequest, PredictResponse, QAItem, SystemList, Wire

CONNECT_SECONDS = 5.0
SLACK_SECONDS = 5.0  # so that the server's own "deadline exceeded" arrives before the socket times out

W = TypeVar("W", bound=Wire)


@dataclass(frozen=True)
class Retry:
    """How long to go on after a broken connection or a 503. Times are in seconds.

    The pause before attempt n is uniform between 0 and ``base * 2**n``, at most ``longest``; where the
    server named a time, it is that time plus such a jitter. ``total`` bounds all pauses of one call
    together; with 0 nothing is tried again.
    """

    total: float = 30.0
    base: float = 0.1
    longest: float = 5.0

    def pause(self, attempt: int, retry_after: float | None) -> float:
        jitter = random.uniform(0, min(self.longest, self.base * 2**attempt))
        return jitter if retry_after is None else retry_after + jitter


class ModelClient:
    """A connection to one model server.

    ``timeout`` (seconds) is the deadline of one predict attempt; the server gets it too and drops what it
    cannot do in time. ``http`` may be any httpx client, for a proxy, own certificates or a test; it
    stays open when this client closes. Every method raises errors of ``modelserver.errors`` only:
    Unavailable when the server cannot be reached or has no room until the retries are used up,
    SchemaMismatch, Unauthorized, and BadResponse when something else than a model server answers.
    """

    def __init__(
        self, base_url: str, *, http: httpx.Client | None = None, token: str | None = None,
        timeout: float = 300.0, retry: Retry | None = None,
    ) -> None:  # fmt: skip
        self.base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._retry = retry or Retry()
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._owned = None
        if http is None:
            # No proxy from the environment: a proxy cannot reach the loopback address of this machine.
            http = self._owned = httpx.Client(trust_env=False)
        self._http = http

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that this client opened."""
        if self._owned is not None:
            self._owned.close()

    def systems(self) -> SystemList:
        """Return the systems that the server has loaded."""
        return self._retried(lambda: _parsed(SystemList, self._sent("GET", "/v1/systems", timeout=10.0)))

    def predict(
        self,
        system: str,
        items: Sequence[QAItem],
        *,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> PredictResponse:
        """Return one prediction or one error for each item, in their order.

        ``request_id`` appears in the server's log. Raises also UnknownSystem, InvalidRequest (which names
        the field), TooLarge and DeadlineExceeded, the last without a retry.
        """
        seconds = self._timeout if timeout is None else timeout
        try:
            body = PredictRequest(system=system, items=list(items)).model_dump_json()
        except ValidationError as error:
            raise _invalid(error) from error
        headers = {"Content-Type": "application/json", "X-Timeout-Seconds": f"{seconds:g}"}
        if request_id:
            headers["X-Request-ID"] = request_id

        def attempt() -> PredictResponse:
            answer = self._sent(
                "POST", "/v1/predict", timeout=seconds + SLACK_SECONDS, headers=headers, content=body
            )
            return _checked(_parsed(PredictResponse, answer), system, items)

        return self._retried(attempt)

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Return once the server takes predictions. Raises Unavailable after ``timeout`` seconds."""
        end = time.monotonic() + timeout
        while True:
            try:
                self._sent("GET", "/ready", timeout=5.0)
                return
            except Unavailable as error:
                if time.monotonic() >= end:
                    raise Unavailable(
                        f"{self.base_url} was not ready within {timeout:g} s: {error}"
                    ) from error
            time.sleep(0.05)

    def _retried(self, attempt: Callable[[], W]) -> W:
        left = self._retry.total
        tries = 0
        while True:
            try:
                return attempt()
            except DeadlineExceeded:
                raise  # all of the caller's time is used up
            except Unavailable as error:
                pause = self._retry.pause(tries, error.retry_after)
                if pause > left or not self._retry.total:
                    raise
                time.sleep(pause)
                left -= pause
                tries += 1

    def _sent(
        self,
        method: str,
        path: str,
        *,
        timeout: float,
        headers: dict[str, str] | None = None,
        content: str | None = None,
    ) -> httpx.Response:
        """Send one request and return its 200 response, or raise what went wrong as one of our errors."""
        limits = httpx.Timeout(timeout, connect=CONNECT_SECONDS, pool=timeout)
        url = f"{self.base_url}{path}"
        try:
            response = self._http.request(
                method, url, headers=self._headers | (headers or {}), content=content, timeout=limits
            )
        except (httpx.NetworkError, httpx.ConnectTimeout, httpx.RemoteProtocolError) as error:
            # Predictions have no side effect, so asking again after a connection broke is safe.
            raise Unavailable(f"{self.base_url} cannot be reached: {_reason(error)}") from error
        except httpx.TimeoutException as error:
            raise DeadlineExceeded(f"{self.base_url} did not answer within {timeout:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise BadResponse(f"{self.base_url}: {_reason(error)}") from error
        if response.status_code != httpx.codes.OK:
            raise _error_of(response)
        return response


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _error_of(response: httpx.Response) -> ModelServerError:
    """Return the error that a response says; a gateway's 502, 503 or 504 counts as Unavailable."""
    retry_after = response.headers.get("Retry-After", "")
    wait = float(retry_after) if retry_after.isdigit() else None
    try:
        body = ErrorBody.model_validate_json(response.content)
    except ValidationError:
        message = f"{response.url} answered {response.status_code}"
        if response.status_code in {502, 503, 504}:
            return Unavailable(message, retry_after=wait)
        return BadResponse(f"{message}, not in the form of a model server")
    kind = ON_THE_WIRE.get(body.error, BadResponse)
    return kind(body.message, field=body.field, retry_after=wait)


def _parsed(kind: type[W], response: httpx.Response) -> W:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)
        mismatch = next((one["msg"] for one in first if one["type"] == "schema_mismatch"), None)
        if mismatch is not None:
            raise SchemaMismatch(f"{response.url} {mismatch}") from error
        where = ".".join(map(str, first[0]["loc"]))
        raise BadResponse(
            f"{response.url} answered what is no {kind.__name__}: {where}: {first[0]['msg']}"
        ) from error


def _invalid(error: ValidationError) -> InvalidRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    return InvalidRequest(first["msg"], field=".".join(map(str, first["loc"])) or None)


def _checked(response: PredictResponse, system: str, items: Sequence[QAItem]) -> PredictResponse:
    """Return the response if it answers exactly what was asked, in its order."""
    if response.system != system:
        raise BadResponse(f"asked {system!r}, answered by {response.system!r}")
    asked, answered = [item.id for item in items], [outcome.id for outcome in response.predictions]
    if asked != answered:
        differing = next((pair for pair in zip(asked, answered, strict=False) if pair[0] != pair[1]), None)
        where = (
            f"{differing[1]!r} in the place of {differing[0]!r}" if differing else f"{len(answered)} outcomes"
        )
        raise BadResponse(f"{len(asked)} items were asked, but the answer has {where}")
    return response
