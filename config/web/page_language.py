"""The language of a page: the one chosen, else the browser's."""

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin


class PageLanguage(MiddlewareMixin):
    """Answer in the language of the cookie, or of the browser.

    Django's ``LocaleMiddleware`` also takes the beginning of each address for the name of a language, and
    finds out twice that it is none: no address of this site names one.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Choose the language."""
        translation.activate(translation.get_language_from_request(request))

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Tell caches what the answer depends on."""
        patch_vary_headers(response, ("Accept-Language",))
        response.headers.setdefault("Content-Language", translation.get_language())
        return response
