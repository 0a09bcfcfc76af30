"""People of the tests of accounts, and what a browser of theirs does."""

import time
from datetime import timedelta

from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken, AuditEntry, Invitation, Role, User
from accounts.random_secrets import hash_of
from tests.workspaces import main

PASSWORD = "a harbour in the fog"
TOKEN = "t" * 32  # of the invitation
INVITATION = f"/invitations/{TOKEN}/"


def make_user(name: str = "ada", **fields) -> User:
    return User.objects.create_user(name, password=PASSWORD, **fields)


def log_in(client: Client, name: str = "ada", password: str = PASSWORD, **data):
    return client.post("/accounts/login/", {"username": name, "password": password, **data})


def is_logged_in(client: Client) -> bool:
    return client.get("/accounts/sessions/").status_code == 200


def code_for(secret: str) -> str:
    """Return the code that an authenticator app shows now.

    It waits for the next code if the current one could end before it arrives.
    """
    if time.time() % 30 > 27:
        time.sleep(30 - time.time() % 30)
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def confirm(client: Client, password: str = PASSWORD) -> None:
    """Enter the password again."""
    assert client.post("/accounts/reauthenticate/", {"password": password}).status_code == 302
    assert client.session[AUTHENTICATION_METHODS_SESSION_KEY][-1]["reauthenticated"]


def set_up_second_factor(client: Client) -> str:
    """Turn on the second factor; return its key."""
    confirm(client)
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    response = client.post("/accounts/2fa/totp/activate/", {"code": code_for(secret)})
    assert response["Location"] == "/accounts/2fa/recovery-codes/"
    return secret


def make_token(user: User) -> ApiToken:
    expires_at = timezone.now() + timedelta(days=90)
    return ApiToken.objects.create(
        user=user, name="script", prefix="tst_1", token_hash="a" * 64, expires_at=expires_at
    )


def make_invitation(by: User, **fields) -> Invitation:
    values = {
        "workspace": main(),
        "role": Role.ANNOTATOR,
        "token_hash": hash_of(TOKEN),
        "expires_at": timezone.now() + timedelta(days=1),
        "created_by": by,
        **fields,
    }
    return Invitation.objects.create(**values)


def kinds(user: User) -> list[str]:
    """The audit log of an account, oldest first."""
    return list(AuditEntry.objects.filter(subject=str(user)).order_by("pk").values_list("kind", flat=True))
