"""Webhooks of a project, and the events sent to them."""

from django.conf import settings
from django.core.validators import URLValidator
from django.db import models

from annotation.models.projects import Project


class Webhook(models.Model):
    """An address that receives signed events of some kinds ([]: all)."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=500, validators=[URLValidator(schemes=["http", "https"])])
    secret = models.CharField(max_length=64, editable=False)
    kinds = models.JSONField(default=list, blank=True)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One event for one address. The row is the job: a lost task delays it."""

    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries")
    kind = models.CharField(max_length=40)
    body = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    next_at = models.DateTimeField(null=True)  # NULL: delivered, or given up
    attempts = models.PositiveSmallIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["next_at"], condition=models.Q(next_at__isnull=False), name="deliveries_due")
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.webhook_id}"
