"""Access of web requests: 404 without a role, 403 without the right."""

from typing import TypeVar

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User, Workspace
from accounts.policy_table import Act, Roles, is_allowed
from accounts.queries.workspaces import select_workspaces
from accounts.rights.roles import Owned, explain_refusal, find_roles

# The same for what is missing and for what others own, so that addresses reveal nothing.
NOT_THERE = gettext_lazy("There is nothing here for you under this address.")
Stored = TypeVar("Stored")


def require_existing(stored: Stored | None) -> Stored:
    """Return a stored object; raise Http404 if there is none."""
    if stored is None:
        raise Http404(str(NOT_THERE))
    return stored


def require_user(request: HttpRequest) -> User:
    """Return the logged-in user of a view that requires a login."""
    assert isinstance(request.user, User)
    return request.user


def require(user: User, act: Act, owned: Owned | Workspace) -> Roles:
    """Let a user through who may do this with an object; return their roles.

    Raises:
        Http404: The user has no role on it.
        PermissionDenied: No role of the user allows the act.
    """
    roles = find_roles(user, owned)
    if not roles:
        raise Http404(str(NOT_THERE))
    if not is_allowed(roles, act):
        raise PermissionDenied(explain_refusal(roles, act))
    return roles


def require_somewhere(user: User, act: Act) -> list[Workspace]:
    """Return the workspaces in which the user may do this.

    Raises:
        PermissionDenied: There is none.
    """
    workspaces = list(select_workspaces(user, act))
    if not workspaces:
        raise PermissionDenied(
            _("In no workspace do you have a role with which you may %(act)s.") % {"act": act.label}
        )
    return workspaces
