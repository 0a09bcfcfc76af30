"""Share studies with users, and end shares."""

from django.db import transaction

from accounts.actions import audit
from accounts.models import Role, User
from studyapp.models import Study, StudyShare


@transaction.atomic
def share_study(*, study: Study, user: User, role: Role, by: User | None) -> StudyShare:
    """Share a study with a user in a role, unless they have it already."""
    share, is_new = StudyShare.objects.get_or_create(
        study=study, user=user, role=role, defaults={"created_by": by}
    )
    if is_new:
        _record("role_given", study, user, role, by)
    return share


@transaction.atomic
def end_share(*, study: Study, user: User, role: Role, by: User | None) -> None:
    """End the share of a study with a user in a role, if there is one."""
    ended, _rows = StudyShare.objects.filter(study=study, user=user, role=role).delete()
    if ended:
        _record("role_ended", study, user, role, by)


@transaction.atomic
def leave_study(*, study: Study, user: User) -> None:
    """End all shares of a study with a user, who asked for it."""
    for role in study.shared_roles(user):
        end_share(study=study, user=user, role=role, by=user)


def _record(kind: str, study: Study, user: User, role: Role, by: User | None) -> None:
    data = {"role": str(role), "object": study.slug}
    audit.record(kind=kind, by=by, workspace=study.workspace, subject=user, data=data)
