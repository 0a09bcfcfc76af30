"""Every named constraint of accounts, each with an attempt that breaks it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import UniqueConstraint
from django.utils import timezone

from accounts.models import AnsweredRequest, ApiToken, Invitation, Membership, Role, User, Workspace
from tests.workspaces import main

LATER = timedelta(days=1)


def user() -> User:
    return User.objects.get_or_create(username="ada", defaults={"password": "!"})[0]


def member(role: str) -> None:
    Membership.objects.create(workspace=main(), user=user(), role=role)


def member_twice() -> None:
    member(Role.VIEWER)
    member(Role.VIEWER)


def invitation(**fields: Any) -> None:
    defaults = {"workspace": main(), "role": Role.VIEWER, "token_hash": "h", "created_by": user()}
    Invitation.objects.create(expires_at=timezone.now() + LATER, **{**defaults, **fields})


def answered_twice() -> None:
    for _ in range(2):
        AnsweredRequest.objects.create(user=user(), key="k1", digest="0" * 64)


def token(**fields: Any) -> None:
    defaults = {"user": user(), "name": "n", "prefix": "tst_a", "token_hash": "h", "scope": "read"}
    ApiToken.objects.create(expires_at=timezone.now() + LATER, **{**defaults, **fields})


BREAKS: dict[str, Callable[[], Any]] = {
    "workspace_has_name": lambda: Workspace.objects.create(slug="s", name=""),
    "workspace_role_once_per_person": member_twice,
    "workspace_role_exists": lambda: member("admin"),
    "invitation_role_exists": lambda: invitation(role="admin"),
    "invitation_to_workspace_or_object": lambda: invitation(kind="study"),
    "accepted_invitation_names_its_user": lambda: invitation(accepted_at=timezone.now()),
    "token_has_name": lambda: token(name=""),
    "token_scope_exists": lambda: token(scope="all"),
    "request_key_once_per_user": answered_twice,
}
# The other ways to break the constraints that have two.
ALSO: dict[str, Callable[[], Any]] = {
    "invitation_to_workspace_or_object": lambda: invitation(object_id=1),
    "accepted_invitation_names_its_user": lambda: invitation(accepted_by=user()),
}


def constraints() -> dict[str, Any]:
    models = apps.get_app_config("accounts").get_models()
    return {
        constraint.name: (model, constraint) for model in models for constraint in model._meta.constraints
    }


def complaint(name: str) -> str:
    """Return the part of the database's message that names the constraint.

    SQLite names the columns instead.
    """
    model, constraint = constraints()[name]
    if isinstance(constraint, UniqueConstraint) and connection.vendor == "sqlite":
        fields = (model._meta.get_field(field) for field in constraint.fields)
        return ", ".join(f"{model._meta.db_table}.{field.column}" for field in fields)
    return name


def test_each_has_an_attempt():
    assert constraints().keys() == BREAKS.keys()


@pytest.mark.database
@pytest.mark.django_db
@pytest.mark.parametrize("name, attempt", [*BREAKS.items(), *ALSO.items()])
def test_cannot_be_broken(name, attempt):
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        attempt()
    assert complaint(name) in str(caught.value)


@pytest.mark.database
@pytest.mark.django_db
@pytest.mark.parametrize("make", [invitation, token])
def test_no_two_rows_have_the_same_secret(make):
    make()
    with pytest.raises(IntegrityError, match="token_hash"), transaction.atomic():
        make()
