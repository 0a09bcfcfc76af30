"""Reads of the sessions of people."""

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User


def select_sessions(user: User) -> QuerySet[UserSession]:
    """Return the sessions in which a user is logged in, oldest first."""
    live = Session.objects.filter(expire_date__gt=timezone.now())
    return UserSession.objects.filter(user=user, session_key__in=live.values("session_key")).order_by("pk")
