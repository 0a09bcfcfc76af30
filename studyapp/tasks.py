"""Celery tasks of studies: retention and simulated sample sizes."""

from celery import shared_task
from django.utils import timezone

from jobs.queue import publish
from studyapp.actions.privacy import apply_retention
from studyapp.actions.sizes import run_plan
from studyapp.models import SizePlan


@shared_task
def keep_promises() -> None:
    """Delete or anonymise participants whose retention has ended.

    A second run on a day finds nobody.
    """
    apply_retention(today=timezone.now().date())


@shared_task(ignore_result=True)
def compute_size_plan(plan_id: int) -> None:
    """Simulate the sample size of a plan."""
    run_plan(plan_id=plan_id)


def enqueue_size_plan(plan: SizePlan) -> None:
    """Hand a simulation to a worker.

    Raises NoBroker.
    """
    publish(compute_size_plan, [(plan.pk,)])
