"""The invitation that a visitor came with, kept in the session.

The page of an invitation stores it there; the sign-up asks for it.
"""

from django.http import HttpRequest

from accounts.models import Invitation
from accounts.queries.invitations import live_invitation

# {"token_hash": SHA-256 of the token, "path": address of the invitation}
SESSION_KEY = "invitation"


def invitation_of(request: HttpRequest) -> Invitation | None:
    """Return the invitation of this visitor if it is still open."""
    kept = request.session.get(SESSION_KEY)
    return live_invitation(kept["token_hash"]) if kept else None


def path_of_invitation(request: HttpRequest) -> str | None:
    """Return the address of the invitation, to go on there after login."""
    return request.session[SESSION_KEY]["path"] if invitation_of(request) else None
