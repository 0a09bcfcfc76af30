"""Longest password: the site refuses a longer one before it is hashed."""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

LONGEST_PASSWORD = 128  # characters, as OWASP ASVS 2.1.2 wants


class MaximumLengthValidator:
    """Refuse longer passwords, wherever one is set."""

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError for a password that is too long."""
        if len(password) > LONGEST_PASSWORD:
            raise ValidationError(self.get_help_text(), code="password_too_long")

    def get_help_text(self) -> str:
        """Return the rule as a sentence."""
        return _("The password must have at most %(most)d characters.") % {"most": LONGEST_PASSWORD}
