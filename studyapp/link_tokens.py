"""Entry tokens of links, signed cookies and personal resume links.

An entry token is 192 random bits; the database keeps its SHA-256 only. Cookies and resume links carry a
signed public id, each purpose with a salt of its own, so that none can stand in for another. They end after
PARTICIPANT_LINK_DAYS, those of an entry link after a week, and all of a participant when staff revoke them.
"""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.core.signing import BadSignature, SignatureExpired, TimestampSigner

from foundation.database.prepared_queries import Prepared, make_slot
from studyapp.definition.participation.recruitment import Arrival
from studyapp.models import EntryLink, Participant, Trial

_PAGE_COLUMNS = (
    *("public_id", "mode", "status", "stage", "outcome", "language", "group"),
    *("completion_code", "withdrawal_code", "link_generation", "order_seed"),
    *("version__hash", "version__study__slug"),
)
TRIAL_COLUMNS = (
    *("participant", "condition", "position", "shown_at", "item__external_id", "item__kind"),
    *("page", "earlier", "page_shown_at", "timed_out", "block", "other_condition"),
)
LINK_AGE = timedelta(days=7)
_LINK = TimestampSigner(sep=".", salt="studyapp.link")
_PARTICIPANT = TimestampSigner(sep=".", salt="studyapp.participant")
_RESUME = TimestampSigner(sep=".", salt="studyapp.resume")
_ARRIVAL = TimestampSigner(sep=".", salt="studyapp.arrival")

# These run on every request, so they avoid the ORDER BY of first() and read only the columns of every page.
_NAMED = Prepared(
    lambda: (
        Participant.objects.select_related("version__study")
        .only(*_PAGE_COLUMNS)
        .filter(public_id=make_slot("public_id", Participant, "public_id"))
    )
)
# Most requests are for an item: one query for the participant and the next trial.
_WITH_TRIAL = Prepared(
    lambda: (
        Trial.objects.select_related("item", "participant__version__study")
        .only(*TRIAL_COLUMNS, *(f"participant__{name}" for name in _PAGE_COLUMNS))
        .filter(participant__public_id=make_slot("public_id", Participant, "public_id"), answers__isnull=True)
        .order_by("position")[:1]
    )
)


class AccessEnded(Exception):
    """A cookie or personal link has expired or was revoked."""


def read_participant_link_age() -> timedelta:
    """Return how long a cookie or a personal link of a participant works."""
    return timedelta(days=settings.PARTICIPANT_LINK_DAYS)


def make_entry_token() -> tuple[str, str]:
    """Return a new token and the hash to store.

    The token is shown once and cannot be retrieved again.
    """
    token = secrets.token_urlsafe(24)
    return token, hash_token(token)


def hash_token(token: str) -> str:
    """Return the hash of an entry token, as stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def find_link(token: str) -> EntryLink | None:
    """Return the link of an entry token, with its study, or None."""
    return EntryLink.objects.select_related("study").filter(token_hash=hash_token(token)).first()


def sign_link(link: EntryLink) -> str:
    """Return the value of the link cookie."""
    return _LINK.sign(str(link.pk))


def read_link(value: str) -> EntryLink | None:
    """Return the link of a cookie, with its study; None if it is not ours."""
    try:
        key = _LINK.unsign(value, max_age=LINK_AGE)
    except BadSignature:
        return None
    return EntryLink.objects.select_related("study").filter(pk=key).first()


def sign_arrival(link: EntryLink, arrival: Arrival) -> str:
    """Return the cookie value that keeps a platform's IDs until consent."""
    return _ARRIVAL.sign_object([link.pk, *arrival])


def read_arrival(value: str, link: EntryLink) -> Arrival | None:
    """Return the IDs of a cookie; None if it is not ours or of another link."""
    try:
        pk, *arrival = _ARRIVAL.unsign_object(value, max_age=LINK_AGE)
    except BadSignature:
        return None
    return Arrival(*arrival) if pk == link.pk else None


def sign_participant(participant: Participant) -> str:
    """Return the value of the participant cookie."""
    return _PARTICIPANT.sign(_format_participant(participant))


def read_participant(value: str) -> Participant | None:
    """Return the participant of a cookie; None if the value is not ours.

    This is one query with version, study and the next trial, two if no trial is left, without the large
    columns (frozen version, draft definition).

    Raises:
        AccessEnded: The cookie has expired or was revoked.
    """
    return _find_participant(_PARTICIPANT, value)


def resume_token(participant: Participant) -> str:
    """Return the token of the personal link for going on on another device."""
    return _RESUME.sign(_format_participant(participant))


def read_resume(token: str) -> Participant | None:
    """Return the participant of a resume link, as `read_participant`."""
    return _find_participant(_RESUME, token)


def _format_participant(participant: Participant) -> str:
    return f"{participant.link_generation}-{participant.public_id}"


def _find_participant(signer: TimestampSigner, value: str) -> Participant | None:
    try:
        generation, _, public_id = signer.unsign(value, max_age=read_participant_link_age()).partition("-")
    except SignatureExpired as error:
        raise AccessEnded from error
    except BadSignature:
        return None
    trials = _WITH_TRIAL.all(public_id=public_id)
    participant = trials[0].participant if trials else _NAMED.first(public_id=public_id)
    if participant is not None:
        participant.next_trials = trials
    if participant is not None and str(participant.link_generation) != generation:
        raise AccessEnded
    return participant
