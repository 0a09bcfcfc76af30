"""Writes logins and second factors to the audit log.

These are signals of Django and allauth, whose views have no hook in their place.
"""

from typing import Any

from allauth.account.signals import user_logged_in, user_signed_up
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver

from accounts.actions import audit
from accounts.models import User


@receiver(user_signed_up)
def record_sign_up(user: User, **kwargs: Any) -> None:
    """Record a new account."""
    audit.record(kind="account_created", by=user, subject=user)


@receiver(user_logged_in)
def record_login(user: User, **kwargs: Any) -> None:
    """Record a login that has passed the second factor, too."""
    audit.record(kind="login", by=user, subject=user)


@receiver(user_logged_out)
def record_logout(user: User | None, **kwargs: Any) -> None:
    """Record a logout, unless the session had no user."""
    if user is not None:
        audit.record(kind="logout", by=user, subject=user)


@receiver(authenticator_added)
def record_second_factor_added(user: User, authenticator: Any, **kwargs: Any) -> None:
    """Record that a login asks for a code from now on."""
    if authenticator.type == authenticator.Type.TOTP:
        audit.record(kind="second_factor_added", by=user, subject=user)


@receiver(authenticator_removed)
def record_second_factor_removed(user: User, authenticator: Any, **kwargs: Any) -> None:
    """Record that a login asks for no code any more."""
    if authenticator.type == authenticator.Type.TOTP:
        audit.record(kind="second_factor_removed", by=user, subject=user)
