"""A log line for each request: method, route, status and time."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from config.observability.routes import name_method, name_route

logger = logging.getLogger("touchstone.requests")


class RequestLog:
    """Log each answer. The middleware is not used unless LOG_REQUESTS is set."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.LOG_REQUESTS:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and log one line."""
        begun = time.perf_counter()
        response = self.get_response(request)
        fields = {
            "method": name_method(request),
            "route": name_route(request),
            "status": response.status_code,
            "ms": round(1000 * (time.perf_counter() - begun), 1),
        }
        logger.info("request %(method)s %(route)s %(status)s %(ms)s ms", fields, extra={"fields": fields})
        return response
