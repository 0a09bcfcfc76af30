"""Requests to an OpenAI-compatible server: bounds, retries, refusals.

ItemFailed       this request will not be answered; others may be
Unavailable      the server is busy or away for longer than the patience
BudgetSpent      the server says that the account has nothing left
UnusableSystem   the address, the key or the model is wrong
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from modelserver.systems.language.chat_file import Limits
from modelserver.wire.errors import BudgetSpent, Unavailable, UnusableSystem

RETRY_STATUSES = frozenset({408, 425, 429, 502, 503, 504, 529})  # the same request may be answered later
WRONG_SETTING = frozenset({401, 403, 404, 405, 407})
ATTEMPTS = 3  # at a request that the server fails on: each may be paid
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds
MINUTE = 60.0
CONNECT_SECONDS = 5.0
LONGEST_REASON = 300  # characters of a server's message

T = TypeVar("T")


class ItemFailed(Exception):
    """A request that will not be answered.

    ``again`` says whether another try may be, ``is_paid`` whether the server may charge for this one.
    """

    def __init__(self, message: str, *, again: bool = True, is_paid: bool = True) -> None:
        super().__init__(message)
        self.again, self.is_paid = again, is_paid


@cache
def _get_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all requests, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="chat", daemon=True).start()
    return loop


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of requests and wait for its result."""
    return asyncio.run_coroutine_threadsafe(work, _get_loop()).result()


async def await_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of requests and await it in another."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _get_loop()))


class Gate:
    """The bounds of one server, shared by all systems that ask it."""

    def __init__(self) -> None:
        self._concurrency: int | None = None
        self._tokens_per_minute: int | None = None
        self._running = 0
        self._closed_until = 0.0
        self._recent: deque[list[float]] = deque()  # time and tokens of the requests of a minute
        self._changed = asyncio.Condition()

    def bound(self, limits: Limits) -> None:
        """Take over the limits of a system if they are smaller."""
        self._concurrency = min(self._concurrency or limits.concurrency, limits.concurrency)
        if limits.tokens_per_minute is not None:
            asked = limits.tokens_per_minute
            self._tokens_per_minute = min(self._tokens_per_minute or asked, asked)

    def close_for(self, seconds: float) -> None:
        """Send nothing for a while, because the server asks for that."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def enter(self, tokens: int) -> AsyncIterator[list[float]]:
        """Wait for a place and for tokens, and yield the entry of the request.

        Its tokens may be corrected.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._running < (self._concurrency or 1))
            self._running += 1
        try:
            while (wait := self._seconds_until(tokens)) > 0:
                await asyncio.sleep(wait)
            entry = [time.monotonic(), float(tokens)]
            self._recent.append(entry)
            yield entry
        finally:
            async with self._changed:
                self._running -= 1
                self._changed.notify()

    def _seconds_until(self, tokens: int) -> float:
        now = time.monotonic()
        if now < self._closed_until:
            return self._closed_until - now
        while self._recent and self._recent[0][0] <= now - MINUTE:
            self._recent.popleft()
        # A request of more tokens than a minute has goes alone.
        if self._tokens_per_minute is None or not self._recent:
            return 0.0
        if sum(entry[1] for entry in self._recent) + tokens <= self._tokens_per_minute:
            return 0.0
        return self._recent[0][0] + MINUTE - now


_gates: dict[str, Gate] = {}


def gate_of(url: str) -> Gate:
    """Return the gate of an address's server."""
    return _gates.setdefault(urlsplit(url).netloc, Gate())


class ChatClient:
    """Posts bodies to one address.

    ``key`` goes into a header and is removed from every message that a server sends back.
    """

    def __init__(self, url: str, limits: Limits, key: str | None) -> None:
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._key, self._limits = key, limits
        self.gate = gate_of(url)
        self.gate.bound(limits)
        # No proxy from the environment: a proxy cannot reach the loopback address of this machine.
        self._http = httpx.AsyncClient(
            trust_env=False,
            verify=url.startswith("https:"),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            # Connecting ends before the time for all of a reply: what was not sent is not paid.
            timeout=httpx.Timeout(
                limits.timeout, connect=min(limits.timeout / 2, CONNECT_SECONDS), pool=None
            ),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=limits.concurrency),
        )

    def clean(self, text: str) -> str:
        """Return a text of the server without the key, shortened."""
        hidden = text.replace(self._key, "[key]") if self._key else text
        return hidden if len(hidden) <= LONGEST_REASON else f"{hidden[:LONGEST_REASON]}…"

    async def post(self, body: Mapping[str, Any], tokens: int) -> dict[str, Any]:
        """Return the JSON object of a successful reply.

        A server that is busy or away is asked again; nothing of that is paid. ``tokens`` are those that
        request and reply may take. Raises as the module says.
        """
        end = time.monotonic() + self._limits.patience
        attempt = 0
        while True:
            try:
                async with self.gate.enter(tokens) as entry:
                    reply = await self._send(body)
                    entry[1] = float(read_total_tokens(reply) or tokens)
                    return reply
            except Unavailable as error:
                pause = pause_before(attempt, error.retry_after)
                if error.retry_after is not None:
                    self.gate.close_for(error.retry_after)
                if time.monotonic() + pause > end:
                    raise
            attempt += 1
            await asyncio.sleep(pause)

    async def _send(self, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # All of a reply within the time, not each of its parts.
            async with asyncio.timeout(self._limits.timeout):
                response = await self._http.post(self._url, json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unavailable(f"{self._url} cannot be reached: {error or type(error).__name__}") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ItemFailed(f"no reply within {self._limits.timeout:g} s") from error
        except httpx.HTTPError as error:
            raise ItemFailed(f"the reply was cut: {error or type(error).__name__}") from error
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response)
        try:
            reply = response.json()
        except ValueError as error:
            raise ItemFailed("the reply is not JSON, or was cut") from error
        if not isinstance(reply, dict):
            raise ItemFailed("the reply is not a JSON object")
        return reply

    def _refusal(self, response: httpx.Response) -> Exception:
        status, reason, code = response.status_code, *_parse_error(response)
        message = self.clean(f"{self._url} answered {status} {response.reason_phrase}: {reason}")
        if status == 402 or code == "insufficient_quota":
            return BudgetSpent(f"{message}; top up the account, then start the run again")
        if status in RETRY_STATUSES:
            return Unavailable(message, retry_after=retry_after(response.headers.get("Retry-After", "")))
        if status in WRONG_SETTING:
            return UnusableSystem(message)
        return ItemFailed(message, again=status >= 500, is_paid=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def retry_after(header: str) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def read_total_tokens(reply: Mapping[str, Any]) -> int:
    """Return the tokens that a reply says it took; 0 if it does not."""
    usage = reply.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else 0
    return total if isinstance(total, int) else 0


def pause_before(attempt: int, asked: float | None = None) -> float:
    """Return the seconds before a retry, at least those that are asked for."""
    jitter = random.uniform(0.5, 1.0) * min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)
    return jitter if asked is None else asked + 0.1 * jitter


def _parse_error(response: httpx.Response) -> tuple[str, str]:
    """Return message and code of an error, wherever the server put them."""
    try:
        content = response.json()
    except ValueError:
        return response.text, ""
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return json.dumps(error), ""
    return str(error.get("message", error)), str(error.get("code") or error.get("type") or "")
