"""Payments to participants by the API of a recruitment platform."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from studyapp.models.participants import Participant
from studyapp.models.studies import Study

# Longer than a request to the platform with all its timeouts: so long after it was sent, a payment may still
# be under way from here.
SENDING = timedelta(minutes=5)


class Payment(models.Model):
    """One act on the platform that is done once: an approval, a bonus.

    The row is stored before the platform is asked, so that a worker that is killed in between leaves the
    question "did it happen?" and never a second payment. `studyapp.actions.payments` changes the state.

    Attributes:
        batch: The name of a bonus; a participant gets each name once. Empty for the other kinds.
        amount, currency: Money in the currency of the study on the platform; NULL and empty without money.
        sent_at: The last time at which a worker was about to ask the platform for it.
        transfer: The platform's ID of the bulk payment that this row is part of.
        seen_before: The payments of this amount that the submission had before this one was sent.
        note: The platform's reason, without its IDs of the person.
    """

    class Kind(models.TextChoices):
        """The acts."""

        APPROVE = "approve", _("Approve")
        RETURN = "return", _("Ask to return")
        BONUS = "bonus", _("Bonus")
        SCREEN_OUT = "screen_out", _("Screen-out pay")

    class State(models.TextChoices):
        """The states: planned, sent, confirmed; else failed or unknown."""

        PLANNED = "planned", _("Planned")
        SENT = "sent", pgettext_lazy("payment", "Sent")
        CONFIRMED = "confirmed", pgettext_lazy("payment", "Done")
        FAILED = "failed", _("Failed")
        UNKNOWN = "unknown", _("Unknown")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="payments")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=20, choices=Kind)
    batch = models.CharField(max_length=50, blank=True)
    amount = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    currency = models.CharField(max_length=3, blank=True)
    state = models.CharField(max_length=20, choices=State, default=State.PLANNED)
    transfer = models.CharField(max_length=100, blank=True)
    seen_before = models.PositiveSmallIntegerField(default=0)
    note = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["study", "state"], name="payments_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "kind", "batch"], name="paid_once_per_kind_and_batch"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["approve", "return"], amount__isnull=True)
                | Q(kind__in=["bonus", "screen_out"], amount__isnull=False, amount__gt=0),
                name="payment_has_its_amount",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["sent", "unknown"]) | Q(sent_at__isnull=False),
                name="sent_payment_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.participant_id}"

    @property
    def sending_until(self) -> datetime | None:
        """The time until which a worker may still be sending it; None if none is."""
        until = self.sent_at + SENDING if self.sent_at and self.state == self.State.UNKNOWN else None
        return until if until is not None and until > timezone.now() else None

    @property
    def cents(self) -> int:
        """The amount in hundredths, as the platform counts."""
        return int((self.amount or 0) * 100)
