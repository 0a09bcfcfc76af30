"""Create, revoke and accept invitations."""

from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.actions import audit
from accounts.actions.workspaces import give_role
from accounts.errors import InvitationEnded
from accounts.models import Invitation, Role, User, Workspace
from accounts.queries.invitations import open_invitations
from accounts.queries.people import check_open, find_shared_object
from accounts.random_secrets import hash_of, make_secret
from accounts.shareable import Shareable, load_sharing_module


class CreatedInvitation(NamedTuple):
    """A new invitation and the token of its link.

    Only the hash of the token is stored, so it cannot be shown again.
    """

    invitation: Invitation
    token: str


@transaction.atomic
def create_invitation(
    *,
    workspace: Workspace,
    role: Role,
    days: int,
    by: User,
    email: str = "",
    kind: str = "",
    shared: Shareable | None = None,
) -> CreatedInvitation:
    """Create a link that gives a role in a workspace, or on one object of it.

    Args:
        workspace: The workspace.
        role: The role that the link gives.
        days: The days for which it is valid.
        by: The person who invites.
        email: The address that it is sent to, if any.
        kind: A key of `settings.SHAREABLE` for a link to one object.
        shared: That object.

    Raises:
        ValidationError: Names the field that is wrong.
    """
    token = make_secret()
    invitation = Invitation(
        workspace=workspace,
        kind=kind,
        object_id=shared.pk if shared else None,
        role=role,
        email=email,
        token_hash=hash_of(token),
        created_by=by,
        expires_at=timezone.now() + timedelta(days=days),
    )
    invitation.full_clean()
    invitation.save()
    named = {"object": shared.slug} if shared else {}
    audit.record(
        kind="invitation_created",
        by=by,
        workspace=workspace,
        subject=email,
        data={"role": str(role), **named},
    )
    return CreatedInvitation(invitation, token)


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: User) -> bool:
    """Revoke an invitation; return False if it was used or revoked before."""
    open_rows = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    revoked = bool(open_rows.update(revoked_at=timezone.now()))
    if revoked:
        audit.record(
            kind="invitation_revoked",
            by=by,
            workspace=invitation.workspace,
            subject=invitation.email,
            data={"role": invitation.role},
        )
    return revoked


@transaction.atomic
def accept_invitation(*, invitation: Invitation, by: User) -> None:
    """Give a person the role of an invitation. It can be used once.

    Raises:
        InvitationEnded: It was used or revoked, it has expired, or its object is gone.
    """
    check_open(invitation)
    # The condition decides between two people who accept at the same moment.
    open_rows = open_invitations().filter(pk=invitation.pk)
    if not open_rows.update(accepted_at=timezone.now(), accepted_by=by):
        raise InvitationEnded(_("This invitation was just used or revoked. Ask for another one."))
    role = Role(invitation.role)
    audit.record(
        kind="invitation_accepted",
        by=by,
        workspace=invitation.workspace,
        subject=by,
        data={"role": str(role)},
    )
    if invitation.object_id is None:
        give_role(workspace=invitation.workspace, user=by, role=role, by=invitation.created_by)
    else:
        shared = find_shared_object(invitation)
        if shared is None:
            raise InvitationEnded(
                _("The target of this invitation no longer exists. Ask for another invitation.")
            )
        load_sharing_module(invitation.kind).share(
            object=shared, user=by, role=role, by=invitation.created_by
        )
