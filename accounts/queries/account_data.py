"""Reads of all that is stored about a person with an account."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models import Model

from accounts.models import User

# Rows about the person, which are exported with all columns. Of other rows that name the person, such as a
# study that they created, only the name and the time: they are about something else.
OF_THE_PERSON = frozenset(
    {
        *("account.EmailAddress", "usersessions.UserSession", "socialaccount.SocialAccount"),
        *("mfa.Authenticator", "accounts.ApiToken", "accounts.Membership", "accounts.AuditEntry"),
        *("studyapp.StudyShare", "studyapp.Judgement", "annotation.Membership", "annotation.KeyBindings"),
        *("annotation.Annotation", "annotation.Operation", "annotation.Comment"),
    }
)
SECRETS = frozenset({"password", "token_hash", "session_key"})
_SECRET_TABLES = {"mfa.Authenticator": {"data"}}


def collect_account_data(user: User) -> dict[str, list[dict[str, Any]]]:
    """Return all that is stored about a person, by table, without secrets.

    The tables are discovered by their keys to accounts, so that none is forgotten.
    """
    tables = {User._meta.label: [_read_columns(user)]}
    for model, name in find_keys_to_accounts():
        rows = model._base_manager.filter(**{name: user}).order_by("pk")
        if model._meta.label in OF_THE_PERSON:
            shown = [_read_columns(row) for row in rows]
        else:
            shown = [{"as": name, "id": row.pk, "name": str(row), **_read_time(row)} for row in rows]
        if shown:
            tables.setdefault(model._meta.label, []).extend(shown)
    return tables


def find_keys_to_accounts() -> Iterator[tuple[type[Model], str]]:
    """Yield the tables with a key to accounts, with its name."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.is_relation and field.related_model is get_user_model():
                yield model, field.name


def _read_columns(row: Model) -> dict[str, Any]:
    left_out = SECRETS | _SECRET_TABLES.get(row._meta.label, set())
    fields = [field for field in row._meta.concrete_fields if field.name not in left_out]
    return {field.name: field.value_from_object(row) for field in fields}


def _read_time(row: Model) -> dict[str, datetime]:
    at = getattr(row, "created_at", None) or getattr(row, "at", None)
    return {"at": at} if isinstance(at, datetime) else {}
