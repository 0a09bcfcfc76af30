"""Rows of webhooks and their deliveries, of whichever app."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from accounts.rest.bodies import Payload
from accounts.rest.pages import PageOf, row_of
from jobs.webhooks.models import DeliveryBase, WebhookBase


class WebhookRow(Payload):
    """An address that receives events; all kinds if ``kinds`` is empty.

    ``waiting`` and ``failed`` count its deliveries.
    """

    id: str
    url: str
    kinds: list[str]
    active: bool
    created_at: datetime
    waiting: int
    failed: int


class MadeWebhook(WebhookRow):
    """A new webhook with its signing secret, which is shown only once."""

    secret: str


class DeliveryRow(Payload):
    """One event for one address. ``next_at`` is null if delivered or failed."""

    id: str
    kind: str
    created_at: datetime
    attempts: int
    next_at: datetime | None
    delivered_at: datetime | None
    last_error: str


WebhookPage, DeliveryPage = PageOf[WebhookRow], PageOf[DeliveryRow]


def webhook_rows(hooks: Sequence[WebhookBase]) -> Iterable[WebhookRow]:
    """Yield webhooks as rows, without their secrets."""
    return (row_of(WebhookRow, hook) for hook in hooks)


def made_webhook(hook: WebhookBase) -> MadeWebhook:
    """Return a new webhook, which has no deliveries, with its secret."""
    return row_of(MadeWebhook, hook, waiting=0, failed=0)


def delivery_rows(deliveries: Sequence[DeliveryBase]) -> Iterable[DeliveryRow]:
    """Yield deliveries as rows."""
    return (row_of(DeliveryRow, delivery) for delivery in deliveries)
