"""What every request to the site passes: the id of its work, limits per address, headers of every page."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts import tracing
from studyapp import ratelimit


class RequestId:
    """Give each request an id, the caller's own ``X-Request-ID`` where it is well formed, and answer with it.

    Log lines, tasks and the model server's log carry it: see ``accounts.tracing``.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = tracing.begin(request.headers.get("X-Request-ID", ""))
        try:
            response = self.get_response(request)
        finally:
            tracing.end()
        response.headers["X-Request-ID"] = request_id
        return response


class NoStore:
    """Forbid every cache to keep a page. Static files are served before this and keep their own rule."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response


class RateLimit:
    """Answer an address that asks too often with 429: see ``studyapp.ratelimit``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        match = request.resolver_match
        if match is not None and not getattr(request, "is_uncounted", False):
            ratelimit.count(request, match.view_name, response.status_code)
        return response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Refuse before the view runs. Only here it is known which view it is."""
        assert request.resolver_match is not None
        wait = ratelimit.seconds_to_wait(request, request.resolver_match.view_name)
        if not wait:
            return None
        ratelimit.leave_uncounted(request)
        response = render(request, "429.html", {"minutes": -(-wait // 60)}, status=429)
        response.headers["Retry-After"] = str(wait)
        return response
