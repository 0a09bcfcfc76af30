"""Load from annotators: simulated ones, each on one cheap connection.

``python -m scripts.load.annotators URL PROJECT --seconds S < SESSIONS.json`` reads sessions by user name, and
has their users annotate until the time is up; logging in is left out, for hashing a password is slow on
purpose. It prints one JSON object. It is a process of its own, so that it shares nothing with the server but
the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from annotation.bots import BEHAVIOURS, Answer, Ask, Bot, BotError, Plan, make_bots, walk
from foundation.behaviour_mix import parse_mix
from scripts.load.walkers import Connection, Tally, Unexpected

FORM = "application/x-www-form-urlencoded"


class Load:
    """Bots that start together and stop when the time is up.

    ``server`` is a process group whose processor time is measured.
    """

    def __init__(
        self,
        bots: Sequence[Bot],
        url: str,
        plan: Plan,
        seconds: float,
        think: float,
        server: int | None = None,
    ) -> None:
        self.bots, self.plan, self.seconds, self.think, self.server = bots, plan, seconds, think, server
        self.address = urlsplit(url)
        self.origin = url.rstrip("/")
        self._start = asyncio.Barrier(len(bots))
        self.begun = self.busy = self.own = 0.0
        self.items: list[float] = []  # seconds from asking for an item to having it

    async def run(self) -> float:
        """Return the seconds from the first item asked for to the last answer."""
        async with asyncio.TaskGroup() as group:
            for bot in self.bots:
                group.create_task(self._annotate(bot))
        self.busy = read_group_seconds(self.server) - self.busy
        self.own = time.process_time() - self.own
        return time.perf_counter() - self.begun

    async def _annotate(self, bot: Bot) -> None:
        connection = Connection(str(self.address.hostname), self.address.port or 80, Tally())
        connection.cookies["sessionid"] = bot.session
        steps, answer, started = walk(bot, self.plan), None, False
        try:
            while True:
                step = steps.send(answer)
                answer = None
                if not isinstance(step, Ask):
                    await asyncio.sleep(self.think * step.share)
                    continue
                if step.act == "next" and not started:
                    started = True
                    await self._wait_for_start(bot)
                if started and time.perf_counter() - self.begun > self.seconds:
                    return
                answer = await self._send_ask(bot, connection, step)
        except StopIteration:
            return
        finally:
            connection.close()

    async def _wait_for_start(self, bot: Bot) -> None:
        await self._start.wait()
        if not self.begun:
            self.begun, self.busy = time.perf_counter(), read_group_seconds(self.server)
            self.own = time.process_time()
        bot.seconds.clear()
        await asyncio.sleep(self.think * bot.rng.random())  # people do not come in step

    async def _send_ask(self, bot: Bot, connection: Connection, ask: Ask) -> Answer:
        fields = {"X-CSRFToken": ask.token, "Origin": self.origin} if ask.token else {}
        body = b""
        if ask.form is not None:
            fields["Content-Type"], body = FORM, urlencode(ask.form).encode()
        elif ask.json is not None:
            fields["Content-Type"], body = "application/json", json.dumps(ask.json).encode()
        status, location, content = await connection.send(ask.method, ask.path, fields, body)
        bot.seconds.append((ask.act, connection.tally.seconds[-1]))
        if ask.act == "open" and len(bot.seconds) > 1 and bot.seconds[-2][0] == "next":
            self.items.append(bot.seconds[-2][1] + bot.seconds[-1][1])
        return Answer(status, location, content)


def summarise_load(load: Load, took: float) -> dict[str, Any]:
    """Return counts, and latencies in milliseconds by kind of request."""
    acts: dict[str, list[float]] = {"all": [], "item": load.items}
    for bot in load.bots:
        for act, seconds in bot.seconds:
            acts["all"].append(seconds)
            acts.setdefault(act, []).append(seconds)
    return {
        "users": len(load.bots),
        "think_s": load.think,
        "seconds": took,
        "server_cpu_s": load.busy,
        "load_cpu_s": load.own,
        "requests": len(acts["all"]),
        "handed_in": sum(len(bot.submitted) for bot in load.bots),
        "ms": {act: compute_percentiles(seconds) for act, seconds in acts.items() if seconds},
        "saved": [operation for bot in load.bots for operation in bot.saved],
        "submitted": [work for bot in load.bots for work in bot.submitted],
    }


def read_group_seconds(leader: int | None) -> float:
    """Return the processor seconds of a process group; 0 for None."""
    if leader is None:
        return 0.0
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == leader:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def compute_percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, 95th percentile, maximum (ms), and the number."""
    ordered = sorted(seconds)
    return {
        "n": len(ordered),
        "p50": 1000 * ordered[len(ordered) // 2],
        "p95": 1000 * ordered[int(len(ordered) * 0.95)],
        "max": 1000 * ordered[-1],
    }


async def annotate(load: Load) -> dict[str, Any]:
    """Run the load and return its summary."""
    return summarise_load(load, await load.run())


def main() -> int:
    """Run the load and print one JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.load.annotators", description="Annotators as load."
    )
    parser.add_argument("url", help="the site")
    parser.add_argument("project")
    parser.add_argument("--behaviour", default="fast", help="one behaviour, or shares (fast)")
    parser.add_argument("--seconds", type=float, default=8.0, help="after which no more items are taken (8)")
    parser.add_argument("--think", type=float, default=0.0, help="mean pause before a save, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", type=int, metavar="PID", help="of the web server, to count its work")
    options = parser.parse_args()
    sessions = json.load(sys.stdin)
    bots = make_bots(
        [(name, "") for name in sessions], parse_mix(options.behaviour, BEHAVIOURS), seed=options.seed
    )
    for bot in bots:
        bot.session = sessions[bot.name]

    async def run() -> dict[str, Any]:
        plan = Plan(options.project)
        return await annotate(Load(bots, options.url, plan, options.seconds, options.think, options.server))

    try:
        result = asyncio.run(run())
    except* (BotError, Unexpected, OSError, asyncio.IncompleteReadError) as errors:
        print(errors.exceptions[0], file=sys.stderr)
        sys.exit(1)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
