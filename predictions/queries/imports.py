"""Read the jobs that import uploaded files."""

from jobs.models import Job

KINDS = ("import_dataset", "import_predictions")


def applied_job(preview: Job) -> Job | None:
    """Return the job that applies a preview, if one runs or is done."""
    jobs = Job.objects.filter(kind=preview.kind, options__preview=preview.pk)
    return jobs.exclude(status__in=(Job.Status.FAILED, Job.Status.CANCELLED)).first()
