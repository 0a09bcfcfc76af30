"""Record the audit log of a project, and queue its webhooks."""

from typing import Any

from django.utils import timezone

from accounts.models import User
from annotation.event_labels import EVENT_LABELS
from annotation.models import AuditEvent, Delivery, Project, Webhook
from foundation.prepared_queries import Prepared, insert, slot

_LISTENING = Prepared(
    lambda: Webhook.objects.filter(project=slot("project", Project), active=True).only("kinds")
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
    now = timezone.now()
    deliveries = [
        Delivery(webhook=hook, kind=kind, next_at=now, body=_body(project, event))
        for hook in _LISTENING.all(project=project.pk)
        if not hook.kinds or kind in hook.kinds
    ]
    if deliveries:
        Delivery.objects.bulk_create(deliveries)
    return event


def _body(project: Project, event: AuditEvent) -> dict[str, Any]:
    return {
        "id": event.pk,
        "kind": event.kind,
        "project": project.slug,
        "at": event.at.isoformat(),
        "data": event.data,
    }
