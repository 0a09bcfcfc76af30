"""Set passwords, and make the one-time links that reset them."""

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.db import transaction
from django.urls import reverse

from accounts.actions import audit, tokens
from accounts.actions.sessions import delete_sessions
from accounts.models import User


@transaction.atomic
def create_reset_link(*, user: User, by: User | None) -> str:
    """Return a link with which a person sets a new password.

    It ends with the first login or new password, and after `settings.PASSWORD_RESET_TIMEOUT`. Nothing is
    stored, so it cannot be shown again.
    """
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    audit.record(kind="password_link_created", by=by, subject=user)
    return settings.SITE_URL + reverse("account_reset_password_from_key", kwargs=key)


@transaction.atomic
def set_password(*, user: User, password: str | None, kind: str, keep_session: str | None = None) -> None:
    """Set a password; end the sessions and revoke the API tokens.

    Args:
        user: Whose password.
        password: The new one; None leaves the account without one.
        kind: Entry in the audit log, ``password_changed`` or ``password_reset``.
        keep_session: Key of the session in which the person changes it.
    """
    user.set_password(password)
    user.save(update_fields=["password"])
    audit.record(kind=kind, by=user, subject=user)
    delete_sessions(user=user, keep=keep_session)
    tokens.revoke_all(user=user, by=user)
