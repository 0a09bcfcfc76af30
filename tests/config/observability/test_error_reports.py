"""A stand-in of the server receives the reports of errors.

Tests check what it receives, and what never leaves the site.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import sentry_sdk
from celery import shared_task
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from config.observability import error_reports


def fail(request: HttpRequest, participant: str) -> HttpResponse:
    answer = request.POST["answer"]  # a local variable with an answer
    raise ValueError(f"{participant} said {answer}")


urlpatterns = [path("items/<participant>/", fail, name="fail")]


@shared_task
def failing_task(answer: str) -> None:
    raise LookupError(answer)


class StandIn:
    """A server of Sentry's protocol that keeps what it was sent."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.text = ""
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                text = (
                    gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
                ).decode()
                stand_in.text += text + str(self.headers)
                parts = [json.loads(line) for line in text.splitlines()]
                stand_in.events += [part for part in parts if "exception" in part]
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.dsn = f"http://public@127.0.0.1:{self._server.server_port}/1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def stand_in(settings: Any) -> Iterator[StandIn]:
    server = StandIn()
    settings.SENTRY_DSN, settings.SENTRY_ENVIRONMENT = server.dsn, "test"
    error_reports.report_here()
    yield server
    error_reports.stop()
    server.close()


# Far from the code that fails, because a report has the lines around it.
PRIVATE = ("mira-answers-this", "cookie-of-mira", "203.0.113.9", "p1d-of-mira", "agent-of-mira")


def test_a_failed_request_is_reported_without_its_person(stand_in: StandIn, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    client = Client(raise_request_exception=False, REMOTE_ADDR="203.0.113.9", HTTP_USER_AGENT="agent-of-mira")
    client.cookies["participant"] = "cookie-of-mira"
    response = client.post("/items/p1d-of-mira/?q=mira-answers-this", {"answer": "mira-answers-this"})
    assert response.status_code == 500
    sentry_sdk.flush(5.0)
    (event,) = stand_in.events
    (raised,) = event["exception"]["values"]
    assert raised["type"] == "ValueError"
    assert raised["stacktrace"]["frames"][-1]["function"] == "fail"
    assert event["tags"] == {"part": "web", "place": "POST fail", "request_id": event["tags"]["request_id"]}
    assert event["environment"] == "test"
    assert not [word for word in PRIVATE if word in stand_in.text]


def test_a_failed_task_is_reported_by_its_name(stand_in: StandIn) -> None:
    failing_task.apply(args=["mira-answers-this"])
    sentry_sdk.flush(5.0)
    (event,) = stand_in.events
    assert event["exception"]["values"][0]["type"] == "LookupError"
    assert (event["tags"]["part"], event["tags"]["place"]) == ("worker", failing_task.name)
    assert not [word for word in PRIVATE if word in stand_in.text]


@pytest.mark.parametrize(
    ("setting", "module", "package"),
    [
        ("SENTRY_DSN", "config.observability.error_reports", "sentry-sdk"),
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "config.observability.traces",
            "opentelemetry-exporter-otlp-proto-http",
        ),
    ],
)
def test_a_missing_package_is_named(
    setting: str, module: str, package: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    setattr(settings, setting, "http://public@127.0.0.1:9/1")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImproperlyConfigured, match=f"{setting} is set, and {package} is not installed"):
        apps.get_app_config("site").ready()
