"""Addresses by which a supervisor or load balancer sees how the site is.

They answer before everything else: under any host name, without a session and without a redirect to https,
because those who ask know an address of the machine alone. Answers name parts, and no address or error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import TYPE_CHECKING, cast

from django.core.cache import cache
from django.core.files.storage import storages
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.utils.deprecation import MiddlewareMixin
from redis.exceptions import RedisError

from jobs.model_servers.served_systems import read_server_states

if TYPE_CHECKING:
    from foundation.images.image_bucket import BucketStorage
    from foundation.images.image_storage import FolderStorage

logger = logging.getLogger(__name__)
# Without these no page works. The others fail alone: people go on annotating and answering.
NEEDED = ("database", "migrations", "storage")
_logged: list[str] = []  # the parts of NEEDED that failed when this process was asked last
# A bucket that hangs must not hold up the answer: supervisors wait for a few seconds only.
STORAGE_SECONDS = 3.0


class Health(MiddlewareMixin):
    """Answer ``/health/live`` and ``/health/ready``."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Answer, or pass all other requests on."""
        path = request.path_info.rstrip("/")
        if path not in ("/health/live", "/health/ready"):
            return None
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response = _answer_live() if path == "/health/live" else _answer_ready()
        response.headers["Cache-Control"] = "no-store"
        return response


def _answer_live() -> HttpResponse:
    """Answer 200: the process serves requests."""
    return JsonResponse({"status": "ok"})


def _answer_ready() -> HttpResponse:
    """Answer 200 if pages work, else 503; name the state of each part."""
    checks = {name: "ok" if works else "failed" for name, works in check_parts().items()}
    failed = [name for name in NEEDED if checks[name] == "failed"]
    status = "failed" if failed else "ok" if set(checks.values()) == {"ok"} else "degraded"
    response = JsonResponse({"status": status, "checks": checks}, status=503 if failed else 200)
    if failed:
        response.headers["Retry-After"] = "10"
    _log_change(failed)
    return response


def _log_change(failed: list[str]) -> None:
    """Log failed parts when they change; supervisors ask every few seconds."""
    if failed and failed != _logged:
        logger.error("Not ready, because these parts do not work: %s", ", ".join(failed))
    _logged[:] = failed


def check_parts() -> dict[str, bool]:
    """Return for each part whether it works; each answers in bounded time."""
    return {name: check() for name, check in CHECKS.items()}


def _is_database_available() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _is_schema_current() -> bool:
    """Return True if no migration waits to be applied."""
    try:
        executor = MigrationExecutor(connection)
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return False


def _is_broker_available() -> bool:
    try:
        cache.get("health")
    except RedisError:
        return False
    return True


def _is_storage_available() -> bool:
    """Return True if images can be stored and read."""
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        return pool.submit(cast("FolderStorage | BucketStorage", storages["images"]).is_available).result(
            timeout=STORAGE_SECONDS
        )
    except Late:
        return False
    finally:
        pool.shutdown(wait=False)


def _can_reach_model_servers() -> bool:
    return all(state.answers for state in read_server_states())


CHECKS: dict[str, Callable[[], bool]] = {
    "database": _is_database_available,
    "migrations": _is_schema_current,
    "storage": _is_storage_available,
    "broker": _is_broker_available,
    "model_servers": _can_reach_model_servers,
}
