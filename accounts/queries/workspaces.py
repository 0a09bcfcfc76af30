"""Reads of workspaces and of the people in them."""

from django.db.models import QuerySet

from accounts.models import Membership, Role, User, Workspace
from accounts.policy_table import Act, find_granting_roles
from foundation.errors import NotFound
from foundation.messages import say


def select_workspaces(user: User, act: Act = Act.WORKSPACE_SEE) -> QuerySet[Workspace]:
    """Return the workspaces in which a role of the user allows the act."""
    mine = Membership.objects.filter(user=user, role__in=find_granting_roles(act))
    return Workspace.objects.filter(pk__in=mine.values("workspace")).order_by("name", "pk")


def find_workspace_roles(user: User, workspace_id: int) -> frozenset[Role]:
    """Return the roles of a user in a workspace."""
    rows = Membership.objects.filter(user=user, workspace=workspace_id)
    return frozenset(Role(role) for role in rows.values_list("role", flat=True))


def choose_workspace(slug: str | None) -> Workspace:
    """Return a workspace by its short name; without one, the only workspace.

    Raises:
        NotFound: There is none of that name, or several to choose from.
    """
    workspaces = list(Workspace.objects.order_by("slug"))
    chosen = [workspace for workspace in workspaces if slug in (None, workspace.slug)]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(workspace.slug for workspace in workspaces)
    if not workspaces:
        raise NotFound(
            say("there is no workspace yet; create one with: .venv/bin/python manage.py create_workspace")
        )
    if slug is None:
        raise NotFound(say("name the workspace with --workspace; there are: %(names)s", names=names))
    raise NotFound(say("there is no workspace %(slug)r; there are: %(names)s", slug=slug, names=names))
