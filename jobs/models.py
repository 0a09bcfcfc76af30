"""Work that workers do: runs in slices, and jobs that people start."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Workspace


class SlicedRun(models.Model):
    """A revision of a system that answers many items, slice by slice.

    Items without a stored result are the pending work: any worker may compute them, and computing them twice
    does no harm. `jobs.actions.sliced_runs` changes the status.

    Attributes:
        error: Why the run failed or paused.
        sweeps: Number of times that lost slices were enqueued again since the last progress.
        progressed_at: When the run was started or last stored a result.
    """

    class Status(models.TextChoices):
        """States of a run; `jobs.actions.sliced_runs.TRANSITIONS` connects them."""

        PENDING = "pending", _("Pending")
        RUNNING = "running", pgettext_lazy("status", "Running")
        PAUSED = "paused", _("Paused: budget spent")
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


class SliceLease(models.Model):
    """A slice that a worker computes now.

    The worker deletes the row at the end. If the lease expires before, the worker is gone, and
    `jobs.actions.slices` enqueues the slice again.

    Attributes:
        task, arguments: The name of the task, and what it was called with.
        lease: The lease that the worker renews (`jobs.leases`).
        takeovers: Number of workers that were lost with this slice before.
    """

    task = models.CharField(max_length=100)
    arguments = models.JSONField()
    lease = models.UUIDField()
    takeovers = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.task}{tuple(self.arguments)}"


class Job(models.Model):
    """An import, an export or a report that somebody asked for.

    The pending row is the job: `jobs.tasks.run_job` does the work of its ``kind``, which is a key of
    `settings.JOBS`, and doing it twice does no harm. `jobs.job_progress` has its progress.
    Files lie below `settings.JOB_FOLDER`.

    Attributes:
        options: The wishes of the person, in the form that the kind declares.
        upload: The uploaded file, relative to the folder; empty without one.
        result: The counts and remarks of a finished job.
        error, error_message: Why it failed, in English, and what pages need to translate that, if possible.
        file, file_name: The file that it made, relative to the folder, and its name for people.
        attempts: Number of times a worker began it; one that ends its worker again and again is given up.
        lease: The lease of the worker that does it (`jobs.leases`); none while nobody does.
    """

    class Status(models.TextChoices):
        """The states of a job; `jobs.actions.jobs` changes them."""

        PENDING = "pending", _("Pending")
        RUNNING = "running", pgettext_lazy("status", "Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="jobs")
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    options = models.JSONField(default=dict)
    upload = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    result = models.JSONField(null=True)
    file = models.CharField(max_length=200, blank=True)
    file_name = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    error_message = models.JSONField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease = models.UUIDField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["created_by", "-id"], name="jobs_of_a_person"),
            models.Index(fields=["created_by", "kind", "-id"], name="jobs_of_a_kind"),
            models.Index(
                fields=["created_at"], condition=Q(status__in=["pending", "running"]), name="open_jobs"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["pending", "running"], finished_at__isnull=True)
                | (~Q(status__in=["pending", "running"]) & Q(finished_at__isnull=False)),
                name="finished_job_has_a_time",
            ),
            models.CheckConstraint(condition=~Q(status="failed") | ~Q(error=""), name="failed_job_says_why"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_open(self) -> bool:
        """Tell whether the job is not finished yet."""
        return self.status in (self.Status.PENDING, self.Status.RUNNING)
