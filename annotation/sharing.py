"""Share annotation projects; see `settings.SHAREABLE`."""

from collections.abc import Collection, Iterator

from accounts.models import Role, User, Workspace
from accounts.policy_table import Act, find_granting_roles
from annotation.actions.projects import set_member
from annotation.models import Project
from annotation.models import Role as ProjectRole
from annotation.policies import check_own_role
from annotation.queries.members import list_active_members

ROLES = (Role.ANNOTATOR, Role.ADJUDICATOR, Role.MANAGER)
INVITES = Act.ANNOTATION_MANAGE
OBJECTS = Project.objects.select_related("workspace")


def list_shares(
    *, workspace: Workspace | None = None, users: Collection[User] | None = None
) -> Iterator[tuple[Project, User, Role]]:
    """Yield which project is shared with whom in which role.

    Args:
        workspace: Only projects of this workspace.
        users: Only shares with these users.
    """
    for member in list_active_members(workspace=workspace, users=users):
        yield member.project, member.user, Role(member.role)


def share(*, object: Project, user: User, role: Role, by: User | None) -> None:
    """Share a project with a person in a role.

    A project is shared with a person in one role: another one replaces it, unless the one that they have
    allows as much.
    """
    allowed = _list_acts(role)
    if not any(allowed <= _list_acts(shared_role) for shared_role in object.shared_roles(user)):
        set_member(project=object, user=user, role=ProjectRole(role), by=by)


def end_share(*, object: Project, user: User, role: Role, by: User | None) -> None:
    """End the share of a project in a role, if there is one.

    The person's annotations stay.

    Raises:
        NotAllowed: It is their own, and they manage the project; others may leave it.
    """
    if role in object.shared_roles(user):
        if role == Role.MANAGER:
            check_own_role(by, user, role, active=False)
        set_member(project=object, user=user, role=ProjectRole(role), active=False, by=by)


def _list_acts(role: Role) -> set[Act]:
    return {act for act in Act if role in find_granting_roles(act, shared=True)}
