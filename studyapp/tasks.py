"""Celery tasks of studies: retention and simulated sample sizes."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from jobs.queue import count_queued, list_active_calls, publish
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


@shared_task(ignore_result=True)
def sweep_size_plans() -> None:
    """Enqueue simulations again that lost their worker or their message."""
    if count_queued():
        return
    unfinished = SizePlan.objects.filter(
        status__in=(SizePlan.Status.PENDING, SizePlan.Status.RUNNING),
        created_at__lt=timezone.now() - timedelta(minutes=1),
    )
    if waiting := list(unfinished.values_list("pk", flat=True)):
        active = list_active_calls()
        publish(compute_size_plan, [(pk,) for pk in waiting if (compute_size_plan.name, pk) not in active])
