"""Load from participants: many at once, each on one cheap connection.

``python -m scripts.load.walkers LINK --users N`` walks from the link to the completion code, and with
``--seconds`` again as somebody new until the time is up; then it prints one JSON object. It is a process of
its own, so that it shares nothing with the server but the machine. Pages are asked for as a browser asks for
them, without the style sheets and scripts, which a browser keeps. With ``--patience`` a page that does not
come is asked for again, as people do; what was sent with it is sent again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import re
import ssl
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

HIDDEN = re.compile(rb'<input\s+type="hidden"\s+name="(csrfmiddlewaretoken|page_key)"\s+value="([^"]*)"')
RADIO = re.compile(rb'<input\s+type="radio"\s+id="[^"]*"\s+name="([^"]+)"\s+value="([^"]+)"')
ITEM = re.compile(r"/item/\d+/$")
RETRY_SECONDS = 0.1


class Unexpected(Exception):
    """The site answered something else than a participant should see."""


@dataclass
class Tally:
    """The counts and answers of all participants together.

    ``seconds`` has one entry per request. ``answers`` holds the forms of the items that were accepted, by the
    key of their page. ``repeated`` counts the requests that were sent again.
    """

    seconds: list[float] = field(default_factory=list)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)
    repeated: int = 0
    items: int = 0
    consents: int = 0
    completed: int = 0


class Connection:
    """One kept-alive HTTP/1.1 connection with its cookies.

    A request that gets no answer, or 503, is sent again for up to ``patience`` seconds. With ``tls`` it is
    encrypted, and forms name their origin as browsers do.
    """

    def __init__(
        self,
        host: str,
        port: int,
        tally: Tally,
        patience: float = 0.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.host, self.port, self.tally, self.patience, self.tls = host, port, tally, patience, tls
        self.cookies: dict[str, str] = {}
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, bytes]:
        """Send a request or form; return status, Location header and body."""
        if form is None:
            return await self.send(method, path)
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.send(method, path, fields, urlencode(form).encode())

    async def send(
        self, method: str, path: str, fields: Mapping[str, str] | None = None, body: bytes = b""
    ) -> tuple[int, str, bytes]:
        """Send a request with these headers; return status, Location and body."""
        until = time.monotonic() + self.patience
        while True:
            try:
                answer = await self._send_request(method, path, fields, body)
            except (OSError, asyncio.IncompleteReadError):
                self.close()
                if time.monotonic() >= until:
                    raise
            else:
                # The database is away for a moment, and nothing was stored.
                if answer[0] != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() >= until:
                    return answer
            self.tally.repeated += 1
            await asyncio.sleep(RETRY_SECONDS)

    async def _send_request(
        self, method: str, path: str, fields: Mapping[str, str] | None, body: bytes
    ) -> tuple[int, str, bytes]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nCookie: {cookies}\r\n"
        if method == "POST":
            head += f"Content-Length: {len(body)}\r\n"
            if self.tls:
                head += f"Origin: https://{self.host}:{self.port}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in (fields or {}).items())
        begun = time.perf_counter()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
        reader, writer = self._streams
        writer.write(head.encode() + b"\r\n" + body)
        header = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, answered = self._parse(header)
        if "content-length" not in answered:
            raise Unexpected(f"{method} {path}: an answer without a length:\n{header}")
        content = await reader.readexactly(int(answered["content-length"]))
        self.tally.seconds.append(time.perf_counter() - begun)
        return status, answered.get("location", ""), content

    def _parse(self, header: str) -> tuple[int, dict[str, str]]:
        first, *lines = header.split("\r\n")
        fields = {}
        for line in lines:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                key, _, content = value.partition(";")[0].partition("=")
                self.cookies[key] = content
            else:
                fields[name.lower()] = value
        return int(first.split(" ", 2)[1]), fields

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            # A polite end of TLS would outlive the event loop of somebody who is through.
            (self._streams[1].transport.abort if self.tls else self._streams[1].close)()
            self._streams = None


async def walk(
    link: str, tally: Tally, rng: random.Random, think: float, until: float, patience: float
) -> None:
    """Walk from the link to the code, or until the time is up.

    ``think`` is the mean pause before a page is sent, in seconds; pauses are between half and one and a half
    of it.
    """
    address = urlsplit(link)
    # Python reads the certificates to trust from SSL_CERT_FILE if that is set.
    tls = ssl.create_default_context() if address.scheme == "https" else None
    connection = Connection(str(address.hostname), address.port or (443 if tls else 80), tally, patience, tls)
    clock = asyncio.get_running_loop().time
    try:
        status, path, page = await connection.ask("GET", address.path)
        while clock() < until:
            if status == 302:
                status, path_after, page = await connection.ask("GET", path)
                path = _strip_query(path_after) or path
                continue
            if status != 200:
                raise Unexpected(f"{path}: status {status}\n{page[:2000].decode(errors='replace')}")
            if path.endswith("/done/"):
                tally.completed += 1
                return
            if think:
                await asyncio.sleep(think * rng.uniform(0.5, 1.5))
            sent, form = path, fill_form(page, rng)
            status, target, page = await connection.ask("POST", sent, form)
            if status != 302:
                raise Unexpected(f"{sent}: status {status}\n{page[:2000].decode(errors='replace')}")
            path = _strip_query(target)
            tally.consents += sent.endswith("/consent/")
            if ITEM.search(sent):
                tally.items += 1
                tally.answers[form["page_key"]] = form
    finally:
        connection.close()


def _strip_query(location: str) -> str:
    """Return the address without the mark of a form that came late."""
    return location.partition("?")[0]


def fill_form(page: bytes, rng: random.Random) -> dict[str, str]:
    """Return the form of a page with a choice for every question."""
    form = {name.decode(): value.decode() for name, value in HIDDEN.findall(page)}
    choices: dict[str, list[str]] = {}
    for name, value in RADIO.findall(page):
        choices.setdefault(name.decode(), []).append(value.decode())
    if not choices:
        form["consent"] = "yes"
    for name, values in choices.items():
        form[name] = rng.choice(values)
        form[f"changes_{name}"] = "0"
    return form | {"client_total_ms": "2000", "client_visible_ms": "2000", "client_hidden_ms": "0"}


async def run_crowd(
    link: str,
    tally: Tally,
    *,
    users: int,
    seconds: float | None = None,
    think: float = 0.0,
    seed: int = 1,
    patience: float = 0.0,
) -> float:
    """Have ``users`` walk at once, for a time or once; return the seconds."""
    clock = asyncio.get_running_loop().time
    until = math.inf if seconds is None else clock() + seconds

    async def take_part(number: int) -> None:
        rng = random.Random(f"{seed}/{number}")
        await asyncio.sleep(think * rng.random())  # people do not come in step
        while clock() < until:
            await walk(link, tally, rng, think, until, patience)
            if seconds is None:
                return

    begun = clock()
    async with asyncio.TaskGroup() as group:
        for number in range(users):
            group.create_task(take_part(number))
    return clock() - begun


def summarise_tally(tally: Tally, took: float) -> dict[str, float]:
    """Return requests a second, latencies in milliseconds, and what was done."""
    ordered = sorted(tally.seconds)
    return {
        "requests": len(ordered),
        "seconds": took,
        "requests_per_second": len(ordered) / took,
        "p50_ms": 1000 * ordered[len(ordered) // 2],
        "p95_ms": 1000 * ordered[int(len(ordered) * 0.95)],
        "max_ms": 1000 * ordered[-1],
        "items": tally.items,
        "consents": tally.consents,
        "completed": tally.completed,
        "repeated": tally.repeated,
    }


def main() -> int:
    """Run the load and print one JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.load.walkers", description="Participants as load."
    )
    parser.add_argument("link", help="a shared link of an open study")
    parser.add_argument("--users", type=int, default=10, help="how many at once")
    parser.add_argument("--seconds", type=float, help="for how long (default: until each is through)")
    parser.add_argument(
        "--think", type=float, default=0.0, help="mean pause before a page is sent, in seconds"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--patience", type=float, default=0.0, help="for how long a page is asked for again, in seconds"
    )
    options = parser.parse_args()
    tally = Tally()
    try:
        took = asyncio.run(
            run_crowd(
                options.link,
                tally,
                users=options.users,
                seconds=options.seconds,
                think=options.think,
                seed=options.seed,
                patience=options.patience,
            )
        )
    except* (Unexpected, OSError, asyncio.IncompleteReadError) as errors:
        print(errors.exceptions[0], file=sys.stderr)
        sys.exit(1)
    print(json.dumps(summarise_tally(tally, took)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
