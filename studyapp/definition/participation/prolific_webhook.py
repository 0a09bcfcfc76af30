"""Notices of Prolific's webhook: signature and content.

Source: Prolific API reference, "Webhooks" (verifying; receiving; idempotency and the X-Event-ID header).
The signature is Base64(HMAC-SHA256(secret, timestamp + body)); the timestamp is in Unix seconds.

Exceptions: `BadNotice`, a StudyappError.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from foundation.pages.whole_numbers import parse_whole_number
from studyapp.errors import StudyappError

SIGNATURE = "X-Prolific-Request-Signature"
TIMESTAMP = "X-Prolific-Request-Timestamp"
EVENT_ID = "X-Event-ID"
# A notice as old as this is a replay; Prolific signs each attempt again.
WINDOW_SECONDS = 300
RETURNED = frozenset({"RETURNED", "TIMED-OUT"})


class BadNotice(StudyappError):
    """The request is not signed by Prolific, too old, or malformed."""


class Notice(NamedTuple):
    """A notice of Prolific.

    ``event_id`` is the same when the notice is sent again; ``submission`` is the SESSION_ID of the study's
    address.
    """

    event_id: str
    submission: str
    status: str

    @property
    def is_returned(self) -> bool:
        """True if the submission was returned or timed out."""
        return self.status in RETURNED


class _Body(BaseModel):
    event_type: str
    resource_id: str
    status: str = ""


def read_notice(body: bytes, headers: Mapping[str, str], *, secret: str, now: float) -> Notice:
    """Check and parse a request.

    ``now`` is in Unix seconds. The status is spelled as by Prolific, such as TIMED-OUT.

    Raises:
        BadNotice: see there.
    """
    timestamp, signature = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    expected = sign(body, timestamp, secret)
    if not hmac.compare_digest(signature.encode(), expected.encode()):
        raise BadNotice("the signature does not fit")
    sent = parse_whole_number(timestamp)
    if sent is None or abs(now - sent) > WINDOW_SECONDS:
        raise BadNotice("the timestamp is not of the last five minutes")
    try:
        content = _Body.model_validate_json(body)
    except ValidationError as error:
        raise BadNotice("the body is not of the published form") from error
    is_submission = content.event_type == "submission.status.change"
    status = content.status.strip().upper().replace("_", "-").replace(" ", "-") if is_submission else ""
    return Notice(headers.get(EVENT_ID, "") or signature, content.resource_id, status)


def sign(body: bytes, timestamp: str, secret: str) -> str:
    """Return the expected signature, in Base64."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
