"""A person's token for the API: at most one, replaced by making a new one."""

from django.db import transaction
from rest_framework.authtoken.models import Token

from accounts.models import User


@transaction.atomic
def renew(*, user: User) -> Token:
    """Make a token; the one before ends with it."""
    # A token has no row to lock before it is made.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    Token.objects.filter(user=user).delete()
    return Token.objects.create(user=user)


def end(*, user: User) -> None:
    """End a person's token, if there is one."""
    Token.objects.filter(user=user).delete()
