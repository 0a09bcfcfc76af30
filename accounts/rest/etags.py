"""Entity tags: an edit names the state that it was made on."""

from typing import Any

from rest_framework.request import Request

from accounts.rest.problems import Refused


def format_etag(*parts: Any) -> str:
    """Return the entity tag of a state that these values identify."""
    return '"' + "-".join(str(part) for part in parts) + '"'


def require_match(request: Request, current: str) -> None:
    """Check that the request was made on the current state.

    Raises:
        Refused: 428 without ``If-Match``, 412 if somebody changed the object since.
    """
    sent = request.headers.get("If-Match")
    if sent is None:
        raise Refused(428, "Send If-Match with the ETag of the state that you change.")
    if sent != "*" and current not in (etag.strip() for etag in sent.split(",")):
        raise Refused(412, "Somebody changed this since. Read it again, and send your change with its ETag.")
