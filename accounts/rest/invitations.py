"""Invitations as endpoints answer them, of workspaces or of objects."""

from collections.abc import Iterable, Sequence

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse

from accounts.actions.invitations import CreatedInvitation
from accounts.models import Invitation
from accounts.queries.people import object_of
from accounts.rest import shapes
from accounts.rest.pages import answer


def invitation_rows(rows: Sequence[Invitation]) -> Iterable[shapes.InvitationRow]:
    """Return invitations as rows."""
    names = ("role", "kind", "email", "created_at", "expires_at")
    for row in rows:
        shared = object_of(row)
        values = {name: getattr(row, name) for name in names}
        yield shapes.InvitationRow.model_validate(
            {"id": str(row.pk), "object": None if shared is None else shared.slug, **values}
        )


def answer_invitation(created: CreatedInvitation) -> HttpResponse:
    """Return a new invitation with its address, which nobody sees again."""
    address = settings.SITE_URL + reverse("people:invitation", args=[created.token])
    [row] = invitation_rows([created.invitation])
    return answer(shapes.MadeInvitation(**row.model_dump(), address=address), status=201)
