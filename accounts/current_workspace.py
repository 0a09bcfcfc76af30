"""The workspace that a person chose to see, in the session."""

from collections.abc import Sequence

from django.http import HttpRequest

from accounts.models import Workspace

_KEY = "workspace"


def chosen_workspace(request: HttpRequest, workspaces: Sequence[Workspace]) -> Workspace | None:
    """Return the chosen one of these workspaces; None means all."""
    slug = request.session.get(_KEY)
    return next((each for each in workspaces if each.slug == slug), None)


def choose_workspace(request: HttpRequest, slug: str) -> None:
    """Remember a workspace for the next pages; an empty name means all."""
    request.session[_KEY] = slug
