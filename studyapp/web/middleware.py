"""What every request to the site passes: the id of its work, limits per address, headers of every page."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobs import request_ids
from studyapp.web import rate_limit


class RequestId:
    """Give each request an id, the caller's own ``X-Request-ID`` where it is well formed, and answer with it.

    Log lines, tasks and the model server's log carry it: see ``jobs.request_ids``.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request_ids.begin(request.headers.get("X-Request-ID", ""))
        try:
            response = self.get_response(request)
        finally:
            request_ids.end()
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
    """Answer an address that asks too often with 429: see ``studyapp.web.rate_limit``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        match = request.resolver_match
        if match is not None and not getattr(request, "is_uncounted", False):
            rate_limit.count(request, match.view_name, response.status_code)
        return response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Refuse before the view runs. Only here it is known which view it is."""
        assert request.resolver_match is not None
        wait = rate_limit.seconds_to_wait(request, request.resolver_match.view_name)
        if not wait:
            return None
        rate_limit.leave_uncounted(request)
        response = render(request, "429.html", {"minutes": -(-wait // 60)}, status=429)
        response.headers["Retry-After"] = str(wait)
        return response
