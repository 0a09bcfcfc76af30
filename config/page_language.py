"""The language of a page: the one chosen, else the browser's."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers


class PageLanguage:
    """Answer in the language of the cookie, or of the browser.

    Django's ``LocaleMiddleware`` also takes the beginning of each address for the name of a language, and
    finds out twice that it is none: no address of this site names one.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and tell caches what the answer depends on."""
        translation.activate(translation.get_language_from_request(request))
        response = self.get_response(request)
        patch_vary_headers(response, ("Accept-Language",))
        response.headers.setdefault("Content-Language", translation.get_language())
        return response
