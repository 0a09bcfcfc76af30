"""Write webhooks and deliver events: signed, at least once, for a day.

A delivery is claimed by postponing it in one conditional update. Two workers therefore never send the same
one at once, and the claims of a killed worker expire.
"""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from foundation.errors import Conflict
from foundation.messages import say
from jobs.webhooks.addresses import Refused, build_pinned_request, check_new_address
from jobs.webhooks.models import TEST, DeliveryBase, WebhookBase
from jobs.webhooks.queries import select_rows
from jobs.webhooks.signatures import compute_signature

Hook = TypeVar("Hook", bound=WebhookBase)

# Seconds until the next attempt. After the last one, about a day later, the delivery has failed.
WAITS = (10, 60, 300, 1800, 7200, 21_600, 54_000)
CLAIM = timedelta(minutes=5)  # longer than an attempt can take
TIMEOUT = httpx.Timeout(10.0, connect=5.0)
LONGEST = 20.0  # seconds for a whole response, which could come a byte at a time

Post = Callable[[httpx.Request], httpx.Response]


def check_url(url: str) -> None:
    """Check a new address with `check_new_address`.

    Raises:
        ValidationError: The address is not allowed; names the field.
    """
    try:
        check_new_address(url)
    except Refused as error:
        raise ValidationError({"url": str(error)}) from error


def store_webhook(hook: Hook, *, url: str, kinds: Sequence[str], by: User) -> Hook:
    """Store a new webhook with a secret that signs its deliveries.

    Actions of an app call it in their transaction, after `check_url`.

    Raises:
        ValidationError: The address is not valid.
    """
    hook.url, hook.kinds, hook.secret, hook.created_by = url, list(kinds), secrets.token_hex(32), by
    hook.full_clean()
    hook.save()
    return hook


def deactivate(hook: WebhookBase, deliveries: type[DeliveryBase]) -> bool:
    """Send nothing more to a webhook; return False if it has ended before.

    Its past deliveries stay on record.
    """
    ended = type(hook)._default_manager.filter(pk=hook.pk, active=True).update(active=False)
    hook.active = False
    select_rows(deliveries).filter(webhook=hook.pk, next_at__isnull=False).update(next_at=None)
    return bool(ended)


def queue_event(
    deliveries: type[DeliveryBase],
    listening: Iterable[WebhookBase],
    *,
    kind: str,
    body: Mapping[str, Any],
    **columns: Any,
) -> None:
    """Queue an event for the webhooks that want its kind.

    Actions of an app call it in the transaction of the act, so that both are stored or neither is.
    """
    now = timezone.now()
    rows = [
        deliveries(kind=kind, next_at=now, body=dict(body), **{"webhook_id": hook.pk, **columns})
        for hook in listening
        if not hook.kinds or kind in hook.kinds
    ]
    if rows:
        deliveries._default_manager.bulk_create(rows)


def queue_test(deliveries: type[DeliveryBase], hook: WebhookBase, *, about: Mapping[str, str]) -> None:
    """Queue an event that means nothing, to see if a receiver works.

    Args:
        deliveries: The table of deliveries.
        hook: The webhook.
        about: The study or the project, as in other events.

    Raises:
        Conflict: The webhook has ended.
    """
    if not hook.active:
        raise Conflict(say("This webhook has ended."))
    now = timezone.now()
    body = {"id": uuid4().hex, "kind": TEST, **about, "at": now.isoformat(), "data": {}}
    columns: dict[str, Any] = {"webhook_id": hook.pk}
    deliveries._default_manager.create(kind=TEST, next_at=now, body=body, **columns)


@contextmanager
def open_client(transport: httpx.AsyncBaseTransport | None = None) -> Iterator[Post]:
    """Open the connections of one webhook's deliveries.

    Proxies of the environment are left out, so that a connection goes to the address that was checked.
    """
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(timeout=TIMEOUT, trust_env=False, transport=transport)

        async def post(request: httpx.Request) -> httpx.Response:
            async with asyncio.timeout(LONGEST):
                # Do not read the response body, which could be of any length.
                response = await client.send(request, stream=True, follow_redirects=False)
                await response.aclose()
                return response

        try:
            yield lambda request: runner.run(post(request))
        finally:
            runner.run(client.aclose())


def deliver(table: type[DeliveryBase], *, delivery: int, post: Post) -> bool:
    """Send one delivery if it is due; return True if no more is to be done.

    Errors are stored with the delivery.
    """
    now = timezone.now()
    due = select_rows(table).filter(pk=delivery, next_at__lte=now)
    if not due.update(next_at=now + CLAIM, attempts=F("attempts") + 1):
        return True
    held = select_rows(table).select_related("webhook").filter(pk=delivery).first()
    if held is None:  # deleted since, with its participant
        return True
    if not held.webhook.active:
        select_rows(table).filter(pk=delivery).update(next_at=None, last_error="the webhook was ended")
        return True
    error = _send(held, post)
    _record_attempt(held, error)
    return not error


def _send(held: Any, post: Post) -> str:
    """Post a delivery; return an error message or ""."""
    body = json.dumps({"delivery": held.pk, **held.body}, ensure_ascii=False).encode()
    try:
        request = build_pinned_request(
            "POST",
            held.webhook.url,
            allow_private=settings.WEBHOOK_ALLOW_PRIVATE,
            timeout=TIMEOUT,
            headers=_build_headers(held, body),
            content=body,
        )
        response = post(request)
    except TimeoutError:
        return f"did not answer within {LONGEST:g} seconds"
    except (Refused, httpx.HTTPError, httpx.InvalidURL) as error:
        return str(error) or type(error).__name__
    if response.is_success:
        return ""
    if response.is_redirect:
        return f"answered {response.status_code}; redirects are not followed"
    return f"answered {response.status_code}"


def _build_headers(held: Any, body: bytes) -> dict[str, str]:
    moment = int(timezone.now().timestamp())
    return {
        "Content-Type": "application/json",
        "Touchstone-Event": held.kind,
        "Touchstone-Signature": f"t={moment},v1={compute_signature(held.webhook.secret, moment, body)}",
    }


def _record_attempt(held: DeliveryBase, error: str) -> None:
    now = timezone.now()
    row = type(held)._default_manager.filter(pk=held.pk)
    if not error:
        row.update(next_at=None, delivered_at=now, last_error="")
    elif held.attempts <= len(WAITS):
        row.update(next_at=now + timedelta(seconds=WAITS[held.attempts - 1]), last_error=error[:500])
    else:
        row.update(next_at=None, last_error=f"given up after {held.attempts} tries: {error}"[:500])
