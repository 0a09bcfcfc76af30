"""Deactivate and activate accounts."""

from django.db import transaction

from accounts.actions import audit, sessions, tokens
from accounts.actions.workspaces import check_another_owner
from accounts.models import Role, User, Workspace


@transaction.atomic
def deactivate(*, user: User, by: User | None) -> None:
    """End the sessions and tokens of an account; nobody can log in with it.

    Roles, studies and annotations of the person stay.

    Raises:
        LastOwner: The person is the last active owner of a workspace.
    """
    owned = Workspace.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    for workspace in owned.order_by("pk"):
        check_another_owner(workspace=workspace, user=user)
    if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
        audit.record(kind="account_deactivated", by=by, subject=user)
    sessions.delete_sessions(user=user, keep=None)
    tokens.revoke_all(user=user, by=by)


@transaction.atomic
def activate(*, user: User, by: User | None) -> None:
    """Let a person log in again. Revoked tokens stay revoked."""
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        audit.record(kind="account_activated", by=by, subject=user)
