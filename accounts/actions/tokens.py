"""Create and revoke API tokens, and note when they are used."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.actions import audit
from accounts.models import ApiToken, Scope, User
from accounts.random_secrets import hash_of, make_secret

PREFIX = "tst_"
_SHOWN = 10  # characters of a key that lists show: PREFIX, and 36 of the 192 bits
_USE_NOTED_EVERY = timedelta(minutes=1)


class CreatedToken(NamedTuple):
    """A new token. ``key`` is what programs send; it cannot be shown again."""

    token: ApiToken
    key: str


@transaction.atomic
def create_token(*, name: str, scope: Scope, days: int, by: User) -> CreatedToken:
    """Create a token with which programs act for ``by``.

    Raises:
        ValidationError: Names the field that is wrong.
    """
    key = PREFIX + make_secret()
    token = ApiToken(
        user=by,
        name=name,
        scope=scope,
        prefix=key[:_SHOWN],
        token_hash=hash_of(key),
        expires_at=timezone.now() + timedelta(days=days),
    )
    token.full_clean()
    token.save()
    audit.record(kind="token_created", by=by, subject=by, data={"name": name, "scope": str(scope)})
    return CreatedToken(token, key)


@transaction.atomic
def revoke_token(*, token: ApiToken, by: User | None) -> None:
    """Revoke a token, unless that has happened."""
    revoked = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    if revoked:
        audit.record(kind="token_revoked", by=by, subject=token.user, data={"name": token.name})


@transaction.atomic
def revoke_all(*, user: User, by: User | None) -> None:
    """Revoke every token of a user."""
    for token in ApiToken.objects.filter(user=user, revoked_at=None).order_by("pk"):
        revoke_token(token=token, by=by)


def note_use(*, token: ApiToken, at: datetime) -> None:
    """Store the time of a request with a token, at most once a minute."""
    stale = at - _USE_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at <= stale:
        # Requests at the same moment write once.
        before = Q(last_used_at=None) | Q(last_used_at__lte=stale)
        ApiToken.objects.filter(before, pk=token.pk).update(last_used_at=at)
