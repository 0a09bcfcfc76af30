"""Whether a person has a token."""

from datetime import datetime

from rest_framework.authtoken.models import Token

from accounts.models import User


def made_at(user: User) -> datetime | None:
    """When a person's token was made; None where there is none."""
    found: datetime | None = Token.objects.filter(user=user).values_list("created", flat=True).first()
    return found
