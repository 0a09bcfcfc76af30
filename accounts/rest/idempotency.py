"""Requests that create something once, however often they are sent."""

import hashlib
from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any

from django.db import transaction
from django.http import HttpResponse

from accounts.actions.requests import claim, forget_response, store_response
from accounts.rest.bodies import MOST_LINE_BYTES, check_length, read_blocks
from accounts.rest.problems import FieldProblem, Refused

HEADER = "Idempotency-Key"
LONGEST = 200


def once(method: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let a creating method run once for each ``Idempotency-Key`` of a user.

    The same request with the same key gets the same response for 24 hours, marked by
    ``Idempotency-Replayed``; another request with that key gets 422. Only successes are kept, so a refused
    request can be mended and sent again. The method runs in a transaction. It therefore enqueues work in
    ``transaction.on_commit``: a worker may look before the transaction ends, and would find nothing.
    """

    @wraps(method)
    def wrapper(view: Any, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None:
            return method(view, request, *args, **kwargs)
        if not 0 < len(key) <= LONGEST:
            raise _refused(f"has to be 1 to {LONGEST} characters long")
        check_length(request, MOST_LINE_BYTES)
        body = b"".join(read_blocks(request))
        request._request._stream = BytesIO(body)
        digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode() + body).hexdigest()
        stored = None
        try:
            with transaction.atomic():
                row = claim(user=view.user, key=key, digest=digest)
                if row.digest != digest:
                    raise _refused("was sent with another request; make a new key for each request")
                if row.status is not None:
                    return HttpResponse(
                        row.body,
                        content_type=row.content_type,
                        status=row.status,
                        headers={"Idempotency-Replayed": "true"},
                    )
                response = method(view, request, *args, **kwargs)
                stored = store_response(
                    row=row,
                    status=response.status_code,
                    content_type=response.headers["Content-Type"],
                    body=response.content.decode(),
                )
        except Exception:
            if stored is not None:  # what the method left for after the commit failed
                forget_response(row=stored)
            raise
        return response

    return wrapper


def _refused(detail: str) -> Refused:
    return Refused(422, f"{HEADER} {detail}.", [FieldProblem(field=HEADER, detail=detail)])
