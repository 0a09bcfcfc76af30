"""Find the webhook deliveries that are due."""

from django.db.models import Min
from django.utils import timezone

from annotation.models import Delivery


def due_webhooks() -> list[int]:
    """Return the webhooks with due deliveries, longest waiting first."""
    due = Delivery.objects.filter(next_at__lte=timezone.now())
    return list(
        due.values("webhook")
        .annotate(first=Min("next_at"))
        .order_by("first")
        .values_list("webhook", flat=True)
    )


def due_deliveries(webhook: int, most: int) -> list[int]:
    """Return the due deliveries of one webhook, oldest first."""
    due = Delivery.objects.filter(webhook=webhook, next_at__lte=timezone.now())
    return list(due.order_by("pk").values_list("pk", flat=True)[:most])
