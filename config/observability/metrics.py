"""Metrics of the site in the form that Prometheus reads, at ``/metrics``.

Requests are counted by the name of their route, because addresses hold ids and tokens. Each process counts in
files of its own below ``VAR_DIR/metrics``, and whichever process is asked adds them up. Workers on the same
machine count there, too.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import time
from collections.abc import Callable
from pathlib import Path

from celery.signals import task_failure
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.core.signals import got_request_exception
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, values
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from config.observability.process_numbers import ProcessNumber
from config.observability.routes import name_method, name_route
from config.observability.site_state import SiteState

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# Proxies add these headers: the address of their connection is not that of the caller.
OF_PROXIES = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")


class Counts:
    """The counts of this process, in files that others of its machine read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Read by the values of prometheus_client, which are files from here on.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        values.ValueClass = values.MultiProcessValue(ProcessNumber(folder))
        disable_created_metrics()
        own = CollectorRegistry()
        self.requests = Counter(
            "touchstone_requests", "Responses", ("route", "method", "status"), registry=own
        )
        self.seconds = Histogram(
            "touchstone_request_seconds", "Time to answer", ("route",), buckets=SECONDS, registry=own
        )
        self.errors = Counter("touchstone_errors", "Unhandled errors", ("part",), registry=own)
        for part in ("web", "worker"):
            self.errors.labels(part)
        got_request_exception.connect(self._count_web_error)
        task_failure.connect(self._count_worker_error)

    def _count_web_error(self, **_: object) -> None:
        self.errors.labels("web").inc()

    def _count_worker_error(self, **_: object) -> None:
        self.errors.labels("worker").inc()

    def page(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(self._folder))
        registry.register(SiteState())
        return generate_latest(registry)


_counts: Counts | None = None


def count_here() -> Counts:
    """Return the counts of this process; the first call begins them."""
    global _counts
    if _counts is None:
        _counts = Counts(settings.METRICS_FOLDER)
    return _counts


class Metrics:
    """Count the answers of the site, and answer ``/metrics``.

    The middleware is not used unless METRICS_TOKEN or METRICS_NETWORKS is set.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.METRICS:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self._counts = count_here()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, or pass all other requests on and count them."""
        if request.path_info.rstrip("/") == "/metrics":
            return self._metrics(request)
        begun = time.perf_counter()
        response = self.get_response(request)
        route = name_route(request)
        self._counts.requests.labels(route, name_method(request), str(response.status_code)).inc()
        self._counts.seconds.labels(route).observe(time.perf_counter() - begun)
        return response

    def _metrics(self, request: HttpRequest) -> HttpResponse:
        if not may_read(request):
            if not settings.METRICS_TOKEN:
                return HttpResponse(status=404)
            return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        headers = {"Cache-Control": "no-store"}
        return HttpResponse(self._counts.page(), content_type=CONTENT_TYPE_LATEST, headers=headers)


def may_read(request: HttpRequest) -> bool:
    """Return True for the token, and for a network without a proxy."""
    given = request.headers.get("Authorization", "")
    wanted = f"Bearer {settings.METRICS_TOKEN}"
    if settings.METRICS_TOKEN and hmac.compare_digest(given.encode(), wanted.encode()):
        return True
    if any(name in request.headers for name in OF_PROXIES):
        return False
    try:
        caller = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:  # a unix socket has no address
        return False
    return any(caller in network for network in settings.METRICS_NETWORKS)
