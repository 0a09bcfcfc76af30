"""Who is logged in, found without building the same two queries at every request.

They are Django's own but for that: sessions are rows, and their users are checked as ever.
"""

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as RowSessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models import User
from foundation.prepared_queries import Prepared, slot

_LIVE = Prepared(
    lambda: Session.objects.filter(
        session_key=slot("key", Session, "session_key"), expire_date__gt=slot("now", Session, "expire_date")
    )
)
_USER = Prepared(lambda: User.objects.filter(pk=slot("user", User)))


class SessionStore(RowSessionStore):
    """Sessions as rows of the database."""

    def _get_session_from_db(self) -> Session | None:
        found = _LIVE.first(key=self.session_key, now=timezone.now())
        if found is None:
            self._session_key = None
        return found


class Backend(ModelBackend):
    """Users with passwords, as rows of the database."""

    def get_user(self, user_id: int) -> User | None:
        user = _USER.first(user=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None
