"""Sessions and logins with prepared queries.

Every request of a user runs these two queries. Everything else is Django's and allauth's.
"""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.sessions.backends.db import SessionStore as RowSessionStore
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from foundation.database.prepared_queries import Prepared, make_slot

_LIVE = Prepared(
    lambda: Session.objects.filter(
        session_key=make_slot("key", Session, "session_key"),
        expire_date__gt=make_slot("now", Session, "expire_date"),
    )
)
_USER = Prepared(lambda: User.objects.filter(pk=make_slot("user", User)))


class SessionStore(RowSessionStore):
    """Sessions as rows of the database."""

    def _get_session_from_db(self) -> Session | None:
        session = _LIVE.first(key=self.session_key, now=timezone.now())
        if session is None:
            self._session_key = None
        return session


class Backend(AuthenticationBackend):
    """Users with passwords, found by user name or e-mail address."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> AbstractBaseUser | None:
        """Return the user with a name or an address and a password.

        allauth's form gives an address as both and would check the password twice, but only of accounts
        that exist: the time of a wrong login would tell which addresses have one.
        """
        if credentials.get("email") == credentials.get("username"):
            credentials.pop("email", None)
        return super().authenticate(request, **credentials)

    def get_user(self, user_id: int) -> User | None:
        """Return the user of a session, None if they may not log in."""
        user = _USER.first(user=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None
