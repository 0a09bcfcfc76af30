"""The audit log of accounts and access."""

from django.conf import settings
from django.db import models

from accounts.models.workspaces import Workspace


class LogEvent(models.Model):
    """One act of a log; rows are only appended.

    ``actor`` is NULL for acts of a worker, of the shell, or of nobody who is logged in.
    """

    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)
    kind = models.CharField(max_length=40)
    at = models.DateTimeField(auto_now_add=True)
    data = models.JSONField(default=dict)

    class Meta:
        abstract = True
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M}"


class AuditEntry(LogEvent):
    """One login, change of rights, export or reading of personal data.

    ``workspace`` is NULL for acts on an account or the site. ``subject`` names the object or the person, as
    it was called then.
    """

    workspace = models.ForeignKey(Workspace, null=True, on_delete=models.PROTECT, related_name="audit")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="audit_entries"
    )
    subject = models.CharField(max_length=200, blank=True)

    class Meta(LogEvent.Meta):
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["workspace", "-id"], name="audit_newest_of_workspace")]
