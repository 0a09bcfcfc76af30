"""Reads of invitations."""

from django.utils import timezone

from accounts.models import Invitation


def live_invitation(token_hash: str) -> Invitation | None:
    """Return the invitation with this token if it can still be accepted."""
    return Invitation.objects.filter(
        token_hash=token_hash,
        accepted_at__isnull=True,
        revoked_at__isnull=True,
        expires_at__gt=timezone.now(),
    ).first()
