"""The workspaces of a person, and the one whose objects lists show."""

from django.http import HttpRequest

from accounts.models import User, Workspace
from accounts.queries.workspaces import select_workspaces

_KEY = "workspace"  # in the session


def load_own_workspaces(request: HttpRequest) -> list[Workspace]:
    """Return the workspaces of the person; read once per request."""
    if not hasattr(request, "own_workspaces"):
        user = request.user
        request.own_workspaces = list(select_workspaces(user)) if isinstance(user, User) else []  # type: ignore[attr-defined]
    return request.own_workspaces  # type: ignore[attr-defined]


def find_chosen_workspace(request: HttpRequest) -> Workspace | None:
    """Return the workspace that the person chose to see; None means all."""
    slug = request.session.get(_KEY)
    return next((workspace for workspace in load_own_workspaces(request) if workspace.slug == slug), None)


def choose_workspace(request: HttpRequest, slug: str) -> None:
    """Remember a workspace for the next pages; an empty name means all."""
    request.session[_KEY] = slug
