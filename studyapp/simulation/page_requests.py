"""Requests of simulated participants for the pages of the site. No Django."""

import time
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx

from foundation.simulated_people import BotError
from studyapp.simulation.bots import Bot

PARTICIPANT_COOKIE = "participant"
Form = dict[str, str | list[str]]


class Get(NamedTuple):
    """Ask for a page, following redirects."""

    url: str


class Post(NamedTuple):
    """Send a form to the page it came from, following redirects."""

    url: str
    form: Form


async def send_request(bot: Bot, step: Get | Post, client: httpx.AsyncClient) -> httpx.Response:
    """Send a request and follow its redirects, timing each by itself."""
    method, url, form = "GET", step.url, None
    if isinstance(step, Post):
        method, form = "POST", step.form
    for _redirect in range(10):
        origin = "://".join(urlsplit(url)[:2])
        headers = {"Origin": origin, "Referer": url} if form is not None else None
        begun = time.perf_counter()
        response = await client.request(method, url, data=form, headers=headers)
        bot.seconds.append(time.perf_counter() - begun)
        if not response.is_redirect:
            return response
        method, url, form = "GET", urljoin(url, response.headers["location"]), None
    raise BotError(f"{urlsplit(step.url).path} redirects without end")
