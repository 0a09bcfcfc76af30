"""The abstract model of a run whose work is done in slices."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class SlicedRun(models.Model):
    """A revision of a system that answers many items, slice by slice.

    Items without a stored result are the pending work: any worker may compute them, and computing them twice
    does no harm. `jobs.sliced_runs` changes the status.

    Attributes:
        error: Why the run failed.
        sweeps: How often lost slices were enqueued again since the last progress.
        progressed_at: When the run was started or last stored a result.
    """

    class Status(models.TextChoices):
        """The states of a run; `jobs.sliced_runs.TRANSITIONS` connects them."""

        PENDING = "pending"
        RUNNING = "running", pgettext_lazy("status", "Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    error = models.TextField(blank=True)
    sweeps = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    progressed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
