"""Forms of accounts: those of allauth with our labels, no placeholders."""

from typing import Any

from allauth.account import forms as account
from allauth.core import context
from allauth.mfa.base import forms as code
from allauth.mfa.totp import forms as totp
from allauth.socialaccount import forms as social
from django import forms
from django.core.validators import MaxLengthValidator
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.login.invited import find_invitation_by_address, find_requested_invitation
from accounts.login.password_length import LONGEST_PASSWORD
from accounts.models import Invitation, User

LABELS = {
    "code": _("Code"),
    "email": _("E-mail address"),
    "login": _("User name or e-mail"),
    "oldpassword": _("Current password"),
    "password": _("Password"),
    "username": _("User name"),
}


class Plain(forms.Form):
    """Our labels; no placeholder, which vanishes as soon as one types.

    The present password has no help either: allauth's is a link, which our pages have elsewhere.
    No password is longer than `LONGEST_PASSWORD`: hashing it would take the server's time.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label = self.label_of(name) or field.label
            if name in ("password", "oldpassword"):
                field.help_text = ""
            if isinstance(field.widget, forms.PasswordInput):
                field.validators.append(MaxLengthValidator(LONGEST_PASSWORD))

    def label_of(self, name: str) -> Any:
        """Return our label of a field, None for that of allauth."""
        return LABELS.get(name)


class Password(Plain):
    """A new password, typed twice."""

    def label_of(self, name: str) -> Any:
        """Name the two fields of the new password."""
        return {"password1": _("New password"), "password2": _("New password again")}.get(
            name, super().label_of(name)
        )


class Login(Plain, account.LoginForm):
    """Login; the field is called ``username`` as in Django's form."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs["autocomplete"] = "username"

    def add_prefix(self, field_name: str) -> str:
        """Return the name of a field in the page."""
        return "username" if field_name == "login" else super().add_prefix(field_name)


class Invited(Plain):
    """A sign-up, which begins with the address that was invited."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        invitation = self.invitation()
        if invitation is not None and not self.initial.get("email"):
            self.initial["email"] = invitation.email

    def invitation(self) -> Invitation | None:
        """Return the invitation that the visitor came with."""
        return find_requested_invitation(context.request)

    def try_save(self, request: HttpRequest) -> tuple[User | None, HttpResponse | None]:
        """Create the account, or show the form again with what is wrong.

        Two requests can find the same name free. The database refuses the second, and the check, which now
        sees the account of the first, says which field is wrong.
        """
        try:
            with transaction.atomic():
                return super().try_save(request)  # type: ignore[misc]
        except IntegrityError:
            self.full_clean()
            if not self.errors or request.resolver_match is None:
                raise
            return None, request.resolver_match.func(request)

    def label_of(self, name: str) -> Any:
        """Say that the address is optional."""
        labels = {"email": _("E-mail address (optional)"), "password2": _("Password again")}
        return labels.get(name, super().label_of(name))


class SignUp(Invited, account.SignupForm):
    """Sign-up with a password."""


class ProviderSignUp(Invited, social.SignupForm):
    """Sign-up of a person whom a provider has identified."""

    def invitation(self) -> Invitation | None:
        """Return the invitation at which the login began."""
        return find_invitation_by_address(self.sociallogin.state.get("next"))


class ChangePassword(Password, account.ChangePasswordForm):
    """A new password, for the current one."""


class SetPassword(Password, account.SetPasswordForm):
    """The first password of an account without one."""


class NewPassword(Password, account.ResetPasswordKeyForm):
    """A new password, for a link."""


class ResetPassword(Plain, account.ResetPasswordForm):
    """The address to send a link to."""


class AddEmail(Plain, account.AddEmailForm):
    """Another address of an account."""


class Reauthenticate(Plain, account.ReauthenticateForm):
    """The password, asked again."""


class Code(Plain, code.AuthenticateForm):
    """A code of the app, or a recovery code."""


class CodeAgain(Plain, code.ReauthenticateForm):
    """A code, asked again."""


class ActivateApp(Plain, totp.ActivateTOTPForm):
    """The first code of an authenticator app."""
