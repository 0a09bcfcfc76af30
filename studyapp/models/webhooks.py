"""Webhooks of a study, and the events sent to them."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.webhooks.models import DeliveryBase, WebhookBase, build_due_index
from studyapp.models.participants import Participant
from studyapp.models.studies import Study


class WebhookEvent(models.TextChoices):
    """The kinds of events that a study sends."""

    COMPLETED = "participant_completed", _("Participant completed")
    FLAGGED = "participant_flagged", _("Participant flagged")
    QUOTA = "quota_reached", _("Quota reached")


class StudyWebhook(WebhookBase):
    """An address that receives the events of a study."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="webhooks")


class StudyDelivery(DeliveryBase):
    """One event of a study for one address.

    ``participant`` is whom the event names, so that it can be deleted with the person.
    """

    webhook = models.ForeignKey(StudyWebhook, on_delete=models.PROTECT, related_name="deliveries")
    participant = models.ForeignKey(
        Participant, null=True, on_delete=models.PROTECT, related_name="deliveries"
    )

    class Meta(DeliveryBase.Meta):
        verbose_name_plural = "study deliveries"
        indexes = [build_due_index("study_deliveries_due")]
