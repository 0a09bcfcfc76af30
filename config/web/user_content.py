"""The origin of user content, which serves uploaded images alone."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotFound
from django.views.decorators.http import require_safe

from foundation.images.image_files import get_content_host, serve_signed_image

_NOTHING = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


@require_safe
def content(request: HttpRequest, token: str) -> HttpResponseBase:
    """Return the image of a signed address."""
    return serve_signed_image(token)


class OwnOrigin:
    """Keep user content and pages apart: each has its own origin.

    A script in an image would find no cookies, no forms and no pages there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.host = get_content_host()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return 404 for addresses of the other origin."""
        is_content = request.path_info.startswith("/content/")
        is_there = bool(self.host) and request.get_host() == self.host
        return (
            self.get_response(request) if is_content == is_there else HttpResponseNotFound(headers=_NOTHING)
        )
