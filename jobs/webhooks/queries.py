"""Reads of webhooks and deliveries, of whichever app."""

from typing import Any, TypeVar

from django.apps import apps
from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from jobs.webhooks.models import DeliveryBase, WebhookBase

Hook = TypeVar("Hook", bound=WebhookBase)
Delivery = TypeVar("Delivery", bound=DeliveryBase)

SHOWN = 100  # the last deliveries of a webhook


def list_delivery_tables() -> list[type[DeliveryBase]]:
    """Return the tables of deliveries of all apps.

    They are discovered, not listed, so that the sweep cannot forget one.
    """
    return [model for model in apps.get_models() if issubclass(model, DeliveryBase)]


def select_rows(table: type[DeliveryBase]) -> Any:
    """Return the rows of a table of deliveries.

    They have no type, because only the app's own model declares the key to its webhooks.
    """
    return table._default_manager.all()


def annotate_counts(hooks: QuerySet[Hook]) -> QuerySet[Hook]:
    """Return webhooks with their numbers of waiting and failed deliveries."""
    over = Q(deliveries__next_at__isnull=True, deliveries__delivered_at__isnull=True)
    counts: dict[str, Any] = {
        "waiting": Count("deliveries", filter=Q(deliveries__next_at__isnull=False)),
        "failed": Count("deliveries", filter=over & Q(deliveries__attempts__gt=0)),
    }
    return hooks.annotate(**counts).order_by("pk")


def select_last_deliveries(deliveries: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Return the last deliveries of a webhook, newest first."""
    return deliveries.order_by("-pk")[:SHOWN]


def list_due_webhooks(table: type[DeliveryBase]) -> list[int]:
    """Return the webhooks with due deliveries, longest waiting first."""
    due = select_rows(table).filter(next_at__lte=timezone.now())
    return list(
        due.values("webhook")
        .annotate(first=Min("next_at"))
        .order_by("first")
        .values_list("webhook", flat=True)
    )


def list_due_deliveries(table: type[DeliveryBase], webhook: int, most: int) -> list[int]:
    """Return the due deliveries of one webhook, oldest first."""
    due = select_rows(table).filter(webhook=webhook, next_at__lte=timezone.now())
    return list(due.order_by("pk").values_list("pk", flat=True)[:most])
