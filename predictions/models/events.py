"""The log of datasets and runs."""

from django.conf import settings
from django.db import models


class Event(models.Model):
    """One act on datasets or runs; rows are only appended.

    ``actor`` is NULL for acts of a worker or the shell.
    """

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="prediction_events"
    )
    kind = models.CharField(max_length=40)
    at = models.DateTimeField(auto_now_add=True)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M}"
