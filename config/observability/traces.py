"""Traces by OpenTelemetry: a span for each request and each task.

Spans are named after routes and tasks, because addresses hold ids and tokens. Errors are marked without
their messages, which may quote answers of people.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

from celery import Task, states
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.http import HttpRequest, HttpResponse
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode

from analysis import __version__
from config.observability.routes import name_method, name_route
from jobs import request_ids

REQUEST_ID = "touchstone.request_id"
_provider = TracerProvider(
    resource=Resource.create({"service.name": "touchstone", "service.version": __version__})
)
_tracer = _provider.get_tracer("touchstone")
_task: ContextVar[tuple[Span, Token[Context]] | None] = ContextVar("span of a task", default=None)


def trace_here() -> None:
    """Send the spans of this process to the configured collector."""
    send_to(BatchSpanProcessor(OTLPSpanExporter()))


def send_to(processor: SpanProcessor) -> None:
    """Hand ended spans to a processor."""
    _provider.add_span_processor(processor)
    before_task_publish.connect(_pass_on)
    task_prerun.connect(_begin_task)
    task_postrun.connect(_end_task)


class Traces:
    """Record a span for each answer of the site."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer within a span."""
        method, caller = name_method(request), extract(request.headers)
        with _tracer.start_as_current_span(
            method, caller, SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            span.set_attribute(REQUEST_ID, request_ids.format_label())
            response = self.get_response(request)
            route = name_route(request)
            span.update_name(f"{method} {route}")
            span.set_attributes(
                {
                    "http.request.method": method,
                    "http.route": route,
                    "http.response.status_code": response.status_code,
                }
            )
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response


def _pass_on(headers: dict[str, Any], **_: object) -> None:
    """Write the present span into the headers of a task's message."""
    inject(headers)


def _begin_task(task: Task[Any, Any], **_: object) -> None:
    caller = extract(task.request.headers or {})
    span = _tracer.start_span(task.name, caller, SpanKind.CONSUMER)
    span.set_attribute(REQUEST_ID, request_ids.format_label())
    _task.set((span, context.attach(trace.set_span_in_context(span))))


def _end_task(state: str | None = None, **_: object) -> None:
    begun = _task.get()
    if begun is None:
        return
    span, token = begun
    _task.set(None)
    if state == states.FAILURE:
        span.set_status(StatusCode.ERROR)
    context.detach(token)
    span.end()
