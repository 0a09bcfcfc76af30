"""The migrations that change rows, there and back."""

from importlib import import_module

import pytest
from django.apps import apps

from annotation.models import AuditEvent, Delivery, Webhook
from tests.annotation.factories import make_project, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_events_get_the_names_of_annotations() -> None:
    project, by = make_project(), make_user()
    url = "https://example.org/hook"
    hook = Webhook.objects.create(
        project=project, url=url, kinds=["work_taken_back", "gold_set"], created_by=by
    )
    silent = {"item": 'my "work": a_work_submitted', "to": "work"}
    for kind, data in (
        ("work_submitted", {"work": 7, **silent}),
        ("reservations_expired", {"works": [7, 8]}),
        ("webhook_added", {"url": url, "kinds": hook.kinds}),
    ):
        AuditEvent.objects.create(project=project, kind=kind, data=data)
        Delivery.objects.create(webhook=hook, kind=kind, body={"kind": kind, "data": data})
    old = stored()
    migration = import_module("annotation.migrations.0014_annotation_names")
    migration.name_annotations(apps, None)
    assert Webhook.objects.get().kinds == ["annotation_taken_back", "gold_set"]
    new = [
        ("annotation_submitted", {"annotation": 7, **silent}),
        ("reservations_expired", {"annotations": [7, 8]}),
        ("webhook_added", {"url": url, "kinds": ["annotation_taken_back", "gold_set"]}),
    ]
    assert stored() == (new, [(kind, {"kind": kind, "data": data}) for kind, data in new])
    migration.name_work(apps, None)
    assert (stored(), Webhook.objects.get().kinds) == (old, hook.kinds)


def stored() -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """Return kind and content of all events, and of all deliveries."""
    events = AuditEvent.objects.exclude(kind="project_created").order_by("pk").values_list("kind", "data")
    return list(events), list(Delivery.objects.order_by("pk").values_list("kind", "body"))
