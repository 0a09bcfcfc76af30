"""Reads of the jobs of a person."""

from django.db.models import QuerySet

from accounts.models import User
from jobs.models import Job


def jobs_of(user: User) -> QuerySet[Job]:
    """Return the jobs that a user started, newest first."""
    return Job.objects.filter(created_by=user).select_related("workspace").order_by("-pk")


def job_of(user: User, pk: int) -> Job | None:
    """Return a job that the user started."""
    return jobs_of(user).filter(pk=pk).first()
