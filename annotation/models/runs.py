"""Runs of served systems over a project's items: what is still to be done is what has no row."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models.items import Item
from annotation.models.projects import Project


class OutputRun(models.Model):
    """A revision of a served system, executing the programs of a project's items.

    The items without an output or a failure are its pending work: any worker may do it, and twice does no
    harm. ``sweeps`` counts how often lost slices were enqueued again since it last came forward.
    """

    class Status(models.TextChoices):
        RUNNING = "running", pgettext_lazy("status", "Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="output_runs")
    system = models.CharField(max_length=100)
    revision = models.CharField(max_length=100)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    error = models.TextField(blank=True)
    sweeps = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)
    progressed_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "system", "revision"], name="output_run_once"),
        ]

    def __str__(self) -> str:
        return f"{self.system} on {self.project} ({self.revision})"


class OutputFailure(models.Model):
    """Why an item of a run has no output. Starting the run again tries it once more."""

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
