"""Runs of served systems over the items of a project."""

from django.conf import settings
from django.db import models

from annotation.models.items import Item
from annotation.models.projects import Project
from jobs.models import SlicedRun


class OutputRun(SlicedRun):
    """A revision of a system that executes programs, or answers questions.

    ``fit`` says what becomes of answers (`annotation.suggestions.Fit`); {} for the execution of programs.
    ``backend`` is the address of a Label Studio ML backend that is asked instead of the model server.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="output_runs")
    system = models.CharField(max_length=100)
    revision = models.CharField(max_length=100)
    fit = models.JSONField(default=dict)
    backend = models.URLField(max_length=500, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "system", "revision"], name="output_run_once"),
        ]

    def __str__(self) -> str:
        return f"{self.system} on {self.project} ({self.revision})"


class OutputFailure(models.Model):
    """The reason why an item of a run has no output.

    Starting the run again tries the item once more.
    """

    run = models.ForeignKey(OutputRun, on_delete=models.CASCADE, related_name="failures")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="output_failures")
    kind = models.CharField(max_length=40)
    message = models.TextField()

    class Meta:
        ordering = ["item_id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "item"], name="output_failure_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message[:60]}"
