"""Run simulated people against a site, many at once. No Django.

A walk is a generator of requests and pauses, so that the same walk runs on
any client.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

import httpx


class BotError(Exception):
    """The site answered otherwise than it should; the message says where."""


class Think(NamedTuple):
    """A pause, as a share of the mean pause of the run."""

    share: float


class _Bot(Protocol):
    error: str


Bot = TypeVar("Bot", bound=_Bot)
Request = TypeVar("Request")
Response = TypeVar("Response")


async def run_walks(
    bots: Sequence[Bot],
    walk: Callable[[Bot], Generator[Any, Response | None, None]],
    send: Callable[[Bot, Request, httpx.AsyncClient], Awaitable[Response]],
    *,
    concurrency: int,
    think: float = 0.0,
    on_finish: Callable[[Bot], None] = lambda bot: None,
    base_url: str = "",
    cookies: Callable[[Bot], Mapping[str, str]] = lambda bot: {},
    transport: httpx.AsyncBaseTransport | None = None,
) -> None:
    """Run the walks of all bots.

    Each bot has its own cookies; connections are shared.

    A bot whose walk raises BotError, or whose request fails, ends with its ``error`` set. The others go on.

    Args:
        bots: The bots.
        walk: Returns the walk of a bot.
        send: Sends one request of a walk and returns the response.
        concurrency: The number of bots at a time.
        think: The mean pause in seconds.
        on_finish: Called with each bot whose walk has ended.
        base_url: The address that paths are relative to.
        cookies: Returns the first cookies of a bot.
        transport: Replaces the network in tests.
    """
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    shared = transport or httpx.AsyncHTTPTransport(limits=limits)
    slots = asyncio.Semaphore(concurrency)

    async def run(bot: Bot) -> None:
        async with slots:
            # Not closed here, because that would close the shared transport.
            client = httpx.AsyncClient(
                transport=shared, base_url=base_url, cookies=dict(cookies(bot)), timeout=60, trust_env=False
            )
            await _drive(bot, walk(bot), send, client, think)
        on_finish(bot)

    async with shared, asyncio.TaskGroup() as group:
        for bot in bots:
            group.create_task(run(bot))


def run_watched(walking: Coroutine[Any, Any, None], watch: Callable[[], None]) -> None:
    """Run walks in a thread, and call ``watch`` here until they end.

    An event loop may not use the database, but ``watch`` may. Its exception ends the walks.

    Args:
        walking: The coroutine of `run_walks`.
        watch: Called twice a second, and once after the end.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(walking)

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    try:
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run)
            try:
                while not running.done():
                    wait([running], timeout=0.5)
                    watch()
            except BaseException:
                loop.call_soon_threadsafe(task.cancel)
                raise
            running.result()
    finally:
        loop.close()


async def _drive(
    bot: Bot,
    steps: Generator[Any, Response | None, None],
    send: Callable[[Bot, Any, httpx.AsyncClient], Awaitable[Response]],
    client: httpx.AsyncClient,
    think: float,
) -> None:
    response: Response | None = None
    try:
        while True:
            step = steps.send(response)
            if isinstance(step, Think):
                response = None
                await asyncio.sleep(think * step.share)
            else:
                response = await send(bot, step, client)
    except StopIteration:
        return
    except BotError as error:
        bot.error = str(error)
    except httpx.HTTPError as error:
        bot.error = f"{type(error).__name__}: {error}".rstrip(": ")
