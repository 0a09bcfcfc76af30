"""Participants and annotators for Locust: the file that ``locust -f`` reads.

`benchmarks.locust_load` starts it beside a site. LOAD_LINK is the link of a study, LOAD_SESSIONS a file of
annotators' sessions and LOAD_PROJECT their project, LOAD_THINK the mean pause of a person in seconds, and
LOAD_SHAPE one of ``sustained`` and ``burst``.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import time
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from locust import FastHttpUser, LoadTestShape, task

from annotation.bots import BEHAVIOURS, Answer, Ask, Plan, make_bots, walk
from foundation.behaviour_mix import parse_mix
from scripts.walkers import filled

THINK = float(os.environ.get("LOAD_THINK", "0"))
SECONDS = float(os.environ.get("LOAD_SECONDS", "20"))
USERS = int(os.environ.get("LOAD_USERS", "50"))
LINK, OTREE = os.environ.get("LOAD_LINK", ""), os.environ.get("LOAD_OTREE", "")
INPUT = re.compile(r"<input\b[^>]*>")
FORM = "application/x-www-form-urlencoded"
_numbers = itertools.count(1)


def pause(rng: random.Random) -> None:
    """Think, as a person does before a page is sent."""
    if THINK:
        time.sleep(THINK * rng.uniform(0.5, 1.5))


def kind_of(path: str) -> str:
    """Return the name under which requests to like addresses are counted."""
    return re.sub(
        r"\d+", "N", re.sub(r"/(join|study|p|InitializeParticipant)/[^/]+", r"/\1/…", path.partition("?")[0])
    )


def chosen(page: str, rng: random.Random) -> dict[str, str]:
    """Return the form of a page with one choice of each question."""
    choices: dict[str, list[str]] = {}
    for tag in INPUT.findall(page):
        attributes = dict(re.findall(r'\b(\w+)="([^"]*)"', tag))
        if "name" in attributes:
            choices.setdefault(attributes["name"], []).append(attributes.get("value", ""))
    return {name: rng.choice(values) for name, values in choices.items()}


class Person(FastHttpUser):
    """Somebody with a browser, whose requests are counted by kind."""

    abstract = True

    def ask(self, method: str, path: str, **more: Any) -> tuple[int, str, bytes]:
        """Send a request; return status, Location and body. 500 and above fail."""
        name = f"{method} {kind_of(path)}"
        with self.client.request(
            method, path, name=name, allow_redirects=False, catch_response=True, **more
        ) as response:
            if response.status_code and response.status_code < 400:
                response.success()
            else:
                response.failure(f"status {response.status_code}")
            return response.status_code, response.headers.get("location", ""), response.content or b""


if LINK:

    class Participant(Person):
        """Takes part from the link to the code, then again as somebody new."""

        @task
        def take_part(self) -> None:
            """Walk through the study once."""
            rng = random.Random(next(_numbers))
            self.client.cookiejar.clear()
            path, status, page = urlsplit(LINK).path, 0, b""
            status, location, page = self.ask("GET", path)
            while status == 302 or not path.endswith("/done/"):
                if status == 302:
                    path = urlsplit(location).path
                    status, location, page = self.ask("GET", path)
                elif status == 200:
                    pause(rng)
                    body = urlencode(filled(page, rng)).encode()
                    status, location, page = self.ask("POST", path, data=body, headers={"Content-Type": FORM})
                else:
                    return


if OTREE:

    class OTreeParticipant(Person):
        """Takes part in the study of oTree, then again as somebody new."""

        @task
        def take_part(self) -> None:
            """Walk through the study once."""
            rng = random.Random(next(_numbers))
            self.client.cookiejar.clear()
            path = urlsplit(OTREE).path
            status, location, page = self.ask("GET", path)
            while "/OutOfRange" not in path:
                if 300 <= status < 400:
                    path = urlsplit(location).path
                    status, location, page = self.ask("GET", path)
                elif status == 200:
                    pause(rng)
                    body = urlencode(chosen(page.decode(), rng)).encode()
                    status, location, page = self.ask("POST", path, data=body, headers={"Content-Type": FORM})
                else:
                    return


if "LOAD_SESSIONS" in os.environ:
    sessions: dict[str, str] = json.loads(Path(os.environ["LOAD_SESSIONS"]).read_text(encoding="utf-8"))
    waiting = make_bots([(name, "") for name in sessions], parse_mix("fast", BEHAVIOURS), seed=1)

    class Annotator(Person):
        """Saves and submits items until the time is up."""

        plan: ClassVar[Plan] = Plan(os.environ.get("LOAD_PROJECT", "load"))

        def on_start(self) -> None:
            """Take a session; logging in is left out, because hashing a password is slow on purpose."""
            bot = waiting.pop()
            bot.session = sessions[bot.name]
            self.rng, self.steps = bot.rng, walk(bot, self.plan)
            self.cookies, self.answer = f"sessionid={bot.session}", None

        @task
        def work(self) -> None:
            """Send the next request."""
            try:
                step = self.steps.send(self.answer)
            except StopIteration:
                self.stop()
                return
            self.answer = self.answered(step) if isinstance(step, Ask) else pause(self.rng)

        def answered(self, step: Ask) -> Answer:
            """Send what a bot asks for."""
            fields = {"Cookie": self.cookies}
            if step.token:
                fields |= {"X-CSRFToken": step.token, "Origin": self.host, "Cookie": self.cookies}
            body: bytes | None = None
            if step.form is not None:
                fields["Content-Type"], body = FORM, urlencode(step.form).encode()
            elif step.json is not None:
                fields["Content-Type"], body = "application/json", json.dumps(step.json).encode()
            return Answer(*self.ask(step.method, step.path, data=body, headers=fields))


class Shape(LoadTestShape):
    """All come within two seconds and stay; or a fifth stays, and the others come for a third of the time."""

    use_common_options = True

    def tick(self) -> tuple[int, float] | None:
        """Return how many people are there now, and how many may come a second."""
        now = self.get_run_time()
        if now > SECONDS:
            return None
        few = max(1, USERS // 5)
        is_burst = os.environ.get("LOAD_SHAPE") == "burst"
        users = few if is_burst and not SECONDS / 3 < now < 2 * SECONDS / 3 else USERS
        return users, max(1.0, USERS / 2)
