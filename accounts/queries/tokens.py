"""Reads of API tokens."""

from django.db.models import QuerySet

from accounts.models import ApiToken, User
from accounts.random_secrets import hash_of


def select_tokens(user: User) -> QuerySet[ApiToken]:
    """Return the tokens of a user that are not revoked, newest first."""
    return ApiToken.objects.filter(user=user, revoked_at=None).order_by("-pk")


def find_token(key: str) -> ApiToken | None:
    """Return the token of a request with its user, in one indexed query."""
    return ApiToken.objects.select_related("user").filter(token_hash=hash_of(key)).first()
