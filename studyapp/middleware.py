"""Response headers that every page of the site has."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class NoStore:
    """Forbid every cache to keep a page. Static files are served before this and keep their own rule."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response
