"""Reports of unhandled errors, no personal data, by Sentry's protocol.

A report is built from a list of what may leave the site. Messages of errors are not on it, because they may
quote answers and IDs of people; the log of the site has them under the same request id.
"""

from __future__ import annotations

from typing import Any

import sentry_sdk
from celery import Task
from celery.signals import task_failure
from django.conf import settings
from django.core.signals import got_request_exception
from django.http import HttpRequest
from sentry_sdk.types import Event, Hint

from analysis import __version__
from config.observability.routes import name_method, name_route
from jobs import request_ids

EVENT = ("event_id", "timestamp", "level", "platform", "release", "environment", "sdk", "tags")
EXCEPTION = ("type", "module", "mechanism")
FRAME = ("filename", "function", "module", "lineno", "in_app", "pre_context", "context_line", "post_context")


def report_here() -> None:
    """Report the errors of this process to the server of SENTRY_DSN."""
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        release=f"touchstone@{__version__}",
        environment=settings.SENTRY_ENVIRONMENT,
        # Integrations read requests, log lines and calls to other servers; none is needed.
        default_integrations=False,
        auto_enabling_integrations=False,
        auto_session_tracking=False,
        send_client_reports=False,
        include_local_variables=False,
        max_breadcrumbs=0,
        before_send=filter_event,
    )
    got_request_exception.connect(_report_request)
    task_failure.connect(_report_task)


def stop() -> None:
    """Report nothing more."""
    got_request_exception.disconnect(_report_request)
    task_failure.disconnect(_report_task)
    sentry_sdk.init()


def filter_event(event: Event, _hint: Hint) -> Event:
    """Return the parts of a report that may leave the site."""
    kept: dict[str, Any] = {name: value for name, value in event.items() if name in EVENT}
    raised = event.get("exception") or {}
    kept["exception"] = {"values": [_filter_exception(exception) for exception in raised.get("values", [])]}
    return kept  # type: ignore[return-value]


def _filter_exception(value: dict[str, Any]) -> dict[str, Any]:
    frames = (value.get("stacktrace") or {}).get("frames", [])
    kept = {name: value[name] for name in EXCEPTION if name in value}
    return kept | {"stacktrace": {"frames": [_select_keys(frame, FRAME) for frame in frames]}}


def _select_keys(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _report_request(request: HttpRequest | None = None, **_: object) -> None:
    endpoint = f"{name_method(request)} {name_route(request)}" if request is not None else "none"
    _report(None, part="web", place=endpoint)


def _report_task(sender: Task[Any, Any], exception: BaseException, **_: object) -> None:
    _report(exception, part="worker", place=sender.name)


def _report(error: BaseException | None, **tags: str) -> None:
    with sentry_sdk.new_scope() as scope:
        scope.set_tags({**tags, "request_id": request_ids.format_label()})
        sentry_sdk.capture_exception(error)
