"""Reads of second factors: who has one, and who needs one."""

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.conf import settings
from django.db.models import Q

from accounts.models import Membership, Role, User


def has_second_factor(user: User) -> bool:
    """Return True if the login of a user asks for a code."""
    return Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists()


def has_recovery_codes(user: User) -> bool:
    """Return True if a user has recovery codes, used ones included."""
    return Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).exists()


def is_second_factor_needed(user: User) -> bool:
    """Return True for superusers, and for roles above annotator."""
    if user.is_superuser:
        return True
    above = Q(user=user) & ~Q(role=Role.ANNOTATOR)
    return Membership.objects.filter(above).exists() or any(
        apps.get_model(table)._default_manager.filter(above, **held).exists()
        for table, held in settings.SHARE_TABLES.items()
    )
