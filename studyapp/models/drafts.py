"""Revisions of a study's draft, so that changes can be undone."""

from django.conf import settings
from django.db import models

from studyapp.models.studies import Study


class DraftRevision(models.Model):
    """The draft of a study after a change; it may be incomplete or invalid.

    ``content`` has the fields of `studyapp.definition.schema.StudyDefinition`. ``before`` is the number of
    the revision that was changed: undoing goes there and deletes nothing. ``changed`` names the step of the
    studio, or the act. ``Study.draft_number`` is the current revision.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    before = models.PositiveIntegerField(null=True)
    content = models.JSONField()
    changed = models.CharField(max_length=40)
    made_at = models.DateTimeField(auto_now_add=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)

    class Meta:
        ordering = ["study_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="revision_number_once_per_study"),
            models.CheckConstraint(
                condition=models.Q(before__isnull=True) | models.Q(before__lt=models.F("number")),
                name="revision_comes_after_what_it_changed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} draft {self.number}"
