"""Make users for simulated annotators, with passwords only while they run."""

import secrets

from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.models import User
from annotation.actions import audit
from annotation.actions.projects import set_member
from annotation.models import Project, Role


@transaction.atomic
def enlist_bots(*, project: Project, n: int, by: User | None = None) -> list[tuple[str, str]]:
    """Make or reuse ``n`` bot users of a project; return names and password.

    They share one new password, because its slow hash would be computed for each of them.
    """
    password = secrets.token_urlsafe(32)
    encoded = make_password(password)
    names = [f"bot-{project.slug}-{number}" for number in range(1, n + 1)]
    there = {user.username: user for user in User.objects.filter(username__in=names)}
    for name in names:
        user = there.get(name) or User(username=name)
        user.password, user.is_active = encoded, True
        user.save()
        set_member(project=project, user=user, role=Role.ANNOTATOR, by=by)
    audit.record(project=project, kind="bots_enlisted", by=by, data={"bots": n})
    return [(name, password) for name in names]


@transaction.atomic
def retire_bots(*, names: list[str]) -> None:
    """Remove the passwords of bots. Their annotations stay."""
    User.objects.filter(username__in=names).update(password=make_password(None))
