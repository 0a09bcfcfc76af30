"""Rows of webhooks and their deliveries, of whichever app."""

from collections.abc import Iterable, Sequence

from accounts.rest.pages import PageOf, row_of
from jobs.webhooks.models import DeliveryBase, WebhookBase
from touchstone.client.rows import DeliveryRow, NewWebhookRow, WebhookRow

WebhookPage, DeliveryPage = PageOf[WebhookRow], PageOf[DeliveryRow]


def webhook_rows(hooks: Sequence[WebhookBase]) -> Iterable[WebhookRow]:
    """Yield webhooks as rows, without their secrets."""
    return (row_of(WebhookRow, hook) for hook in hooks)


def made_webhook(hook: WebhookBase) -> NewWebhookRow:
    """Return a new webhook, which has no deliveries, with its secret."""
    return row_of(NewWebhookRow, hook, waiting=0, failed=0)


def delivery_rows(deliveries: Sequence[DeliveryBase]) -> Iterable[DeliveryRow]:
    """Yield deliveries as rows."""
    return (row_of(DeliveryRow, delivery) for delivery in deliveries)
