"""The log of datasets and runs."""

from django.conf import settings
from django.db import models

from accounts.models import LogEvent


class Event(LogEvent):
    """One act on datasets or runs."""

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="prediction_events"
    )
