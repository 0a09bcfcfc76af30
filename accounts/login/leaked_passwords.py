"""Passwords that were leaked: a list here, and a service on demand."""

import logging
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pwned_passwords_django.api import PwnedPasswords
from pwned_passwords_django.exceptions import PwnedPasswordsError

logger = logging.getLogger(__name__)

# The 10,000 most common leaked passwords of 12 to 128 characters in lower case (NOTICE names the source).
# Django's list has 187 of that length.
COMMON_PASSWORDS = Path(__file__).parent / "common_passwords.txt.gz"


class LeakedPasswordValidator(CommonPasswordValidator):
    """Refuse common passwords, and those that the service of the site knows.

    `settings.LEAKED_PASSWORDS_URL` names the service. It gets the first five of
    the 40 characters of the password's SHA-1 hash and returns all leaked ones
    that begin so. This list refuses its own passwords without asking.
    """

    def __init__(self) -> None:
        super().__init__(password_list_path=COMMON_PASSWORDS)

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError for a password that is common or was leaked.

        A service that does not answer within a second refuses nothing, so that people can still set
        passwords; the log says so.
        """
        super().validate(password, user)
        url = settings.LEAKED_PASSWORDS_URL
        if not url:
            return
        try:
            leaks = _build_client(url).check_password(password)
        except PwnedPasswordsError as error:
            logger.warning("A new password was compared with the local list alone: %s", error.message)
            return
        if leaks:
            raise ValidationError(
                _("This password is known from a data leak. Choose another one."), code="password_leaked"
            )


@cache
def _build_client(url: str) -> PwnedPasswords:
    """Return this process's client of a service."""
    service = PwnedPasswords(client=httpx.Client())
    service.api_endpoint = url
    return service
