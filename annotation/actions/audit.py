"""Record the audit log of a project, and queue its webhooks."""

from typing import Any

from accounts.models import User
from annotation.event_labels import EVENT_LABELS
from annotation.models import AuditEvent, Delivery, Project, Webhook
from foundation.database.prepared_queries import Prepared, insert, make_slot
from jobs.actions.webhooks import queue_event

_LISTENING = Prepared(
    lambda: Webhook.objects.filter(project=make_slot("project", Project), active=True).only("kinds")
)


def record(*, project: Project, kind: str, by: User | None, data: dict[str, Any] | None = None) -> AuditEvent:
    """Append one event and queue it for the project's webhooks.

    Actions call it in their transaction.

    Raises:
        KeyError: The kind has no label to show on pages.
    """
    EVENT_LABELS.check(kind)
    event = AuditEvent(project=project, kind=kind, actor=by, data=data or {})
    insert(event)
    queue_event(Delivery, _LISTENING.all(project=project.pk), kind=kind, body=_build_body(project, event))
    return event


def _build_body(project: Project, event: AuditEvent) -> dict[str, Any]:
    return {
        "id": event.pk,
        "kind": event.kind,
        "project": project.slug,
        "at": event.at.isoformat(),
        "data": event.data,
    }
