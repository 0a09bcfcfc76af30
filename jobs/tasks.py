"""Tasks of the workers: jobs that people start, their upkeep, webhooks.

The pending rows of webhooks are the job, too: a lost message only delays them until the next sweep. Each
webhook has its own task, so that an address that does not answer delays no other.
"""

from datetime import timedelta
from functools import partial
from typing import Any, Protocol

from celery import shared_task
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from accounts.models import User, Workspace
from foundation.errors import NoBroker
from foundation.frozen_model import FrozenModel
from jobs.actions import jobs, slices
from jobs.actions.webhooks import deliver, open_client
from jobs.models import Job
from jobs.queue import count_queued, list_active_calls, publish
from jobs.webhooks.models import DeliveryBase
from jobs.webhooks.queries import list_delivery_tables, list_due_deliveries, list_due_webhooks

MOST_DELIVERIES = 100  # deliveries of a webhook at a time; the next sweep takes the rest


class Subject(Protocol):
    """An object of a workspace, such as a study."""

    slug: str
    workspace: Workspace


@shared_task(ignore_result=True)
def run_job(job_id: int) -> None:
    """Do the work of a job, or a turn of it."""
    if jobs.run_job(job_id=job_id):
        enqueue_job(Job.objects.get(pk=job_id))


def start_job(**job: Any) -> Job:
    """Store a job as `create_job` does; a worker gets it on commit."""
    stored = jobs.create_job(**job)
    transaction.on_commit(partial(enqueue_job, stored))
    return stored


def start_job_about(subject: Subject, *, kind: str, by: User, options: FrozenModel) -> Job:
    """Start a job about an object, which the list of jobs names."""
    return start_job(
        kind=kind,
        workspace=subject.workspace,
        by=by,
        subject=subject.slug,
        options=options.model_dump(mode="json"),
    )


def enqueue_job(job: Job) -> None:
    """Hand a job to a worker; without a queue the next sweep does it."""
    try:
        publish(run_job, [(job.pk,)])
    except NoBroker:
        return


@shared_task(ignore_result=True)
def sweep_jobs() -> None:
    """Enqueue jobs again that lost their worker or their message."""
    lost = jobs.release_lost(is_active=lambda job_id: (run_job.name, job_id) in list_active_calls())
    if not count_queued():  # else the message of a pending job may be among those that wait
        now = timezone.now()
        # A job created in the future is of before the clock was set back.
        recent = (now - timedelta(minutes=1), now)
        pending = Job.objects.filter(status=Job.Status.PENDING).exclude(created_at__range=recent)
        lost = sorted({*lost, *pending.values_list("pk", flat=True)})
    publish(run_job, [(pk,) for pk in lost])


@shared_task(ignore_result=True)
def sweep_slices() -> None:
    """Enqueue slices again that lost their worker."""
    slices.take_over_lost()


@shared_task(ignore_result=True)
def purge_files() -> None:
    """Delete the files of old jobs."""
    jobs.purge_files()


@shared_task(ignore_result=True)
def deliver_webhooks() -> None:
    """Start a task for each webhook with due deliveries; called by beat."""
    for table in list_delivery_tables():
        for webhook in list_due_webhooks(table):
            deliver_to.apply_async((table._meta.label, webhook), retry=False)


@shared_task(ignore_result=True)
def deliver_to(table: str, webhook: int) -> None:
    """Send the due deliveries of a webhook until one fails.

    Args:
        table: The label of the table of deliveries, as in "annotation.Delivery".
        webhook: The key of the webhook.
    """
    model = apps.get_model(table)
    assert issubclass(model, DeliveryBase)
    with open_client() as post:
        for delivery in list_due_deliveries(model, webhook, MOST_DELIVERIES):
            if not deliver(model, delivery=delivery, post=post):
                break
