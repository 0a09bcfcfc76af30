"""The work of the annotation app that Celery hands to workers: telling webhooks.

The rows are the job: a lost message only delays it until the next sweep. Each webhook has a task of its own,
so that an address which does not answer keeps nobody else waiting.
"""

import httpx
from celery import shared_task

from annotation.actions.webhooks import TIMEOUT, deliver
from annotation.queries.deliveries import due_deliveries, due_webhooks

MOST = 100  # deliveries of a webhook at a time; what is left comes with the next sweep


@shared_task(ignore_result=True)
def deliver_webhooks() -> None:
    """Have every webhook told what is due. Called by Celery's beat."""
    for webhook in due_webhooks():
        deliver_to.apply_async((webhook,), retry=False)


@shared_task(ignore_result=True)
def deliver_to(webhook: int) -> None:
    """Tell one webhook what is due, until it fails: an address that is away is not tried a hundred times."""
    # No proxy of the environment: what was checked is where the connection goes.
    with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
        for delivery in due_deliveries(webhook, MOST):
            if not deliver(delivery=delivery, client=client):
                break
