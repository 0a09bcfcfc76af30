"""The audit log of accounts and access."""

from django.conf import settings
from django.db import models

from accounts.models.workspaces import Workspace


class AuditEntry(models.Model):
    """One login, change of rights, export or reading of personal data.

    Append-only. ``workspace`` is NULL for acts on an account or the site, ``actor`` for acts of the shell or
    of nobody who is logged in. ``subject`` names the object or the person, as it was called then.
    """

    workspace = models.ForeignKey(Workspace, null=True, on_delete=models.PROTECT, related_name="audit")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="audit_entries"
    )
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["workspace", "-id"], name="audit_newest_of_workspace")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M}"
