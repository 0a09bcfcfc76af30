"""Middleware: request IDs, rate limits, and the headers of all pages."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from jobs import request_ids
from studyapp.web import rate_limit


class RequestId:
    """Give each request an ID, and return it as ``X-Request-ID``.

    A well-formed ID of the caller stays. Log lines, tasks and the model
    server's log carry it: see ``jobs.request_ids``.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer with the ID of the request."""
        request_id = request_ids.begin(request.META.get("HTTP_X_REQUEST_ID", ""))
        try:
            response = self.get_response(request)
        finally:
            request_ids.end()
        response.headers["X-Request-ID"] = request_id
        return response


class NoStore(MiddlewareMixin):
    """Forbid caches to store pages.

    WhiteNoise serves static files before this, with its own cache header.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Add the headers unless the view has set them."""
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response


class RateLimit(MiddlewareMixin):
    """Answer 429 above the rate limit: see ``studyapp.web.rate_limit``."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Count the response."""
        match = request.resolver_match
        if match is not None and not getattr(request, "is_uncounted", False):
            rate_limit.count(request, match.view_name, response.status_code)
        return response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Answer before the view runs; only here its name is known."""
        assert request.resolver_match is not None
        wait = rate_limit.compute_seconds_to_wait(request, request.resolver_match.view_name)
        if not wait:
            return None
        rate_limit.leave_uncounted(request)
        response = render(request, "429.html", {"minutes": -(-wait // 60)}, status=429)
        response.headers["Retry-After"] = str(wait)
        return response
