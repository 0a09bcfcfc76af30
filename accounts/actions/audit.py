"""The audit log: one row per act."""

from typing import Any, Protocol

from accounts.event_labels import EVENT_LABELS
from accounts.models import AuditEntry, User, Workspace


class Exported(Protocol):
    """An object of a workspace, such as a study."""

    workspace: Workspace


def record_export(*, by: User | None, subject: Exported, kind: str) -> AuditEntry:
    """Note that something about an object was downloaded."""
    return record(
        kind="export_downloaded", by=by, workspace=subject.workspace, subject=subject, data={"kind": kind}
    )


def record_reading(*, by: User | None, subject: Exported, page: str) -> AuditEntry:
    """Note that somebody read personal data, and on which page."""
    return record(
        kind="personal_data_read", by=by, workspace=subject.workspace, subject=subject, data={"page": page}
    )


def record(
    *,
    kind: str,
    by: User | None,
    workspace: Workspace | None = None,
    subject: object = "",
    data: dict[str, Any] | None = None,
) -> AuditEntry:
    """Append one row to the audit log.

    Raises:
        KeyError: The kind has no label, so a page would have to show an identifier.
    """
    EVENT_LABELS.check(kind)
    return AuditEntry.objects.create(
        kind=kind, actor=by, workspace=workspace, subject=str(subject)[:200], data=data or {}
    )
