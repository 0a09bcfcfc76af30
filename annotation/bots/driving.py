"""Many bots at once over HTTP, each with a session of its own."""

import asyncio
import time
from collections.abc import Callable, Sequence

import httpx

from annotation.bots.behaviours import Bot, BotError
from annotation.bots.walker import Answer, Ask, Plan, Think, Walk, walk

RETRY_SECONDS = 0.1


async def run_bots(
    bots: Sequence[Bot],
    url: str,
    plan: Plan,
    *,
    concurrency: int,
    think: float = 0.0,
    patience: float = 0.0,
    told: Callable[[Bot], None] = lambda bot: None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> None:
    """Have all bots annotate at the site ``url``, at most ``concurrency`` at once.

    A bot pauses ``think`` seconds before each request that saves, on average. A request that gets no answer
    is sent again, as a browser's queue does, for up to ``patience`` seconds. ``told`` is called after every
    answer. A bot that meets something unexpected ends with its ``error`` set; the others go on.
    """
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    shared = transport or httpx.AsyncHTTPTransport(limits=limits)
    places = asyncio.Semaphore(concurrency)

    async def one(bot: Bot) -> None:
        async with places:
            # Not closed here: that would close the shared transport.
            client = httpx.AsyncClient(transport=shared, base_url=url, timeout=60, trust_env=False)
            if bot.session:
                client.cookies["sessionid"] = bot.session
            await _drive(bot, walk(bot, plan), client, think, patience, told)

    async with shared, asyncio.TaskGroup() as group:
        for bot in bots:
            group.create_task(one(bot))


async def _drive(
    bot: Bot,
    steps: Walk,
    client: httpx.AsyncClient,
    think: float,
    patience: float,
    told: Callable[[Bot], None],
) -> None:
    answer: Answer | None = None
    try:
        while True:
            step = steps.send(answer)
            if isinstance(step, Think):
                answer = None
                await asyncio.sleep(think * step.share)
            else:
                answer = await _answered(bot, step, client, patience)
                told(bot)
    except StopIteration:
        return
    except BotError as error:
        bot.error = str(error)
    except httpx.HTTPError as error:
        bot.error = f"{type(error).__name__}: {error}".rstrip(": ")


async def _answered(bot: Bot, ask: Ask, client: httpx.AsyncClient, patience: float) -> Answer:
    """Send a request until it is answered. Raises httpx.TransportError when patience ends."""
    until = time.monotonic() + patience
    headers = {"Origin": str(client.base_url).rstrip("/"), "X-CSRFToken": ask.token} if ask.token else {}
    while True:
        begun = time.perf_counter()
        try:
            response = await client.request(
                ask.method, ask.path, data=ask.form, json=ask.json, headers=headers
            )
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(RETRY_SECONDS)
            continue
        bot.seconds.append((ask.act, time.perf_counter() - begun))
        return Answer(response.status_code, response.headers.get("location", ""), response.content)
