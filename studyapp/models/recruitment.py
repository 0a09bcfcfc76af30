"""IDs of recruitment platforms, apart from other data, and notices."""

from django.db import models
from django.db.models import Q

from studyapp.models.participants import Participant
from studyapp.models.studies import Mode, Study


class ExternalIds(models.Model):
    """A platform's IDs of a participant, in a table that can be deleted alone.

    ``session_id`` is the submission or assignment; "" if the platform gives none. A person is in a study
    once per mode.
    """

    participant = models.OneToOneField(Participant, on_delete=models.PROTECT, related_name="external_ids")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="+")
    mode = models.CharField(max_length=10, choices=Mode)
    platform = models.CharField(max_length=20)
    person_id = models.CharField(max_length=100)
    study_id_there = models.CharField(max_length=100, blank=True)
    session_id = models.CharField(max_length=100, blank=True)

    class Meta:
        verbose_name_plural = "external ids"
        indexes = [models.Index(fields=["platform", "session_id"], name="external_session")]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "mode", "platform", "person_id"], name="person_once_per_study_and_mode"
            ),
            models.CheckConstraint(condition=~Q(person_id=""), name="external_ids_name_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.platform} ids of {self.participant_id}"


class ReceivedNotice(models.Model):
    """A notice of a platform that was acted on.

    It stays for a while, so that it is not acted on twice.
    """

    platform = models.CharField(max_length=20)
    event_id = models.CharField(max_length=200)
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["platform", "event_id"], name="notice_once_per_platform")
        ]

    def __str__(self) -> str:
        return f"{self.platform} {self.event_id}"
