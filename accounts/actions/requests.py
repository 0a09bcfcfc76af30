"""Store responses of the REST API, for requests that are repeated.

Some hold what is shown only once: the address of a link, or the secret of a webhook. They are therefore
stored encrypted, with a key made of the site's and of the request's.
"""

from base64 import urlsafe_b64encode
from datetime import timedelta

from cryptography.fernet import Fernet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import AnsweredRequest, AuditEntry, User

ANSWER_RETENTION = timedelta(hours=24)


def claim(*, user: User, key: str, digest: str) -> AnsweredRequest:
    """Return the row of a key, locked until the caller's transaction ends.

    Of two requests at once the second waits here until the first is answered.
    """
    row, _is_new = AnsweredRequest.objects.select_for_update().get_or_create(
        user=user, key=key, defaults={"digest": digest}
    )
    return row


def has_lost_role_since(row: AnsweredRequest) -> bool:
    """Return whether the user lost a role after the request was answered."""
    ended = AuditEntry.objects.filter(kind="role_ended", at__gt=row.created_at)
    return ended.filter(subject=row.user.username).exists()


def store_response(*, row: AnsweredRequest, status: int, content_type: str, body: str) -> AnsweredRequest:
    """Store the response that repeated requests get."""
    row.status, row.content_type = status, content_type
    row.body = _build_cipher(row).encrypt(body.encode()).decode()
    row.save(update_fields=["status", "content_type", "body"])
    return row


def read_response(row: AnsweredRequest) -> str:
    """Return the body of a stored response."""
    return _build_cipher(row).decrypt(row.body.encode()).decode()


def _build_cipher(row: AnsweredRequest) -> Fernet:
    digest = salted_hmac("accounts.actions.requests", f"{row.user_id} {row.key}", algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(digest))


def forget_response(*, row: AnsweredRequest) -> None:
    """Forget a response that was not sent, so that its request runs again."""
    row.delete()


def purge_answered() -> None:
    """Delete responses that nobody repeats any more."""
    AnsweredRequest.objects.filter(created_at__lt=timezone.now() - ANSWER_RETENTION).delete()
