"""Read the jobs that compute something from the predictions of a run."""

from django.db.models import QuerySet

from jobs.actions.jobs import OPEN
from jobs.models import Job
from predictions.models import PredictionRun

KINDS = ("score", "saliency")


def list_run_jobs(run: PredictionRun) -> QuerySet[Job]:
    """Return the jobs about a run, the latest first."""
    rows = Job.objects.filter(kind__in=KINDS, workspace=run.workspace, options__run=run.pk)
    return rows.select_related("created_by").order_by("-pk")


def open_job(kind: str, run: PredictionRun) -> Job | None:
    """Return the job of a kind about a run that is not finished, or None."""
    return list_run_jobs(run).filter(kind=kind, status__in=OPEN).first()
