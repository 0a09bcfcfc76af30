"""Adapters of allauth: our rules of sign-up, passwords and sessions."""

import base64
import logging
import secrets
from collections.abc import Iterable
from smtplib import SMTPException
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base import AuthProcess
from allauth.usersessions.adapter import DefaultUserSessionsAdapter
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts import encryption
from accounts.actions import audit, passwords, sessions
from accounts.client_address import find_client_address
from accounts.login.invited import find_invitation_by_address, find_requested_invitation
from accounts.models import User

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up by invitation alone; passwords that end sessions and tokens."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("The e-mail address or the password is not correct."),
        "username_password_mismatch": _("The user name or the password is not correct."),
        "enter_current_password": _("This is not your current password."),
        "incorrect_password": _("The password is not correct."),
        "too_many_login_attempts": _("There were too many wrong codes. Wait five minutes and try again."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return True for visitors with an open invitation."""
        return find_requested_invitation(request) is not None

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that all limits use."""
        return find_client_address(request) or "::"

    def should_send_confirmation_mail(
        self, request: HttpRequest, email_address: EmailAddress, signup: bool
    ) -> bool:
        """Return True at the sign-up: a mail at every login would be too many."""
        return signup

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Send a link that verifies an address, if the site sends mail."""
        if settings.EMAIL_URL:
            super().send_confirmation_mail(request, emailconfirmation, signup)

    def send_notification_mail(self, template_prefix: str, user: User, *rest: Any, **more: Any) -> None:
        """Tell a person what changed in their account.

        It has changed already, so a mail that fails is no error.
        """
        try:
            super().send_notification_mail(template_prefix, user, *rest, **more)
        except (OSError, SMTPException):
            logger.exception("cannot send %s to %s", template_prefix, user)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail whose links lead to SITE_URL.

        allauth takes the Host header of the request, which a stranger chooses who asks for the new password
        of somebody else: with an ALLOWED_HOSTS of several names, the link would lead there.
        """
        links = {name: _rebase_url(url) for name, url in context.items() if name.endswith("_url")}
        host = urlsplit(settings.SITE_URL).netloc
        site = SimpleNamespace(name=host, domain=host)
        super().send_mail(template_prefix, email, context | links | {"current_site": site})

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *rest: Any, **more: Any
    ) -> None:
        """Show a message, but none about a mail that was not sent."""
        if settings.EMAIL_URL or message_template != "account/messages/email_confirmation_sent.txt":
            super().add_message(request, level, message_template, *rest, **more)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Leave the limit of wrong passwords to django-axes."""

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Record the wrong password of an existing account.

        Attempts while the lock-out holds are not recorded: they could fill the log.
        """
        if getattr(request, "axes_locked_out", False):
            return
        name = credentials.get("username", "")
        user = User.objects.filter(Q(username__iexact=name) | Q(email__iexact=name)).first()
        if user is not None and name:
            audit.record(kind="login_failed", by=None, subject=user)

    def set_password(self, user: User, password: str) -> None:
        """Set a password: of the person who is logged in, or by a link."""
        request = context.request
        is_own = request.user.is_authenticated and request.user.pk == user.pk
        passwords.set_password(
            user=user,
            password=password,
            kind="password_changed" if is_own else "password_reset",
            keep_session=request.session.session_key if is_own else None,
        )


def _rebase_url(url: str) -> str:
    return settings.SITE_URL + urlsplit(url)._replace(scheme="", netloc="").geturl()


class SecondFactorAdapter(DefaultMFAAdapter):
    """Second factors under the user name."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": _("The code is not correct."),
    }

    def encrypt(self, text: str) -> str:
        """Encrypt what codes are computed from."""
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt what codes are computed from.

        If that cannot be read, the result is random, so that no code is correct.
        """
        try:
            return encryption.decrypt(encrypted_text)
        except encryption.InvalidToken:
            logger.error("a second factor was stored under another SECRET_KEY; see SECRET_KEY_FALLBACKS")
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def get_totp_label(self, user: User) -> str:
        """Return the name that the authenticator app shows."""
        return user.username


class SessionsAdapter(DefaultUserSessionsAdapter):
    """Log out everywhere."""

    def end_sessions(self, sessions_: Iterable[UserSession]) -> None:
        """End the other sessions of the person who is logged in."""
        user = context.request.user
        if isinstance(user, User):
            sessions.end_sessions(user=user, keep=context.request.session.session_key, by=user)


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Logins by OpenID Connect."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return True for people who began the login at an open invitation."""
        return find_invitation_by_address(sociallogin.state.get("next")) is not None

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Clear an account that its person did not make themselves.

        The provider vouches for an address with which somebody else may have made the account. allauth then
        forgets the password, and so its sessions and tokens end as well.
        """
        email = sociallogin._did_authenticate_by_email
        if not email or sociallogin.state.get("process") != AuthProcess.LOGIN:
            return
        user = sociallogin.user
        is_verified = EmailAddress.objects.filter(user=user, email=email, verified=True).exists()
        if user.has_usable_password() and not is_verified:
            passwords.set_password(user=user, password=None, kind="password_changed")
