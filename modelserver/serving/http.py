"""The HTTP application of the model server: parse, check, answer.

``modelserver.serving.service`` does the work, and ``modelserver.serving.lifecycle`` runs all of it as a
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
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modelserver.serving.service import ItemsRequest, ServerLimits, Service
from modelserver.systems.predict_each import log_failure
from modelserver.wire.errors import (
    DeadlineExceeded,
    InvalidRequest,
    ModelServerError,
    SchemaMismatch,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from modelserver.wire.schema import (
    ErrorBody,
    ExecuteRequest,
    ExecuteResponse,
    ExplainRequest,
    ExplainResponse,
    LoadRequest,
    PredictRequest,
    PredictResponse,
    SystemInfo,
    SystemList,
    format_problem_message,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")
Seconds = Annotated[str | None, Header()]

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
HTTP_CODES = {
    400: "invalid_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "deadline_exceeded",
    413: "too_large",
}
RETRY_SECONDS = 1.0  # seconds after which to come back, if nothing better is known
LISTEN_AFTER = 0.5  # seconds of work after which it pays to find out whether the caller still waits


def create_app(service: Service) -> Edge:
    """Return the application. All errors have the form of ErrorBody."""
    # No interactive pages: they load scripts from other hosts.
    app = FastAPI(title="Touchstone model server", docs_url=None, redoc_url=None, openapi_url="/openapi.json")
    _answer_watchers(app, service)
    _answer_callers(app, service)
    _answer_errors(app)
    paths = frozenset(path for route in app.routes if (path := getattr(route, "path", None)))
    return Edge(app, service=service, paths=paths)


def _answer_watchers(app: FastAPI, service: Service) -> None:
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
        return SystemList(systems=service.cache.infos())


def _answer_callers(app: FastAPI, service: Service) -> None:
    @app.post("/v1/load")
    async def load(body: LoadRequest, request: Request, x_timeout_seconds: Seconds = None) -> SystemInfo:
        edge: _Exchange = request.scope["exchange"]
        edge.fields |= {"system": service.require(body.system)}
        deadline = edge.started + _parse_timeout(x_timeout_seconds, service.limits)
        return await _await_until_deadline(service.load_and_describe(body.system), request.receive, deadline)

    @app.post("/v1/predict", response_model=PredictResponse)
    async def predict(body: PredictRequest, request: Request, x_timeout_seconds: Seconds = None) -> Response:
        return await _answer_items(service, body, x_timeout_seconds, request)

    @app.post("/v1/explain", response_model=ExplainResponse)
    async def explain(body: ExplainRequest, request: Request, x_timeout_seconds: Seconds = None) -> Response:
        return await _answer_items(service, body, x_timeout_seconds, request)

    @app.post("/v1/execute", response_model=ExecuteResponse)
    async def execute(body: ExecuteRequest, request: Request, x_timeout_seconds: Seconds = None) -> Response:
        return await _answer_items(service, body, x_timeout_seconds, request)


def _parse_timeout(header: str | None, limits: ServerLimits) -> float:
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


async def _answer_items(
    service: Service, body: ItemsRequest, timeout: str | None, request: Request
) -> Response:
    """Answer a request about items.

    Raises UnknownSystem, Unavailable, InvalidRequest.
    """
    exchange: _Exchange = request.scope["exchange"]
    exchange.fields |= {"system": service.require(body.system), "items": len(body.items)}
    deadline = exchange.started + _parse_timeout(timeout, service.limits)
    answer = await _await_until_deadline(service.answer(body, exchange.request_id), request.receive, deadline)
    return Response(answer.model_dump_json(), media_type="application/json")


async def _await_until_deadline(work: Coroutine[Any, Any, T], receive: Receive, deadline: float) -> T:
    """Await the work until the deadline passes or the caller disconnects.

    In both cases the work is cancelled.
    """
    caller = _Caller(receive)
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            return await work
    except TimeoutError as error:
        message = "the deadline of the request passed before it could be answered in full"
        raise DeadlineExceeded(message) from error
    except asyncio.CancelledError:
        if not caller.gone:
            raise
        caller.worker.uncancel()
        raise _CallerGoneError("the caller closed the connection") from None
    finally:
        caller.forget()


class _Caller:
    """The client that waits for an answer; its task is cancelled if it leaves.

    Listening for a disconnection needs a task of its own beside each request's. Most requests are
    answered before that pays off, so it starts late.
    """

    def __init__(self, receive: Receive) -> None:
        self.gone = False
        worker = asyncio.current_task()
        assert worker is not None  # requests are worked for in tasks
        self.worker = worker
        self._receive = receive
        self._listening: asyncio.Task[None] | None = None
        self._later = asyncio.get_running_loop().call_later(LISTEN_AFTER, self._begin)

    def _begin(self) -> None:
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        self.worker.cancel()

    def forget(self) -> None:
        """Stop listening."""
        self._later.cancel()
        if self._listening is not None:
            self._listening.cancel()


class _CallerGoneError(ModelServerError, code="caller_gone", status=499):
    """Nobody reads the answer any more; the status is for log and metrics."""


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(ModelServerError)
    async def answer_own_error(request: Request, error: ModelServerError) -> Response:
        return build_error_response(error)

    @app.exception_handler(RequestValidationError)
    async def schema(request: Request, error: RequestValidationError) -> Response:
        return _answer_schema_error(error.errors())

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return _answer_http_error(error)


def _answer_http_error(error: HTTPException) -> Response:
    code = HTTP_CODES.get(error.status_code, "http_error")
    # FastAPI answers 400 to bytes that are not UTF-8 and to brackets a hundred thousand deep.
    text = "the body is not JSON that can be read" if error.status_code == 400 else str(error.detail)
    return _build_json_response(
        ErrorBody(error=code, message=text), error.status_code, dict(error.headers or {})
    )


def build_error_response(error: ModelServerError, *, status: int | None = None) -> Response:
    """Return the HTTP response for an error."""
    headers = {}
    if error.retry_after is not None or error.status == Unavailable.status:
        headers["Retry-After"] = (
            f"{math.ceil(RETRY_SECONDS if error.retry_after is None else error.retry_after)}"
        )
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    body = ErrorBody(error=error.code, message=str(error), field=error.field)
    return _build_json_response(body, status or error.status, headers)


def _build_json_response(body: ErrorBody, status: int, headers: dict[str, str]) -> Response:
    return Response(body.model_dump_json(), status, headers, media_type="application/json")


def _answer_schema_error(errors: Sequence[Any]) -> Response:
    """Answer with the first error, or the version mismatch behind it."""
    first = next((error for error in errors if error["type"] == "schema_mismatch"), errors[0])
    where = ".".join(str(part) for part in first["loc"] if part != "body") or None
    if first["type"] == "schema_mismatch":
        return build_error_response(SchemaMismatch(first["msg"], field=where))
    if first["type"] == "json_invalid":
        reason = first.get("ctx", {}).get("error", "syntax error")
        return build_error_response(
            InvalidRequest(f"the body is not JSON: {reason} at character {where}"), status=400
        )
    if first["loc"] == ("body",):
        return build_error_response(
            InvalidRequest("the body must be a JSON object, sent as application/json")
        )
    return build_error_response(InvalidRequest(format_problem_message(first), field=where))


@dataclass
class _Exchange:
    """One request and its response, as far as log and metrics care."""

    request_id: str
    started: float
    status: int = 500
    fields: dict[str, Any] = field(default_factory=dict)


class Edge:
    """The first and last step of every request.

    It handles request id, token, body limit, log line and metrics. Plain ASGI, because the handler
    listens for the caller's disconnection itself. Paths outside ``paths`` are logged as "other", because
    a path may hold a text.
    """

    def __init__(self, app: ASGIApp, *, service: Service, paths: frozenset[str]) -> None:
        self._app = app
        self._service = service
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        exchange = _Exchange(given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex, time.monotonic())
        scope["exchange"] = exchange
        try:
            await self._handle_request(scope, receive, _wrap_send(send, exchange), headers)
        finally:
            self._record(scope, exchange)

    async def _handle_request(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await build_error_response(refusal)(scope, receive, send)
            return
        bounded = _limit_body(receive, self._service.limits)
        try:
            if scope["method"] == "POST" and scope["path"] == "/v1/predict":
                await self._predict(scope, bounded, send, headers)
            else:
                await self._app(scope, bounded, send)
        except Exception as error:  # the edge of the process
            log_failure("request_failed", error, request_id=scope["exchange"].request_id)
            message = "an internal error; the server's log has its type and place under this request id"
            await build_error_response(ModelServerError(message))(scope, receive, send)

    async def _predict(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        """Answer a well-formed predict request here, without the application.

        Most requests are of this kind, and the way through the application takes longer than everything
        else: time in which the next batch waits to be handed on. The application answers all other
        requests.
        """
        try:
            first = await receive()
            body = None
            if not first.get("more_body") and _is_json(headers):
                with suppress(ValidationError):
                    body = PredictRequest.model_validate_json(first.get("body", b""))
            if body is None:
                await self._app(scope, _replay_message(first, receive), send)
                return
            timeout = headers.get(b"x-timeout-seconds")
            given = None if timeout is None else timeout.decode("latin-1")
            asked = Request(scope, receive)
            response = await _answer_items(self._service, body, given, asked)
        except HTTPException as error:
            response = _answer_http_error(error)
        except ModelServerError as error:
            response = build_error_response(error)
        await response(scope, receive, send)

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
        self._service.metrics.requests.labels(path, str(exchange.status)).inc()
        self._service.metrics.request_seconds.labels(path).observe(seconds)
        fields = {
            "request_id": exchange.request_id, "method": scope["method"], "path": path,
            "status": exchange.status, "ms": round(1000 * seconds, 1),
        }  # fmt: skip
        level = logging.DEBUG if path in {"/health", "/ready", "/metrics"} else logging.INFO
        logger.log(level, "request", extra={"fields": fields | exchange.fields})


def _wrap_send(send: Send, exchange: _Exchange) -> Send:
    async def record_and_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            message["headers"] = [
                *message.get("headers", []),
                (b"x-request-id", exchange.request_id.encode()),
            ]
        await send(message)

    return record_and_send


def _is_json(headers: Mapping[bytes, bytes]) -> bool:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"


def _replay_message(first: Message, receive: Receive) -> Receive:
    """Return a receiver that yields ``first`` again, and then what follows."""
    waiting = [first]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next


def _limit_body(receive: Receive, limits: ServerLimits) -> Receive:
    """Bound the time of a body, and its bytes if it declares no length."""
    seen, whole = 0, False
    end = time.monotonic() + limits.body_seconds

    async def receive_within_limits() -> Message:
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

    return receive_within_limits


def _body_too_large(most: int) -> TooLarge:
    return TooLarge(f"the body has more than {most} bytes; send fewer items at once")
