"""Webhooks of a project, and the events sent to them."""

from django.db import models

from annotation.models.projects import Project
from jobs.webhooks.models import DeliveryBase, WebhookBase, build_due_index


class Webhook(WebhookBase):
    """An address that receives the events of a project."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="webhooks")


class Delivery(DeliveryBase):
    """One event of a project for one address."""

    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries")

    class Meta(DeliveryBase.Meta):
        indexes = [build_due_index("deliveries_due")]
