"""The columns of webhooks and of the events sent to them."""

from django.conf import settings
from django.core.validators import URLValidator
from django.db import models

TEST = "test"  # the kind of an event that a person asked for, to try a webhook


class WebhookBase(models.Model):
    """An address that receives signed events of some kinds ([]: all)."""

    url = models.CharField(max_length=500, validators=[URLValidator(schemes=["http", "https"])])
    secret = models.CharField(max_length=64, editable=False)
    kinds = models.JSONField(default=list, blank=True)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.url


class DeliveryBase(models.Model):
    """One event for one address. The row is the job: a lost task delays it.

    An app adds ``webhook``, a key to its webhooks with the related name "deliveries".
    """

    kind = models.CharField(max_length=40)
    body = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    next_at = models.DateTimeField(null=True)  # NULL: delivered, or given up
    attempts = models.PositiveSmallIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        abstract = True
        verbose_name_plural = "deliveries"

    def __str__(self) -> str:
        return f"{self.kind} delivery {self.pk}"


def build_due_index(name: str) -> models.Index:
    """Return the index with which the sweep finds due deliveries."""
    return models.Index(fields=["next_at"], condition=models.Q(next_at__isnull=False), name=name)
