"""Rate limits per network address for views that invite guessing.

The cache counts in fixed windows, under a keyed hash of the address that expires
with its window: no address is stored. ``LIMITS`` is the table. Only wrong tokens,
codes and signatures count, so 200 people behind one address, as in a computer
room, never reach a limit. Bots use links that staff created for them and are not
counted. Without a cache there are no limits, because a study must go on when the
broker does not.
"""

import hashlib
import hmac
import logging
import time
from collections.abc import Collection
from typing import NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis.exceptions import RedisError

from accounts.client_address import find_client_address

_log = logging.getLogger(__name__)


class Limit(NamedTuple):
    """At most ``times`` responses with these statuses per window.

    ``seconds`` is the length of the window, ``method`` the HTTP method.
    """

    method: str
    times: int
    seconds: int
    statuses: Collection[int]


_MISSES = (400, 403, 404, 422)

LIMITS: dict[str, Limit] = {
    # 192 random bits cannot be guessed; the limit keeps attempts from loading the database.
    "studyapp:join": Limit("GET", 60, 60, _MISSES),
    "studyapp:resume": Limit("GET", 60, 60, _MISSES),
    # Three times a room of 200 people who all consent within five minutes.
    "studyapp:consent": Limit("POST", 600, 300, (302,)),
    "studyapp:withdraw": Limit("POST", 20, 300, _MISSES),
    "studyapp:prolific_webhook": Limit("POST", 60, 60, _MISSES),
    # django-axes locks one name after failed attempts; this limits many names from one address. A wrong
    # password returns the form with 200; a right one redirects and does not count.
    "accounts:login": Limit("POST", 60, 300, (200, 403, 429)),
    "admin:login": Limit("POST", 60, 300, (200, 403, 429)),
}


def compute_seconds_to_wait(request: HttpRequest, name: str) -> int:
    """Return the seconds until this address may request the view; 0 for now."""
    limit = _limit(request, name)
    if limit is None:
        return 0
    try:
        used = cache.get(_build_key(request, name, limit), 0)
    except RedisError as error:
        _log.warning("no limits: the cache cannot be reached (%s)", type(error).__name__)
        return 0
    return limit.seconds - int(time.time()) % limit.seconds if used >= limit.times else 0


def count(request: HttpRequest, name: str, status: int) -> None:
    """Count a response, if its status counts."""
    limit = _limit(request, name)
    if limit is None or status not in limit.statuses:
        return
    key = _build_key(request, name, limit)
    try:
        cache.add(key, 0, timeout=limit.seconds)
        cache.incr(key)
    except (RedisError, ValueError):  # ValueError: the window ended between the two
        return


def leave_uncounted(request: HttpRequest) -> None:
    """Exclude this request from the rate limits."""
    request.is_uncounted = True  # type: ignore[attr-defined]


def _limit(request: HttpRequest, name: str) -> Limit | None:
    limit = LIMITS.get(name) if settings.RATE_LIMITS else None
    return limit if limit is not None and limit.method == request.method else None


def _build_key(request: HttpRequest, name: str, limit: Limit) -> str:
    window = int(time.time()) // limit.seconds
    message = f"{name} {find_client_address(request)} {window}"
    digest = hmac.new(settings.SECRET_KEY.encode(), message.encode(), hashlib.sha256).hexdigest()
    return f"limit:{digest[:32]}"
