"""Imports of items, so that one can be undone."""

from django.conf import settings
from django.db import models

from annotation.models.projects import Project
from jobs.models import Job


class ItemImport(models.Model):
    """One import into a project: the items of a range of positions.

    Positions are never given out again, so the range stays that of this import.

    Attributes:
        job: The job that imported an upload: it does so once, however often a worker begins it.
        source: The name of the file.
        counts: The results, as `annotation.actions.data.ImportReport` has them.
        first, last: The positions of its items; ``last`` is less than ``first`` if it added none.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="imports")
    job = models.OneToOneField(Job, null=True, on_delete=models.PROTECT, related_name="item_import")
    source = models.CharField(max_length=200, blank=True)
    counts = models.JSONField()
    first = models.PositiveIntegerField()
    last = models.PositiveIntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"import {self.pk} into {self.project}"
