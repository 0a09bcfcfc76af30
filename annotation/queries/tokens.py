"""Read a person's API token."""

from datetime import datetime

from rest_framework.authtoken.models import Token

from accounts.models import User


def made_at(user: User) -> datetime | None:
    """Return the time when a person's token was made, or None."""
    created: datetime | None = Token.objects.filter(user=user).values_list("created", flat=True).first()
    return created
