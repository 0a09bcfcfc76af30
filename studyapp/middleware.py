"""What every request to the site passes: the id of its work, and headers that every page has."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from studyapp import tracing


class RequestId:
    """Give each request an id, the caller's own ``X-Request-ID`` where it is well formed, and answer with it.

    Log lines, tasks and the model server's log carry it: see ``studyapp.tracing``.
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
