"""The HTTP application of the model server: what is asked, checked, queued and answered.

It holds no model code and imports no torch: systems come in as sources, so that the fake is this very
application with a toy system. ``modelserver.shelf`` loads them and ``modelserver.serving`` runs it as a
process.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modelserver.batching import (
    Batcher,
    BatchLimits,
    BatchReport,
    ModelThreads,
    Outcome,
    Predictor,
    Ticket,
    log_failure,
)
from modelserver.errors import (
    DeadlineExceeded,
    InvalidRequest,
    ModelServerError,
    Overloaded,
    SchemaMismatch,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnknownSystem,
)
from modelserver.metrics import ITEMS, SECONDS, Counter, Gauge, Histogram, render
from modelserver.schema import (
    ErrorBody,
    ItemError,
    LoadRequest,
    PredictRequest,
    PredictResponse,
    QAItem,
    SystemInfo,
    SystemList,
)
from modelserver.shelf import Change, Loader, Shelf, Source

logger = logging.getLogger(__name__)

T = TypeVar("T")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 408: "deadline_exceeded", 413: "too_large"}
CALLS_ELSEWHERE = 8  # batches that may be on their way to servers elsewhere at once


@dataclass(frozen=True)
class ServerLimits:
    """What one request may ask for. Times are in seconds.

    ``timeout`` is the deadline of a request that names none; ``body_seconds`` is how long its body may take
    to come in.
    """

    body_bytes: int = 32 * 2**20
    body_seconds: float = 60.0
    items: int = 1_024
    timeout: float = 300.0
    longest_timeout: float = 3_600.0
    batch: BatchLimits = field(default_factory=BatchLimits)


class Metrics:
    """The series of one server."""

    def __init__(self, service: Service) -> None:
        self.requests = Counter("modelserver_requests_total", "Responses", ("path", "status"))
        self.request_seconds = Histogram("modelserver_request_seconds", "Time to answer", SECONDS, ("path",))
        self.outcomes = Counter("modelserver_items_total", "Items by outcome", ("system", "outcome"))
        self.batch_items = Histogram("modelserver_batch_items", "Items in a batch", ITEMS, ("system",))
        self.batch_seconds = Histogram("modelserver_batch_seconds", "Time to compute", SECONDS, ("system",))
        self.wait_seconds = Histogram("modelserver_wait_seconds", "Longest wait", SECONDS, ("system",))
        self.tokens = Counter("modelserver_tokens_total", "Tokens computed", ("system",))
        self.padding = Counter("modelserver_padding_tokens_total", "Padding computed", ("system",))
        self.queue = Gauge("modelserver_queue_items", "Items waiting", lambda: service.waiting)
        self.loads = Counter("modelserver_loads_total", "Attempts to load a system", ("system", "outcome"))
        self.load_seconds = Histogram("modelserver_load_seconds", "Time to load", SECONDS, ("system",))
        self.unloads = Counter("modelserver_unloads_total", "Systems put out of memory", ("system",))
        self.loaded = Gauge("modelserver_loaded_systems", "Systems in memory", lambda: service.shelf.count)
        self.bytes = Gauge("modelserver_loaded_bytes", "Their weights", lambda: service.shelf.used)
        self.ready = Gauge(
            "modelserver_ready", "1 when predictions are taken", lambda: service.state == "ready"
        )

    def batch(self, report: BatchReport) -> None:
        """Count one batch."""
        system = report.system
        self.batch_items.observe(report.items, system)
        self.batch_seconds.observe(report.seconds, system)
        self.wait_seconds.observe(report.waited, system)
        self.tokens.add(system, amount=report.tokens)
        self.padding.add(system, amount=report.padded_tokens - report.tokens)
        logger.debug("batch", extra={"fields": vars(report)})

    def change(self, change: Change) -> None:
        """Count and log what happened to a system."""
        if change.kind == "unloaded":
            self.unloads.add(change.system)
        else:
            self.loads.add(change.system, change.kind)
            self.load_seconds.observe(change.seconds, change.system)
        fields = {"system": change.system, "seconds": round(change.seconds, 3), "bytes": change.size}
        logger.info(change.kind, extra={"fields": fields | {"revision": change.revision}})

    def page(self) -> str:
        return render(list(vars(self).values()))


class Service:
    """The systems of one process and the way to them: load, check, queue, answer, drain.

    With ``preload`` every system is loaded once before the first request is taken; ``memory`` bounds the
    bytes of loaded weights.
    """

    def __init__(
        self,
        sources: Mapping[str, Source | Loader],
        *,
        limits: ServerLimits | None = None,
        token: str | None = None,
        threads: int = 1,
        preload: bool = True,
        memory: int | None = None,
    ) -> None:
        self.limits = limits or ServerLimits()
        self.token = token
        self.state: Literal["starting", "ready", "draining"] = "starting"
        self.metrics = Metrics(self)
        self.threads = ModelThreads(threads)
        self.batcher = Batcher(self.threads, self.limits.batch, self._batch_ended)
        known = {name: one if isinstance(one, Source) else Source(one) for name, one in sources.items()}
        self.shelf = Shelf(known, most=memory, computing=self._computing, report=self.metrics.change)
        # Systems elsewhere have threads and a queue of their own: all that these threads do is wait.
        self._elsewhere = {name for name, source in known.items() if source.elsewhere}
        self._away = (
            Batcher(ModelThreads(CALLS_ELSEWHERE, "call"), self.limits.batch, self._batch_ended)
            if self._elsewhere
            else None
        )
        self._preload = preload
        self._expecting = 0

    @property
    def _batchers(self) -> list[Batcher]:
        return [self.batcher] if self._away is None else [self.batcher, self._away]

    @property
    def waiting(self) -> int:
        """How many items wait: in a queue, or for their system to be loaded."""
        return self._expecting + sum(batcher.waiting for batcher in self._batchers)

    async def load(self) -> None:
        """Load and warm the systems that are to be loaded before requests are taken. Raises LoadFailed."""
        if self._preload:
            await self.shelf.fill()
        if self.state == "starting":
            self.state = "ready"

    async def work(self) -> None:
        """Compute batches and load systems until cancelled."""
        async with asyncio.TaskGroup() as group:
            for batcher in self._batchers:
                group.create_task(batcher.run())
            group.create_task(self.shelf.run())

    async def drain(self, seconds: float) -> bool:
        """Refuse new work and finish what is queued; who waits for a system to be loaded is refused too.

        When that takes longer than ``seconds``, the rest is answered Unavailable and the result is False.
        """
        self.state = "draining"
        self.shelf.close(_shutting_down())
        try:
            async with asyncio.timeout(seconds):
                for batcher in self._batchers:
                    await batcher.drained()
        except TimeoutError:
            for batcher in self._batchers:
                batcher.abandon()
            return False
        return True

    def require_ready(self) -> None:
        """Raise Unavailable unless predictions are taken."""
        if self.state == "starting":
            raise Unavailable("the server is loading its systems", retry_after=1)
        if self.state == "draining":
            raise _shutting_down()

    def require(self, name: str) -> str:
        """Return the name of a served system. Raises UnknownSystem, which lists them, or Unavailable."""
        self.require_ready()
        if name not in self.shelf:
            known = ", ".join(self.shelf.names)
            raise UnknownSystem(f"no system {name!r} is served; served: {known}", field="system")
        return name

    async def loaded(self, name: str) -> SystemInfo:
        """Load a system if it is not, and say what it is."""
        with self._expected(name, items=1):
            await self.shelf.take(name)
        self.shelf.give_back(name)
        return self.shelf.info(name)

    async def answer(self, request: PredictRequest, request_id: str) -> PredictResponse:
        """Predict a request's items, each by itself as far as errors go.

        When it is cancelled, what is still queued of the request is dropped.
        """
        if len(request.items) > self.limits.items:
            message = f"{len(request.items)} items in one request; at most {self.limits.items} are taken"
            raise TooLarge(message, field="items")
        with self._expected(request.system, items=len(request.items)):
            system = await self.shelf.take(request.system)
        try:
            outcomes = await self._outcomes(system, request, request_id)
        finally:
            self.shelf.give_back(request.system)
        _count(self.metrics, request.system, outcomes)
        return PredictResponse(system=request.system, revision=system.revision, predictions=outcomes)

    @contextmanager
    def _expected(self, name: str, *, items: int) -> Iterator[None]:
        """Count items that wait for their system, which are bounded with those in the queue."""
        if not self.shelf.at_hand(name) and self.waiting + items > self.limits.batch.queue:
            raise Overloaded(f"{self.waiting} items wait, and {name} is not loaded", retry_after=5)
        self._expecting += items
        try:
            yield
        finally:
            self._expecting -= items

    async def _outcomes(self, system: Predictor, request: PredictRequest, request_id: str) -> list[Outcome]:
        """Check every item by itself, queue those that can be predicted, and wait for them."""
        # In a thread of its own: counting the tokens of many items would hold up every other request.
        checked = await asyncio.to_thread(_check, system, request.items, self.limits.batch.tokens)
        self.require_ready()
        ticket = Ticket(system, [error for error, _ in checked], request_id)
        jobs = [
            (position, item, cost)
            for position, (item, (error, cost)) in enumerate(zip(request.items, checked, strict=True))
            if error is None
        ]
        batcher = self._away if self._away and request.system in self._elsewhere else self.batcher
        batcher.submit(ticket, jobs)
        try:
            await asyncio.wait({ticket.done})
        finally:
            if not ticket.done.done():
                batcher.withdraw(ticket)
        return ticket.outcomes()

    def _computing(self, name: str) -> bool:
        return any(batcher.computing(name) for batcher in self._batchers)

    def _batch_ended(self, report: BatchReport) -> None:
        self.metrics.batch(report)
        self.shelf.stir()


def _shutting_down() -> Unavailable:
    return Unavailable("the server is shutting down", retry_after=5)


def _check(
    system: Predictor, items: Sequence[QAItem], most_tokens: int
) -> list[tuple[ItemError | None, int]]:
    """Return for each item why it cannot be predicted (None when it can) and its cost."""
    return [_check_item(system, item, most_tokens) for item in items]


def _check_item(system: Predictor, item: QAItem, most_tokens: int) -> tuple[ItemError | None, int]:
    try:
        system.check(item)
        cost = system.cost(item)
    except InvalidRequest as error:
        where = f"{error.field}: " if error.field else ""
        return ItemError(id=item.id, error="invalid_item", message=f"{where}{error}"), 0
    except Exception as error:  # the edge of the server: a system may be anybody's code
        log_failure("check_failed", error, system=system.name)
        message = f"{system.name} could not check the item: {type(error).__name__}: {error}"
        return ItemError(id=item.id, error="prediction_failed", message=message), 0
    if cost > most_tokens:
        message = f"context: the item has {cost} tokens; at most {most_tokens} are taken"
        return ItemError(id=item.id, error="invalid_item", message=message), 0
    return None, cost


def create_app(service: Service) -> FastAPI:
    """Return the application. All errors have the form of ErrorBody."""
    # No interactive pages: they load scripts from other hosts.
    app = FastAPI(title="Touchstone model server", docs_url=None, redoc_url=None, openapi_url="/openapi.json")

    @app.get("/health")
    async def health() -> dict[str, str]:
        if not service.threads.alive:
            raise ModelServerError("a model thread has ended")
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> dict[str, str]:
        service.require_ready()
        return {"status": "ready"}

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(service.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/systems")
    async def systems() -> SystemList:
        if service.state == "starting":
            service.require_ready()
        return SystemList(systems=service.shelf.infos())

    @app.post("/v1/load")
    async def load(
        body: LoadRequest, request: Request, x_timeout_seconds: Annotated[str | None, Header()] = None
    ) -> SystemInfo:
        edge: _Exchange = request.scope["exchange"]
        edge.fields |= {"system": service.require(body.system)}
        deadline = edge.started + _timeout(x_timeout_seconds, service.limits)
        return await _raced(service.loaded(body.system), request, deadline)

    @app.post("/v1/predict")
    async def predict(
        body: PredictRequest, request: Request, x_timeout_seconds: Annotated[str | None, Header()] = None
    ) -> PredictResponse:
        edge: _Exchange = request.scope["exchange"]
        edge.fields |= {"system": service.require(body.system), "items": len(body.items)}
        deadline = edge.started + _timeout(x_timeout_seconds, service.limits)
        return await _raced(service.answer(body, edge.request_id), request, deadline)

    _answer_errors(app)
    app.add_middleware(Edge, service=service, paths=frozenset(_paths(app)))
    return app


def _paths(app: FastAPI) -> list[str]:
    return [path for route in app.routes if (path := getattr(route, "path", None))]


def _timeout(header: str | None, limits: ServerLimits) -> float:
    if header is None:
        return limits.timeout
    try:
        seconds = float(header)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= limits.longest_timeout:
        message = f"must be a number of seconds above 0 and at most {limits.longest_timeout:g}"
        raise InvalidRequest(message, field="X-Timeout-Seconds")
    return seconds


async def _raced(work: Coroutine[Any, Any, T], request: Request, deadline: float) -> T:
    """Do the work unless its caller's time is up or the caller has gone; then it is cancelled."""
    doing = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(request.receive))
    try:
        left = max(0.0, deadline - time.monotonic())
        await asyncio.wait({doing, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        if gone.done():
            raise _CallerGoneError("the caller closed the connection")
        raise DeadlineExceeded("the deadline of the request passed before it could be answered in full")
    finally:
        gone.cancel()
        if doing.cancel():
            await asyncio.wait({doing})  # what it held is let go before the caller hears of it


async def _disconnected(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _count(metrics: Metrics, system: str, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        metrics.outcomes.add(system, outcome.error if isinstance(outcome, ItemError) else "predicted")


class _CallerGoneError(ModelServerError):
    """Nobody reads the answer any more; the status is for log and metrics."""

    code = "caller_gone"
    status = 499


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(ModelServerError)
    async def ours(request: Request, error: ModelServerError) -> Response:
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def schema(request: Request, error: RequestValidationError) -> Response:
        return _schema_error(error.errors())

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = HTTP_CODES.get(error.status_code, "http_error")
        body = ErrorBody(error=code, message=str(error.detail))
        return _json(body, error.status_code, dict(error.headers or {}))


def error_response(error: ModelServerError, *, status: int | None = None) -> Response:
    """Return the response that says this error."""
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = f"{math.ceil(error.retry_after)}"
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    body = ErrorBody(error=error.code, message=str(error), field=error.field)
    return _json(body, status or error.status, headers)


def _json(body: ErrorBody, status: int, headers: dict[str, str]) -> Response:
    return Response(body.model_dump_json(), status, headers, media_type="application/json")


def _schema_error(errors: Sequence[Any]) -> Response:
    """Answer with the first error; a version mismatch comes before the errors that it causes."""
    first = next((error for error in errors if error["type"] == "schema_mismatch"), errors[0])
    where = ".".join(str(part) for part in first["loc"] if part != "body") or None
    if first["type"] == "schema_mismatch":
        return error_response(SchemaMismatch(first["msg"], field=where))
    if first["type"] == "json_invalid":
        reason = first.get("ctx", {}).get("error", "syntax error")
        return error_response(
            InvalidRequest(f"the body is not JSON: {reason} at character {where}"), status=400
        )
    if first["loc"] == ("body",):
        return error_response(InvalidRequest("the body must be a JSON object, sent as application/json"))
    return error_response(InvalidRequest(first["msg"], field=where))


@dataclass
class _Exchange:
    """One request and its response, as far as log and metrics care."""

    request_id: str
    started: float
    status: int = 500
    fields: dict[str, Any] = field(default_factory=dict)


class Edge:
    """What every request passes first and last: id, token, body limit, log line, metrics.

    Plain ASGI, because the handler listens for the caller's disconnection itself. Paths outside
    ``paths`` are logged as "other": a path may hold a text.
    """

    def __init__(self, app: ASGIApp, *, service: Service, paths: frozenset[str]) -> None:
        self._app = app
        self._service = service
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        exchange = _Exchange(given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex, time.monotonic())
        scope["exchange"] = exchange
        try:
            await self._guarded(scope, receive, _recording(send, exchange), headers)
        finally:
            self._record(scope, exchange)

    async def _guarded(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await error_response(refusal)(scope, receive, send)
            return
        try:
            await self._app(scope, _bounded(receive, self._service.limits), send)
        except Exception as error:  # the edge of the process
            log_failure("request_failed", error, request_id=scope["exchange"].request_id)
            message = "an internal error; the server's log has its type and place under this request id"
            await error_response(ModelServerError(message))(scope, receive, send)

    def _refusal(self, path: str, headers: Mapping[bytes, bytes]) -> ModelServerError | None:
        token = self._service.token
        if token and path not in {"/health", "/ready"}:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + token.encode()):
                return Unauthorized("this server asks for a bearer token")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._service.limits.body_bytes:
            return _body_too_large(self._service.limits.body_bytes)
        return None

    def _record(self, scope: Scope, exchange: _Exchange) -> None:
        path = scope["path"] if scope["path"] in self._paths else "other"
        seconds = time.monotonic() - exchange.started
        self._service.metrics.requests.add(path, str(exchange.status))
        self._service.metrics.request_seconds.observe(seconds, path)
        fields = {
            "request_id": exchange.request_id, "method": scope["method"], "path": path,
            "status": exchange.status, "ms": round(1000 * seconds, 1),
        }  # fmt: skip
        level = logging.DEBUG if path in {"/health", "/ready", "/metrics"} else logging.INFO
        logger.log(level, "request", extra={"fields": fields | exchange.fields})


def _recording(send: Send, exchange: _Exchange) -> Send:
    async def recorded(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            message["headers"] = [
                *message.get("headers", []),
                (b"x-request-id", exchange.request_id.encode()),
            ]
        await send(message)

    return recorded


def _bounded(receive: Receive, limits: ServerLimits) -> Receive:
    """Bound the time of a body, and the bytes of one that does not declare its length."""
    seen, whole = 0, False
    end = time.monotonic() + limits.body_seconds

    async def bounded() -> Message:
        nonlocal seen, whole
        if whole:
            return await receive()  # waits for the caller to go, which may take as long as the work
        try:
            async with asyncio.timeout(max(0.0, end - time.monotonic())):
                message = await receive()
        except TimeoutError as error:
            text = f"the body did not come in within {limits.body_seconds:g} s"
            raise HTTPException(408, text) from error
        seen += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if seen > limits.body_bytes:
            raise HTTPException(413, str(_body_too_large(limits.body_bytes)))
        return message

    return bounded


def _body_too_large(most: int) -> TooLarge:
    return TooLarge(f"the body has more than {most} bytes; send fewer items at once")
