"""The invitation that a visitor came with, which opens the sign-up.

The page of an invitation leads to login and sign-up with its own address as ``next``, which their forms and
the login by a provider carry along. Nothing is stored before the visitor sends a form.
"""

from urllib.parse import urlsplit

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from accounts.models import Invitation
from accounts.queries.invitations import open_invitations
from accounts.random_secrets import hash_of


def find_requested_invitation(request: HttpRequest) -> Invitation | None:
    """Return the invitation to which a visitor wants to go on."""
    return find_invitation_by_address(
        request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME)
    )


def find_invitation_by_address(address: str | None) -> Invitation | None:
    """Return the invitation of which this is the address, if it is open."""
    try:
        match = resolve(urlsplit(address or "").path)
    except (Resolver404, ValueError):
        return None
    if match.view_name != "people:invitation":
        return None
    return open_invitations().filter(token_hash=hash_of(match.kwargs["token"])).first()
