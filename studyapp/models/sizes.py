"""Simulations of sample sizes that staff asked for."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Role, User, Workspace


class SizePlan(models.Model):
    """A simulation of the participants or systems that a study needs.

    ``assumptions`` has the form of `studyapp.rules.sample_sizes.SizeSettings` and ``result`` that of
    `SizeResult`, or those of `studyapp.rules.system_sizes.SystemSettings` and `SystemsResult`. The pending
    row is the job: any worker may compute it, and computing it twice does no harm. ``progress`` is in
    percent.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        RUNNING = "running", pgettext_lazy("status", "Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="size_plans")
    assumptions = models.JSONField()
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    progress = models.PositiveSmallIntegerField(default=0)
    result = models.JSONField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sample size {self.pk}"

    @property
    def is_about_systems(self) -> bool:
        """If it asks for the number of systems, not of participants."""
        return "correlations" in self.assumptions

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return no roles: simulations are shared as a part of their workspace."""
        return frozenset()
