"""Traces lead from caller to task and hold no personal data.

One trace has the requests and the tasks, by names of routes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from celery import shared_task
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from config.observability import traces


@shared_task
def traced_task(*, fails: bool = False) -> None:
    if fails:
        raise LookupError("mira-answers-this")


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    processor = SimpleSpanProcessor(exporter)
    traces.send_to(processor)
    yield exporter
    processor.shutdown()
    for signal, receiver in (
        (before_task_publish, traces._pass_on),
        (task_prerun, traces._begin_task),
        (task_postrun, traces._end_task),
    ):
        signal.disconnect(receiver)


def answered(status: int, **headers: str) -> None:
    request = RequestFactory().get("/studies/p1d-of-mira/?q=mira-answers-this", headers=headers)
    traces.Traces(lambda _request: HttpResponse(status=status))(request)


def only(spans: Sequence[ReadableSpan]) -> ReadableSpan:
    (span,) = spans
    return span


def test_a_request_is_a_span_without_its_address(spans: InMemorySpanExporter) -> None:
    answered(503)
    span = only(spans.get_finished_spans())
    attributes = dict(span.attributes or {})
    assert attributes["http.response.status_code"] == 503
    assert span.status.status_code == StatusCode.ERROR
    assert "mira" not in span.to_json()


def test_a_request_belongs_to_the_trace_of_its_caller(spans: InMemorySpanExporter) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    answered(200, traceparent=f"00-{trace_id}-b7ad6b7169203331-01")
    span = only(spans.get_finished_spans())
    assert f"{span.context.trace_id:032x}" == trace_id
    assert span.status.status_code == StatusCode.UNSET


@pytest.mark.parametrize("fails", [False, True])
def test_a_task_belongs_to_the_trace_of_the_request_that_enqueued_it(
    spans: InMemorySpanExporter, fails: bool
) -> None:
    def enqueue(_request: HttpRequest) -> HttpResponse:
        headers: dict[str, Any] = {}
        traces._pass_on(headers)
        traced_task.apply(kwargs={"fails": fails}, headers=headers)
        return HttpResponse()

    traces.Traces(enqueue)(RequestFactory().get("/"))
    task, request = spans.get_finished_spans()
    assert task.name == traced_task.name
    assert task.context.trace_id == request.context.trace_id
    assert (task.status.status_code == StatusCode.ERROR) is fails
    assert "mira" not in task.to_json()
