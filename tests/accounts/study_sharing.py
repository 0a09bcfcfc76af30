"""A module as `settings.SHAREABLE` names it, over the shares of studies."""

from collections.abc import Collection, Iterator

from accounts.actions import audit
from accounts.models import Role, User, Workspace
from studyapp.models import Study, StudyShare

ROLES = (Role.OWNER, Role.RESEARCHER, Role.ANALYST, Role.VIEWER)
INVITES = None
OBJECTS = Study.objects.select_related("workspace")


def list_shares(
    *, workspace: Workspace | None = None, users: Collection[User] | None = None
) -> Iterator[tuple[Study, User, Role]]:
    rows = StudyShare.objects.select_related("study__workspace", "user")
    if workspace is not None:
        rows = rows.filter(study__workspace=workspace)
    if users is not None:
        rows = rows.filter(user__in=users)
    for row in rows:
        yield row.study, row.user, Role(row.role)


def share(*, object: Study, user: User, role: Role, by: User | None) -> None:
    StudyShare.objects.get_or_create(study=object, user=user, role=role, defaults={"created_by": by})
    data = {"role": str(role), "object": object.slug}
    audit.record(kind="role_given", by=by, workspace=object.workspace, subject=user, data=data)


def end_share(*, object: Study, user: User, role: Role, by: User | None) -> None:
    StudyShare.objects.filter(study=object, user=user, role=role).delete()
    data = {"role": str(role), "object": object.slug}
    audit.record(kind="role_ended", by=by, workspace=object.workspace, subject=user, data=data)
