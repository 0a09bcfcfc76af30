"""Make and end a person's API token, of which there is at most one."""

from django.db import transaction
from rest_framework.authtoken.models import Token

from accounts.models import User


@transaction.atomic
def renew(*, user: User) -> Token:
    """Make a token, which replaces the one before."""
    # Lock the user, because a new token has no row to lock.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    Token.objects.filter(user=user).delete()
    return Token.objects.create(user=user)


def end(*, user: User) -> None:
    """Delete a person's token, if any."""
    Token.objects.filter(user=user).delete()
