"""Celery tasks of accounts: delete what logins and requests left."""

from celery import shared_task
from django.conf import settings

from accounts.actions import requests, sessions


@shared_task
def purge_logins() -> None:
    """Delete ended sessions, old failed logins and stored responses."""
    sessions.purge_logins(days=settings.FAILED_LOGIN_DAYS)
    requests.purge_answered()
