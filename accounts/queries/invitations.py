"""Reads of invitations."""

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Invitation


def open_invitations() -> QuerySet[Invitation]:
    """Return the invitations that can still be accepted."""
    return Invitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())
