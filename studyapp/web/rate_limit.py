"""How often one address may ask for what can be guessed or flooded.

Counted in fixed windows in the cache, under a keyed hash of the network address that is gone when its
window is over: no address is stored. ``LIMITS`` is the one table. What is counted is chosen so that 200
people behind one address, as in a computer room, never meet a limit: wrong tokens, codes and signatures,
not right ones. Bots come by links that staff made for them, and may come by thousands: they are not counted.
Without a cache nothing is limited, for a study must go on when the broker does not.
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

_log = logging.getLogger(__name__)


class Limit(NamedTuple):
    """At most ``times`` answers with a status in ``statuses`` per address and ``seconds``, to this method."""

    method: str
    times: int
    seconds: int
    statuses: Collection[int]


_MISSES = (400, 403, 404, 422)

LIMITS: dict[str, Limit] = {
    # 192 random bits cannot be guessed; this keeps somebody who tries from loading the database.
    "studyapp:join": Limit("GET", 60, 60, _MISSES),
    "studyapp:resume": Limit("GET", 60, 60, _MISSES),
    # Everybody of a room of 200 may consent within a minute, three times over: it is five minutes' worth.
    "studyapp:consent": Limit("POST", 600, 300, (302,)),
    "studyapp:withdraw": Limit("POST", 20, 300, _MISSES),
    "studyapp:prolific_webhook": Limit("POST", 60, 60, _MISSES),
    # Beside the lock of one name after failed tries (django-axes): many names from one address. A wrong
    # password is answered with 200 and the form again; a right one redirects and is not counted.
    "accounts:login": Limit("POST", 60, 300, (200, 403, 429)),
    "admin:login": Limit("POST", 60, 300, (200, 403, 429)),
}


def seconds_to_wait(request: HttpRequest, name: str) -> int:
    """How long this address has to wait before it may ask for the view of this name; 0 where it may now."""
    limit = _limit(request, name)
    if limit is None:
        return 0
    try:
        used = cache.get(_key(request, name, limit), 0)
    except RedisError as error:
        _log.warning("no limits: the cache cannot be reached (%s)", type(error).__name__)
        return 0
    return limit.seconds - int(time.time()) % limit.seconds if used >= limit.times else 0


def count(request: HttpRequest, name: str, status: int) -> None:
    """Count an answer, if it is one that counts."""
    limit = _limit(request, name)
    if limit is None or status not in limit.statuses:
        return
    key = _key(request, name, limit)
    try:
        cache.add(key, 0, timeout=limit.seconds)
        cache.incr(key)
    except (RedisError, ValueError):  # ValueError: the window ended between the two
        return


def leave_uncounted(request: HttpRequest) -> None:
    """Do not count this request, whatever its answer will be."""
    request.is_uncounted = True  # type: ignore[attr-defined]


def client_address(request: HttpRequest) -> str:
    """The network address that asks. Behind a proxy it is the last one of X-Forwarded-For, which the proxy
    itself wrote; what stands before it, anybody can write.
    """
    if settings.BEHIND_PROXY:
        forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        if forwarded:
            return forwarded
    return str(request.META.get("REMOTE_ADDR", ""))


def _limit(request: HttpRequest, name: str) -> Limit | None:
    limit = LIMITS.get(name) if settings.RATE_LIMITS else None
    return limit if limit is not None and limit.method == request.method else None


def _key(request: HttpRequest, name: str, limit: Limit) -> str:
    window = int(time.time()) // limit.seconds
    said = f"{name} {client_address(request)} {window}"
    digest = hmac.new(settings.SECRET_KEY.encode(), said.encode(), hashlib.sha256).hexdigest()
    return f"limit:{digest[:32]}"
