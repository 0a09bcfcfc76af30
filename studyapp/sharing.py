"""Studies as objects to share: the interface of `settings.SHAREABLE`."""

from collections.abc import Collection, Iterator

from accounts.models import Role, User, Workspace
from studyapp.actions.shares import end_share as end_study_share
from studyapp.actions.shares import share_study
from studyapp.models import Study, StudyShare
from studyapp.queries.access import SHARED_ROLES

ROLES: tuple[Role, ...] = SHARED_ROLES
INVITES = None
OBJECTS = Study.objects.select_related("workspace")


def list_shares(
    *, workspace: Workspace | None = None, users: Collection[User] | None = None
) -> Iterator[tuple[Study, User, Role]]:
    """Yield the shares of studies: the study, the user and the role.

    Args:
        workspace: Only of studies of this workspace.
        users: Only of these users.
    """
    rows = StudyShare.objects.select_related("study__workspace", "user")
    if workspace is not None:
        rows = rows.filter(study__workspace=workspace)
    if users is not None:
        rows = rows.filter(user__in=users)
    for row in rows:
        yield row.study, row.user, Role(row.role)


def share(*, object: Study, user: User, role: Role, by: User | None) -> None:
    """Share a study with a user in a role."""
    share_study(study=object, user=user, role=role, by=by)


def end_share(*, object: Study, user: User, role: Role, by: User | None) -> None:
    """End the share of a study with a user in a role."""
    end_study_share(study=object, user=user, role=role, by=by)
