"""Celery tasks of accounts: delete what old logins left behind."""

from celery import shared_task
from django.conf import settings

from accounts.actions import sessions


@shared_task
def purge_logins() -> None:
    """Delete ended sessions and old failed logins."""
    sessions.purge_logins(days=settings.FAILED_LOGIN_DAYS)
