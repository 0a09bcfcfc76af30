"""The client of one or several model servers.

Typed values in and out, explicit timeouts, bounded retries. It knows no Django and no torch. One client
may be shared by threads, but not by processes: create it after a fork.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self, TypedDict, TypeVar, Unpack

import httpx
from pydantic import ValidationError

from modelserver.wire.errors import (
    ON_THE_WIRE,
    BadResponse,
    DeadlineExceeded,
    InvalidRequest,
    MixedRevisions,
    ModelServerError,
    SchemaMismatch,
    Unavailable,
)
from modelserver.wire.load_balancing import Server, Servers
from modelserver.wire.schema import (
    ErrorBody,
    ExecuteRequest,
    ExecuteResponse,
    ExplainRequest,
    ExplainResponse,
    LoadRequest,
    ModuleItem,
    PredictRequest,
    PredictResponse,
    QAItem,
    SaliencyOptions,
    SystemInfo,
    SystemList,
    Wire,
    format_first_problem,
    format_problem_message,
)
from modelserver.wire.system_protocol import Outcome

CONNECT_SECONDS = 5.0
KEEP_ALIVE_SECONDS = 25.0  # less than the 30 s after which the server closes an idle connection
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
SLACK_SECONDS = 5.0  # so that the server's own "deadline exceeded" arrives before the socket times out

W = TypeVar("W", bound=Wire)
A = TypeVar("A", PredictResponse, ExplainResponse, ExecuteResponse)
Request = PredictRequest | ExecuteRequest
Response = PredictResponse | ExplainResponse | ExecuteResponse


class Call(TypedDict, total=False):
    """The options of one call.

    ``timeout`` is its deadline in seconds, ``request_id`` appears in the server's log.
    """

    timeout: float | None
    request_id: str | None


@dataclass(frozen=True)
class Retry:
    """Limits of further attempts after a broken connection or a 503.

    Times are in seconds. The pause before attempt n is uniform between 0 and ``base * 2**n``, at most
    ``longest``; if the server named a time, it is that time plus such a jitter. ``total`` bounds all
    pauses of one call together; with 0 nothing is tried again.
    """

    total: float = 30.0
    base: float = 0.1
    longest: float = 5.0

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait before the next attempt."""
        jitter = random.uniform(0, min(self.longest, self.base * 2**attempt))
        return jitter if retry_after is None else retry_after + jitter


def make_http_client(urls: str) -> httpx.Client:
    """Return a client with a kept-alive connection for each caller.

    It uses no proxy from the environment, because a proxy cannot reach the
    loopback address of this machine, and loads the certificates for TLS only
    for an https URL, because that takes longer than a small request.
    """
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEP_ALIVE_SECONDS
    )
    return httpx.Client(trust_env=False, verify="https:" in urls, limits=limits)


class ModelClient:
    """A client of one model server, or of several that serve the same systems.

    ``base_url`` is a URL, several separated by commas, a list of them, or a Servers object, which
    clients of one process may share so that all of them learn which servers fail. A request goes to the
    server with the fewest requests in flight. A server that cannot be reached, drops the connection or
    answers 503 is left alone for a while, and the request goes to another one within the same deadline.
    Every server gets the same token.

    ``timeout`` (seconds) is the deadline of one predict attempt; the server gets it too and drops what
    it cannot do in time. ``http`` may be any httpx client, for a proxy, own certificates or a test; it
    stays open when this client closes. The constructor raises ValueError for an invalid URL. Every
    method raises errors of ``modelserver.wire.errors`` only: Unavailable if no server can be reached or
    has room until the retries are used up, SchemaMismatch, Unauthorized, MixedRevisions if two servers
    serve a system in different revisions, and BadResponse if something other than a model server
    answers.
    """

    def __init__(
        self, base_url: str | Sequence[str] | Servers, *, http: httpx.Client | None = None,
        token: str | None = None, timeout: float = 300.0, retry: Retry | None = None,
    ) -> None:  # fmt: skip
        self._servers = base_url if isinstance(base_url, Servers) else Servers(base_url)
        self.base_url = str(self._servers)
        self._timeout = timeout
        self._retry = retry or Retry()
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._owned = None
        if http is None:
            http = self._owned = make_http_client(self.base_url)
        self._http = http

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that this client opened."""
        if self._owned is not None:
            self._owned.close()

    def systems(self) -> SystemList:
        """Return the systems that all answering servers have in common."""
        return self._ask_with_retries(10.0, self._systems)

    def _systems(self, first: Server, seconds: float) -> SystemList:
        """Ask the first server, which must answer, and all that do not rest."""
        lists = {first: self._fetch_system_list(first, seconds)}
        tried = [first]
        while (server := self._servers.take(tried)) is not None:
            tried.append(server)
            with suppress(Unavailable), self._report_outcome(server):
                lists[server] = self._fetch_system_list(server, seconds)
        return SystemList(systems=_find_common_systems(lists))

    def _fetch_system_list(self, server: Server, seconds: float) -> SystemList:
        listed = _parse_response(SystemList, self._send(server, "/v1/systems", seconds))
        server.revisions = {system.name: system.revision for system in listed.systems if system.revision}
        return listed

    def load(self, system: str, *, timeout: float | None = None) -> SystemInfo:
        """Have a server load a system if needed and return its description.

        Raises also UnknownSystem, LoadFailed and DeadlineExceeded.
        """
        body = _serialise_request(LoadRequest(system=system))

        def attempt(server: Server, left: float) -> SystemInfo:
            return _parse_response(SystemInfo, self._post(server, "/v1/load", body, left))

        return self._ask_with_retries(timeout, attempt)

    def predict(self, system: str, items: Sequence[QAItem], **call: Unpack[Call]) -> PredictResponse:
        """Return one prediction or one error for each item, in their order.

        Raises also UnknownSystem, InvalidRequest (which names the field), TooLarge and DeadlineExceeded,
        the last without a retry.
        """
        request = _build_request(PredictRequest, system=system, items=list(items))
        return self._ask(PredictResponse, "/v1/predict", request, **call)

    def explain(
        self,
        system: str,
        items: Sequence[QAItem],
        options: SaliencyOptions | None = None,
        **call: Unpack[Call],
    ) -> ExplainResponse:
        """Return the saliency, or an error, of each item, in their order.

        Raises as `predict` does, and InvalidRequest for a system that has no saliency.
        """
        options = options or SaliencyOptions()
        request = _build_request(ExplainRequest, system=system, items=list(items), options=options)
        return self._ask(ExplainResponse, "/v1/explain", request, **call)

    def execute(self, system: str, items: Sequence[ModuleItem], **call: Unpack[Call]) -> ExecuteResponse:
        """Return the outputs of each item's modules, or an error, in item order.

        Raises as `predict` does, and InvalidRequest for a system that executes no programs.
        """
        request = _build_request(ExecuteRequest, system=system, items=list(items))
        return self._ask(ExecuteResponse, "/v1/execute", request, **call)

    def _ask(
        self,
        kind: type[A],
        path: str,
        request: Request,
        *,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> A:
        """Send a request about items and return the checked response."""
        body = _serialise_request(request)
        headers: dict[str, str] = {}
        if request_id:
            if not REQUEST_ID.fullmatch(request_id):
                message = f"{request_id!r} is not 1 to 128 letters, digits, '.', '_' or '-'"
                raise InvalidRequest(message, field="request_id")
            headers["X-Request-ID"] = request_id

        def attempt(server: Server, left: float) -> A:
            response = _parse_response(kind, self._post(server, path, body, left, **headers))
            _require_answered(response, request)
            self._compare(server, response)
            return response

        return self._ask_with_retries(timeout, attempt)

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Return once a server takes predictions.

        Raises Unavailable after ``timeout`` seconds.
        """
        end = time.monotonic() + timeout
        while True:
            for server in self._servers.all:
                try:
                    self._send(server, "/ready", 5.0)
                    return
                except Unavailable as error:
                    if time.monotonic() >= end:
                        raise Unavailable(
                            f"{self.base_url} was not ready within {timeout:g} s: {error}"
                        ) from error
            time.sleep(0.05)

    def _ask_with_retries(self, timeout: float | None, attempt: Callable[[Server, float], W]) -> W:
        seconds = self._timeout if timeout is None else timeout
        left = self._retry.total
        tries = 0
        while True:
            try:
                return self._ask_each_server(seconds, attempt)
            except DeadlineExceeded:
                raise  # all of the caller's time is used up
            except Unavailable as error:
                pause = self._retry.pause(tries, error.retry_after)
                if pause > left or not self._retry.total:
                    raise
                time.sleep(pause)
                left -= pause
                tries += 1

    def _ask_each_server(self, seconds: float, attempt: Callable[[Server, float], W]) -> W:
        """Ask each server once until one answers, all within ``seconds``."""
        end = time.monotonic() + seconds
        left, failures = seconds, dict[Server, Unavailable]()
        while (server := self._servers.take(failures)) is not None:
            try:
                with self._report_outcome(server):
                    return attempt(server, left)
            except DeadlineExceeded:
                raise
            except Unavailable as error:
                failures[server] = error
            left = end - time.monotonic()
            if left <= 0:
                break
        raise _merge_failures(list(failures.values()))

    @contextmanager
    def _report_outcome(self, server: Server) -> Iterator[None]:
        """Report to the load balancer how the request of the block ended."""
        failure = None
        try:
            yield
        except Unavailable as error:
            failure = error
            raise
        finally:
            self._servers.give_back(server, failure)

    def _compare(self, server: Server, response: Response) -> None:
        """Raise MixedRevisions if another server has another revision now.

        A server whose earlier answer named another revision is asked again, because both may have
        changed since.
        """
        name, revision = response.system, response.revision
        server.revisions[name] = revision
        for other in self._servers.all:
            if other.revisions.get(name, revision) != revision:
                del other.revisions[name]
                with suppress(Unavailable):
                    _find_common_systems(
                        {
                            server: self._fetch_system_list(server, 10.0),
                            other: self._fetch_system_list(other, 10.0),
                        }
                    )

    def _post(self, server: Server, path: str, body: str, seconds: float, **headers: str) -> httpx.Response:
        """Post JSON with a deadline, which the server receives too."""
        always = {"Content-Type": "application/json", "X-Timeout-Seconds": f"{seconds:g}"}
        return self._send(server, path, seconds + SLACK_SECONDS, body, **always, **headers)

    def _send(
        self, server: Server, path: str, seconds: float, body: str | None = None, **headers: str
    ) -> httpx.Response:
        """Get a path, or post a body to it, and return the 200 response.

        Raises one of our errors if anything goes wrong.
        """
        try:
            response = self._http.request(
                "GET" if body is None else "POST",
                f"{server.url}{path}",
                headers=httpx.Headers(self._headers | headers, encoding="utf-8"),
                content=body,
                timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS, pool=seconds),
            )
        except (httpx.NetworkError, httpx.ConnectTimeout, httpx.RemoteProtocolError) as error:
            # Predictions have no side effect, so asking again after a connection broke is safe.
            raise Unavailable(f"{server.url} cannot be reached: {_format_reason(error)}") from error
        except httpx.TimeoutException as error:
            raise DeadlineExceeded(f"{server.url} did not answer within {seconds:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise BadResponse(f"{server.url}: {_format_reason(error)}") from error
        if response.status_code != httpx.codes.OK:
            raise _parse_error(response, f"{server.url}: " if len(self._servers.all) > 1 else "")
        return response


def _serialise_request(request: Wire) -> str:
    """Return a request as JSON.

    Raises InvalidRequest for a lone surrogate, which JSON cannot hold.
    """
    try:
        return request.model_dump_json()
    except ValueError as error:
        raise InvalidRequest(f"the request cannot be sent: {error}") from error


def _format_reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _merge_failures(failures: Sequence[Unavailable]) -> Unavailable:
    """Return one error for those of all servers.

    The shortest time to wait that any of them named counts.
    """
    if len(failures) == 1:
        return failures[0]
    kind = type(failures[0]) if len({type(failure) for failure in failures}) == 1 else Unavailable
    waits = [failure.retry_after for failure in failures if failure.retry_after is not None]
    return kind("; ".join(map(str, failures)), retry_after=min(waits, default=None))


def _find_common_systems(lists: Mapping[Server, SystemList]) -> list[SystemInfo]:
    """Return the systems that are in every list. Raises MixedRevisions."""
    by_server = {server: {system.name: system for system in found.systems} for server, found in lists.items()}
    (first, systems), *rest = by_server.items()
    for other, theirs in rest:
        for name in systems.keys() & theirs.keys():
            revisions = {systems[name].revision, theirs[name].revision} - {""}  # one not loaded yet has none
            if len(revisions) > 1:
                raise MixedRevisions(
                    f"two model servers serve {name} in different revisions: {first.url} in "
                    f"{systems[name].revision}, {other.url} in {theirs[name].revision}; give them the same "
                    "weights"
                )
    return [system for name, system in systems.items() if all(name in theirs for _, theirs in rest)]


def _parse_error(response: httpx.Response, prefix: str) -> ModelServerError:
    """Return the error that a response describes.

    A gateway's 502, 503 or 504 counts as Unavailable. ``prefix`` names the server at the start of the
    message.
    """
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
    return kind(f"{prefix}{body.message}", field=body.field, retry_after=wait)


def _parse_response(kind: type[W], response: httpx.Response) -> W:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        for problem in problems:
            if problem["type"] == "schema_mismatch":
                raise SchemaMismatch(f"{response.url} {problem['msg']}") from error
        message = f"{response.url} did not answer with a valid {kind.__name__}: {format_first_problem(error)}"
        raise BadResponse(message) from error


def _build_request(kind: type[W], **fields: object) -> W:
    """Return a request. Raises InvalidRequest, naming the field."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidRequest(
            format_problem_message(first), field=".".join(map(str, first["loc"])) or None
        ) from error


def _require_answered(response: Response, request: Request) -> None:
    """Raise BadResponse unless the response answers the request, in order."""
    if response.system != request.system:
        raise BadResponse(f"asked {request.system!r}, answered by {response.system!r}")
    asked, answered = (
        [item.id for item in request.items],
        [outcome.id for outcome in _list_outcomes(response)],
    )
    if asked != answered:
        differing = next((pair for pair in zip(asked, answered, strict=False) if pair[0] != pair[1]), None)
        where = (
            f"{differing[1]!r} in the place of {differing[0]!r}" if differing else f"{len(answered)} outcomes"
        )
        raise BadResponse(f"{len(asked)} items were asked, but the answer has {where}")


def _list_outcomes(response: Response) -> Sequence[Outcome]:
    if isinstance(response, PredictResponse):
        return response.predictions
    return response.explanations if isinstance(response, ExplainResponse) else response.executions
