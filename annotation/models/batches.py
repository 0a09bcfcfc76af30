"""Batches: items that a manager gave to one person together."""

from django.conf import settings
from django.db import models

from annotation.models.projects import Project


class Batch(models.Model):
    """Items for one person, under a name and perhaps a due date.

    They are the annotations that refer to it. Their reservations do not expire: the items wait for this
    person until a manager releases the batch.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="batches")
    name = models.CharField(max_length=100)
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="annotation_batches"
    )
    due_on = models.DateField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(
                fields=["project", "annotator", "name"], name="batch_name_once_per_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} for {self.annotator}"
