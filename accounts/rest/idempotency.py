"""Requests that create something once, however often they are sent."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from io import BytesIO
from typing import Any, TypeAlias

from django.db import transaction
from django.http import HttpResponse

from accounts.actions.requests import (
    claim,
    forget_response,
    has_lost_role_since,
    read_response,
    store_response,
)
from accounts.rest.bodies import MOST_LINE_BYTES, check_length, read_blocks
from accounts.rest.problems import FieldProblem, Refused

HEADER = "Idempotency-Key"
LONGEST = 200
Digest: TypeAlias = "hashlib._Hash"


def run_once_per_key(method: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let a creating method run once for each ``Idempotency-Key`` of a user.

    See `answer_once`; the body is read as a whole. The method runs in a transaction. It therefore enqueues
    work in ``transaction.on_commit``: a worker may look before the transaction ends, and would find nothing.
    """

    @wraps(method)
    def wrapper(view: Any, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if read_key(request) is None:
            return method(view, request, *args, **kwargs)
        check_length(request, MOST_LINE_BYTES)
        body = b"".join(read_blocks(request))
        request._request._stream = BytesIO(body)
        digest = start_digest(request)
        digest.update(body)
        return answer_once(view, request, digest.hexdigest(), lambda: method(view, request, *args, **kwargs))

    return wrapper


def read_key(request: Any) -> str | None:
    """Return the key of a request, None without one.

    Raises:
        Refused: 422 for a key of a wrong length.
    """
    key: str | None = request.headers.get(HEADER)
    if key is not None and not 0 < len(key) <= LONGEST:
        raise _build_key_refusal(f"has to be 1 to {LONGEST} characters long")
    return key


def start_digest(request: Any) -> Digest:
    """Return the digest of method and address, to be updated with the body."""
    return hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())


def hash_blocks(blocks: Iterable[bytes], digest: Digest) -> Iterator[bytes]:
    """Yield the blocks of a body as they come, and update its digest."""
    for block in blocks:
        digest.update(block)
        yield block


def answer_once(view: Any, request: Any, digest: str, create: Callable[[], HttpResponse]) -> HttpResponse:
    """Answer a request, or repeat the response that its key got before.

    The same request with the same key gets the same response for 24 hours, marked by
    ``Idempotency-Replayed``; another request with that key gets 422, as does a user who lost a role since.
    It keeps only successes, so a client can correct a refused request and send it again.

    Args:
        view: The endpoint, which knows the user.
        request: The request.
        digest: That of method, address and body: the key belongs to this request alone.
        create: Does the work and returns the response, in a transaction if there is a key.
    """
    key = read_key(request)
    if key is None:
        return create()
    stored = None
    try:
        with transaction.atomic():
            row = claim(user=view.user, key=key, digest=digest)
            if row.digest != digest:
                raise _build_key_refusal("was sent with another request; make a new key for each request")
            if row.status is not None:
                # The user may not read it any more, and to run the request again could create twice.
                if has_lost_role_since(row):
                    raise _build_key_refusal("was answered before you lost a role; make a new key")
                return HttpResponse(
                    read_response(row),
                    content_type=row.content_type,
                    status=row.status,
                    headers={"Idempotency-Replayed": "true"},
                )
            response = create()
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


def _build_key_refusal(detail: str) -> Refused:
    return Refused(422, f"{HEADER} {detail}.", [FieldProblem(field=HEADER, detail=detail)])
