"""Exclusions by hand, and stored reports."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Job
from studyapp.models.participants import Participant
from studyapp.models.studies import Mode, Study, StudyVersion


class ManualExclusion(models.Model):
    """An exclusion of a participant from the analysis by researchers.

    Including the participant again deletes the row; the log of the study keeps both acts.
    """

    participant = models.OneToOneField(Participant, on_delete=models.PROTECT, related_name="exclusion")
    reason = models.CharField(max_length=200)
    excluded_at = models.DateTimeField(auto_now_add=True)
    excluded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="manual_exclusion_says_why"),
        ]

    def __str__(self) -> str:
        return f"exclusion of {self.participant_id}"


class Report(models.Model):
    """A finished report of a study with the options it was made with.

    Its file lies in a folder of `settings.REPORT_FOLDER` that is named by the job. Files of jobs are
    deleted after a week; reports remain.

    Attributes:
        data: The state of the data that the report is of, as
            `studyapp.queries.running.results.read_data_state` gives it.
        summary: The first screen, as `studyapp.exports.report_summary` reads it from the tables.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="reports")
    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="reports")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="study_report")
    mode = models.CharField(max_length=10, choices=Mode)
    seed = models.PositiveIntegerField()
    resamples = models.PositiveIntegerField()
    data = models.JSONField()
    summary = models.JSONField()
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"report {self.pk} of {self.study_id}"
