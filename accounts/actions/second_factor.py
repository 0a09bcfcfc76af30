"""Remove the second factor of a person who has lost it."""

from allauth.mfa.models import Authenticator
from django.db import transaction

from accounts.actions import audit
from accounts.models import User


@transaction.atomic
def remove_second_factor(*, user: User, by: User | None) -> bool:
    """Remove the app and the recovery codes; return False if there were none."""
    removed, _tables = Authenticator.objects.filter(user=user).delete()
    if removed:
        audit.record(kind="second_factor_removed", by=by, subject=user)
    return bool(removed)
