"""Store responses of the REST API, for requests that are repeated."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.models import AnsweredRequest, User

KEPT = timedelta(hours=24)


def claim(*, user: User, key: str, digest: str) -> AnsweredRequest:
    """Return the row of a key, locked until the caller's transaction ends.

    Of two requests at once the second waits here until the first is answered.
    """
    row, _is_new = AnsweredRequest.objects.select_for_update().get_or_create(
        user=user, key=key, defaults={"digest": digest}
    )
    return row


def store_response(*, row: AnsweredRequest, status: int, content_type: str, body: str) -> AnsweredRequest:
    """Store the response that repeated requests get."""
    row.status, row.content_type, row.body = status, content_type, body
    row.save(update_fields=["status", "content_type", "body"])
    return row


def forget_response(*, row: AnsweredRequest) -> None:
    """Forget a response that was not sent, so that its request runs again."""
    row.delete()


@transaction.atomic
def purge_answered() -> int:
    """Delete responses that nobody repeats any more; return their number."""
    deleted, _rows = AnsweredRequest.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    return deleted
