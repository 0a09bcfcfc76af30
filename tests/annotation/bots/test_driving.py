"""Requests of simulated annotators follow the rate limit of the API."""

import asyncio

import httpx

from annotation.bots import BEHAVIOURS, make_bots
from annotation.bots.driving import run_bots
from annotation.bots.walker import Plan
from foundation.behaviour_mix import parse_mix


def test_a_bot_that_is_too_quick_waits_and_goes_on() -> None:
    paths: list[str] = []

    def site(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return httpx.Response(429, headers={"Retry-After": "0"} if len(paths) == 1 else {})

    [bot] = make_bots([("bot-1", "secret")], parse_mix("careful", BEHAVIOURS), seed=1)
    plan = Plan("dogs")
    asyncio.run(run_bots([bot], "http://site", plan, concurrency=1, transport=httpx.MockTransport(site)))
    assert paths == ["/accounts/login/"] * 2
    assert "status 429" in bot.error  # without Retry-After it is an answer like any other
