"""End sessions, and delete what old logins left behind."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from accounts.actions import audit
from accounts.models import User


@transaction.atomic
def end_sessions(*, user: User, keep: str | None, by: User) -> None:
    """Log a user out everywhere but in the session ``keep``."""
    delete_sessions(user=user, keep=keep)
    audit.record(kind="sessions_ended", by=by, subject=user)


def delete_sessions(*, user: User, keep: str | None) -> None:
    """Delete the sessions of a user, all but ``keep``."""
    ended = UserSession.objects.filter(user=user).exclude(session_key=keep)
    Session.objects.filter(session_key__in=ended.values("session_key")).delete()
    ended.delete()


@transaction.atomic
def purge_logins(*, days: int) -> None:
    """Delete ended sessions, and failed logins older than ``days``."""
    now = timezone.now()
    Session.objects.filter(expire_date__lte=now).delete()
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    AccessAttempt.objects.filter(attempt_time__lt=now - timedelta(days=days)).delete()
