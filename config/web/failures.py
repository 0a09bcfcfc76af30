"""Requests that cannot be read or served: a sentence and a status.

Both handlers answer without reading the request, its session or the database again, because one of them is
what failed.
"""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from accounts.rest.problems import MEDIA_TYPE, ProblemDetails
from config.database_errors import is_unavailable
from jobs import request_ids

RETRY_SECONDS = 10  # a database server needs less to start
_FOR_PARTICIPANTS = ("/join/", "/resume/", "/study/", "/withdraw/")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_DETAILS = {
    400: "The request cannot be read. Send texts in UTF-8 and without NUL characters.",
    500: "The server failed. The error is logged; tell the people who run this site.",
    503: "A part of the site does not answer now. Nothing was stored. Try again in a few seconds.",
}


class UTF8Forms(MiddlewareMixin):
    """Refuse forms in another encoding, and addresses with NUL.

    No browser sends them, Django fails on some encodings, and databases store no NUL.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Answer what cannot be read."""
        charset = (request.content_params or {}).get("charset", "") if request.content_type in _FORMS else ""
        if "\0" in request.path_info or charset.strip("'\" ").lower() not in ("", "utf-8", "utf8"):
            return bad_request(request)
        return None


class MethodPages(MiddlewareMixin):
    """Answer with a page if an address takes forms only.

    A login that was asked for by a form leads back to such an address.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Fill an empty 405 with a page."""
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.content:
            return response
        above = request.path_info.rstrip("/").rpartition("/")[0] + "/"
        response.content = render_to_string("405.html", {"above": above}, request).encode()
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        return response


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return 400: the address, the headers or the body cannot be read."""
    return _answer_failure(request, 400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 503 if a part of the site does not answer now, and else 500."""
    error = sys.exc_info()[1]
    if not is_unavailable(error) and getattr(error, "status", None) != HTTPStatus.SERVICE_UNAVAILABLE:
        return _answer_failure(request, 500)
    response = _answer_failure(request, 503)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _answer_failure(request: HttpRequest, status: int) -> HttpResponse:
    if request.path_info.startswith("/api/"):
        problem = ProblemDetails(title=HTTPStatus(status).phrase, status=status, detail=_DETAILS[status])
        body = problem.model_dump_json(exclude_defaults=True)
        return HttpResponse(body, content_type=MEDIA_TYPE, status=status)
    # A page of participants shows its form again; other addresses may take forms only.
    may_retry = request.method in ("GET", "HEAD") or request.path_info.startswith("/study/")
    values = {
        "may_retry": may_retry,
        "for_staff": not request.path_info.startswith(_FOR_PARTICIPANTS),
        "request_id": request_ids.format_label(),
    }
    return HttpResponse(render_to_string(f"{status}.html", values), status=status)
