"""Log annotating bots in without the pages of the login.

A login takes longer than many saves. Django has to be set up before this is imported.
"""

from collections.abc import Collection

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from accounts.models import User
from accounts.sessions import SessionStore


def open_sessions(*, names: Collection[str]) -> dict[str, str]:
    """Return the key of a new session of each bot, by its name."""
    keys = {}
    for user in User.objects.filter(username__in=names):
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "accounts.sessions.Backend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        assert session.session_key is not None  # it was just created
        keys[user.username] = session.session_key
    return keys
