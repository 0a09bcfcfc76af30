"""Rights: the roles of a user on an object, held against the policy table."""

from typing import Protocol

from django.utils.translation import gettext as _

from accounts.errors import NotAllowed
from accounts.models import Role, User, Workspace
from accounts.policy_table import Act, Roles, is_allowed
from accounts.queries.workspaces import find_workspace_roles


class Owned(Protocol):
    """An object that belongs to a workspace and may be shared on its own."""

    @property
    def workspace(self) -> Workspace:
        """The workspace that the object belongs to."""

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return the roles in which the object was shared with a user."""


def find_roles(user: User, owned: Owned | Workspace) -> Roles:
    """Return the roles of a user on an object or a workspace.

    Superusers administer accounts; they have no roles but those that they were given.
    """
    if isinstance(owned, Workspace):
        return Roles(find_workspace_roles(user, owned.pk))
    return Roles(find_workspace_roles(user, owned.workspace.pk), owned.shared_roles(user))


def can(user: User, act: Act, owned: Owned | Workspace) -> bool:
    """Return True if the user may do this with the object."""
    return is_allowed(find_roles(user, owned), act)


def check(user: User, act: Act, owned: Owned | Workspace) -> Roles:
    """Check that the user may do this with the object; return their roles.

    Raises:
        NotAllowed: No role of the user allows it.
    """
    roles = find_roles(user, owned)
    if not is_allowed(roles, act):
        raise NotAllowed(explain_refusal(roles, act))
    return roles


def explain_refusal(roles: Roles, act: Act) -> str:
    """Return the sentence for a person whose roles do not allow an act."""
    if not roles:
        return _("You have no role here.")
    return _(
        "With the role %(roles)s you may not %(act)s. If you need to, ask an owner of the workspace for "
        "another role."
    ) % {"roles": ", ".join(str(role.label) for role in roles), "act": act.label}
