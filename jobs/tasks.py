"""Tasks of the workers: jobs that people start, and their upkeep."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from foundation.errors import NoBroker
from jobs.actions import jobs
from jobs.models import Job
from jobs.queue import publish

QUIET = timedelta(minutes=15)  # longer than the hard limit of a task, so a quiet job is a lost one


@shared_task(ignore_result=True)
def run_job(job_id: int) -> None:
    """Do the work of a job, or a turn of it."""
    if jobs.run_job(job_id=job_id):
        enqueue_job(Job.objects.get(pk=job_id))


def enqueue_job(job: Job) -> None:
    """Hand a job to a worker; without a queue the next sweep does it."""
    try:
        publish(run_job, [(job.pk,)])
    except NoBroker:
        return


@shared_task(ignore_result=True)
def sweep_jobs() -> None:
    """Enqueue lost jobs again, and delete the files of old ones."""
    quiet = timezone.now() - QUIET
    lost = Job.objects.filter(status=Job.Status.PENDING, created_at__lt=timezone.now() - timedelta(minutes=1))
    stuck = Job.objects.filter(status=Job.Status.RUNNING, started_at__lt=quiet)
    publish(run_job, [(pk,) for pk in (lost | stuck).values_list("pk", flat=True)])
    jobs.purge_files()
