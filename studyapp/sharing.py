"""Studies as objects to share: the interface of `settings.SHAREABLE`."""

from accounts.models import Role, User
from studyapp.actions import shares
from studyapp.models import Study
from studyapp.queries.access import SHARED_ROLES

ROLES: tuple[Role, ...] = SHARED_ROLES


def object_of(pk: int) -> Study | None:
    """Return a study by its key."""
    return Study.objects.select_related("workspace").filter(pk=pk).first()


def named(slug: str) -> Study | None:
    """Return a study by its short name."""
    return Study.objects.select_related("workspace").filter(slug=slug).first()


def share(*, object: Study, user: User, role: Role, by: User | None) -> None:
    """Share a study with a user in a role."""
    shares.share_study(study=object, user=user, role=role, by=by)


def end_share(*, object: Study, user: User, role: Role, by: User | None) -> None:
    """End the share of a study with a user in a role."""
    shares.end_share(study=object, user=user, role=role, by=by)
