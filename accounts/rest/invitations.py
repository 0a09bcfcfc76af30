"""Invitations as endpoints answer them, of workspaces or of objects."""

from collections.abc import Iterable, Sequence

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse

from accounts.actions.invitations import CreatedInvitation
from accounts.models import Invitation
from accounts.queries.people import find_shared_object
from accounts.rest.pages import answer, build_row
from touchstone.client import rows as wire


def build_invitation_rows(rows: Sequence[Invitation]) -> Iterable[wire.InvitationRow]:
    """Return invitations as rows."""
    for row in rows:
        shared = find_shared_object(row)
        yield build_row(wire.InvitationRow, row, object=None if shared is None else shared.slug)


def answer_invitation(created: CreatedInvitation) -> HttpResponse:
    """Return a new invitation with its address, which nobody sees again."""
    address = settings.SITE_URL + reverse("people:invitation", args=[created.token])
    [row] = build_invitation_rows([created.invitation])
    return answer(wire.NewInvitationRow(**row, address=address), status=201)
