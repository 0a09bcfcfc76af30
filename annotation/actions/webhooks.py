"""Deliver events to webhooks: signed, at least once, retried for a day.

A delivery is claimed by postponing it in one conditional update. Two workers therefore never send the same
one at once, and the claims of a killed worker expire.
"""

import hashlib
import hmac
import json
from datetime import timedelta

import httpx
from django.conf import settings
from django.db.models import F
from django.utils import timezone

from annotation.models import Delivery
from annotation.webhook_addresses import Refused, checked_address

# Seconds until the next attempt. After the last one, about a day later, the delivery has failed.
WAITS = (10, 60, 300, 1800, 7200, 21_600, 54_000)
CLAIM = timedelta(minutes=5)  # longer than an attempt can take
TIMEOUT = httpx.Timeout(10.0, connect=5.0)


def deliver(*, delivery: int, client: httpx.Client) -> bool:
    """Send one delivery if it is due; return True if no more is to be done.

    Errors are stored with the delivery.
    """
    now = timezone.now()
    due = Delivery.objects.filter(pk=delivery, next_at__lte=now)
    if not due.update(next_at=now + CLAIM, attempts=F("attempts") + 1):
        return True
    held = Delivery.objects.select_related("webhook").get(pk=delivery)
    if not held.webhook.active:
        Delivery.objects.filter(pk=delivery).update(next_at=None, last_error="the webhook was ended")
        return True
    error = _send(held, client)
    _record(held, error)
    return not error


def _send(held: Delivery, client: httpx.Client) -> str:
    """Post a delivery; return an error message or ""."""
    body = json.dumps({"delivery": held.pk, **held.body}, ensure_ascii=False).encode()
    try:
        address = checked_address(held.webhook.url, allow_private=settings.WEBHOOK_ALLOW_PRIVATE)
        url = httpx.URL(held.webhook.url)
        request = client.build_request(
            "POST",
            url.copy_with(host=address),
            content=body,
            headers=_headers(held, url, body),
            # The certificate must be that of the name, not of the address.
            extensions={"sni_hostname": url.raw_host.decode("ascii"), "timeout": TIMEOUT.as_dict()},
        )
        # Do not read the response body, which could be of any length.
        response = client.send(request, stream=True, follow_redirects=False)
        response.close()
    except (Refused, httpx.HTTPError, httpx.InvalidURL) as error:
        return str(error) or type(error).__name__
    if response.is_success:
        return ""
    if response.is_redirect:
        return f"answered {response.status_code}; redirects are not followed"
    return f"answered {response.status_code}"


def _headers(held: Delivery, url: httpx.URL, body: bytes) -> dict[str, str]:
    moment = int(timezone.now().timestamp())
    return {
        "Host": url.netloc.decode("ascii"),
        "Content-Type": "application/json",
        "User-Agent": "Touchstone",
        "Touchstone-Event": held.kind,
        "Touchstone-Signature": f"t={moment},v1={signature(held.webhook.secret, moment, body)}",
    }


def signature(secret: str, moment: int, body: bytes) -> str:
    """Return the HMAC-SHA256 of "TIME.BODY" in hexadecimal digits."""
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()


def _record(held: Delivery, error: str) -> None:
    now = timezone.now()
    row = Delivery.objects.filter(pk=held.pk)
    if not error:
        row.update(next_at=None, delivered_at=now, last_error="")
    elif held.attempts <= len(WAITS):
        row.update(next_at=now + timedelta(seconds=WAITS[held.attempts - 1]), last_error=error[:500])
    else:
        row.update(next_at=None, last_error=f"given up after {held.attempts} tries: {error}"[:500])
