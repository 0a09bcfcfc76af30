"""Telling addresses what happened: signed, each event at least once, tried again for a day.

A delivery is claimed by putting its time off, with one conditional update; so two workers never send the
same one at once, and what a killed worker held comes again when the claim is over.
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

# Seconds until the next try. After the last one the delivery is given up; all in all that is about a day.
WAITS = (10, 60, 300, 1800, 7200, 21_600, 54_000)
CLAIM = timedelta(minutes=5)  # longer than a try can take
TIMEOUT = httpx.Timeout(10.0, connect=5.0)


def deliver(*, delivery: int, client: httpx.Client) -> bool:
    """Send one delivery if it is due and nobody else does; returns whether its address took it.

    Also true where there was nothing to do. What went wrong is stored with it.
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
    """Post a delivery; returns what went wrong, or nothing."""
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
        # The body of the answer is nobody's business, however long it is: it is not read.
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
    """HMAC-SHA256 over the Unix time, a dot and the body, in hexadecimal digits."""
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
