"""Simulate participants and annotators by Locust: its ``-f``.

`benchmarks.site.locust_load` sets LOAD_LINK, the link of a study here or (LOAD_OTREE) in oTree; or
LOAD_SESSIONS, a file of annotators' sessions here or (LOAD_TOOL) in another tool. LOAD_SHAPE is ``sustained``
or ``burst``, for LOAD_USERS and LOAD_SECONDS.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from locust import FastHttpUser, LoadTestShape, task
from requests.cookies import create_cookie

from annotation.bots import BEHAVIOURS, Answer, Ask, Plan, make_bots, walk
from foundation.behaviour_mix import parse_mix
from scripts.load.walkers import fill_form

USERS, SECONDS = int(os.environ["LOAD_USERS"]), float(os.environ["LOAD_SECONDS"])
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
INPUT = re.compile(rb"<input\b[^>]*>")
ITEM = re.compile(rb'name="instance_id"[^>]* value="([^"]+)"')
ATTRIBUTE = re.compile(rb'\b(name|value)="([^"]*)"')
numbers = itertools.count(1)
sessions: dict[str, str] = {}
if "LOAD_SESSIONS" in os.environ:
    sessions |= json.loads(Path(os.environ["LOAD_SESSIONS"]).read_text(encoding="utf-8"))


def fill_otree_form(page: bytes, rng: random.Random) -> dict[str, str]:
    """Return the form of a page of oTree with a choice for every question."""
    choices: dict[str, list[str]] = {}
    for tag in INPUT.findall(page):
        attributes = {name.decode(): value.decode() for name, value in ATTRIBUTE.findall(tag)}
        if "name" in attributes:
            choices.setdefault(attributes["name"], []).append(attributes.get("value", ""))
    return {name: rng.choice(values) for name, values in choices.items()}


class Person(FastHttpUser):
    """Somebody with a browser; an answer of 400 or above is a failure."""

    abstract = True

    def ask(self, method: str, path: str, **more: Any) -> Answer:
        """Send a request."""
        name = re.sub(r"[^/]*\d[^/]*", "…", path.partition("?")[0])
        with self.client.request(
            method, path, name=f"{method} {name}", allow_redirects=False, catch_response=True, **more
        ) as response:
            if 0 < response.status_code < 400:
                response.success()
            else:
                response.failure(f"status {response.status_code}")
            return Answer(response.status_code, response.headers.get("location", ""), response.content or b"")


class Participant(Person):
    """Takes part from the link to the last page, then again as somebody new."""

    abstract = "LOAD_LINK" not in os.environ

    @task
    def take_part(self) -> None:
        """Walk through the study once."""
        rng = random.Random(next(numbers))
        fill, last = (fill_otree_form, "/OutOfRange") if "LOAD_OTREE" in os.environ else (fill_form, "/done/")
        self.client.cookiejar.clear()
        path = urlsplit(os.environ["LOAD_LINK"]).path
        answer = self.ask("GET", path)
        while 300 <= answer.status < 400 or (answer.status == 200 and last not in path):
            if answer.status == 200:
                answer = self.ask("POST", path, data=urlencode(fill(answer.body, rng)), headers=FORM)
            else:
                path = urlsplit(answer.location).path
                answer = self.ask("GET", path)


class Annotator(Person):
    """Saves and submits items until none is left."""

    abstract = "LOAD_SESSIONS" not in os.environ or "LOAD_TOOL" in os.environ
    mix = parse_mix("fast", BEHAVIOURS)

    def on_start(self) -> None:
        """Take a session.

        Logging in is left out, because hashing a password is slow on purpose.
        """
        name, session = sessions.popitem()
        bot = make_bots([(name, "")], self.mix, seed=next(numbers))[0]
        bot.session = session
        self.walk = walk(bot, Plan("load"))
        self.answer: Answer | None = None
        self.client.cookiejar.set_cookie(create_cookie("sessionid", session, domain="127.0.0.1"))

    @task
    def work(self) -> None:
        """Send the next request."""
        try:
            step = self.walk.send(self.answer)
        except StopIteration:
            self.stop()
        else:
            self.answer = self.send_ask(step) if isinstance(step, Ask) else None

    def send_ask(self, ask: Ask) -> Answer:
        """Send what a bot asks for."""
        fields, body = {"X-CSRFToken": ask.token, "Origin": self.host} if ask.token else {}, None
        if ask.form is not None:
            fields, body = fields | FORM, urlencode(ask.form)
        elif ask.json is not None:
            fields, body = fields | {"Content-Type": "application/json"}, json.dumps(ask.json)
        return self.ask(ask.method, ask.path, data=body, headers=fields)


class OtherAnnotator(Person):
    """Opens the next item in another tool, and saves a span."""

    abstract = True

    def on_start(self) -> None:
        """Take a session."""
        cookies, token = sessions.popitem()
        self.fields = {"Cookie": cookies, "X-CSRFToken": token, "Referer": self.host}

    def send(self, method: str, path: str, content: object = None) -> Any:
        """Send a request; return the JSON of its answer."""
        body, fields = None, self.fields
        if content is not None:
            body, fields = json.dumps(content), fields | {"Content-Type": "application/json"}
        return json.loads(self.ask(method, path, data=body, headers=fields).body)


class LabelStudioAnnotator(OtherAnnotator):
    """Annotates in Label Studio."""

    abstract = os.environ.get("LOAD_TOOL") != "label-studio"

    @task
    def work(self) -> None:
        """Annotate an item."""
        item = self.send("GET", "/api/projects/1/next")["id"]
        value = {"start": 0, "end": 9, "labels": ["goal"]}
        span = {"from_name": "label", "to_name": "text", "type": "labels", "value": value}
        self.send("POST", f"/api/tasks/{item}/annotations/", {"result": [span], "lead_time": 1.0})


class DoccanoAnnotator(OtherAnnotator):
    """Annotates in doccano."""

    abstract = os.environ.get("LOAD_TOOL") != "doccano"

    @task
    def work(self) -> None:
        """Annotate an item."""
        number = random.randrange(3_000)
        page = self.send("GET", f"/v1/projects/1/examples?limit=1&offset={number}")
        item = f"/v1/projects/1/examples/{page['results'][0]['id']}"
        for span in self.send("GET", f"{item}/spans"):
            self.ask("DELETE", f"{item}/spans/{span['id']}", headers=self.fields)
        self.send("POST", f"{item}/spans", {"start_offset": 0, "end_offset": 9, "label": 1})
        self.send("POST", f"{item}/states", {})


class PotatoAnnotator(OtherAnnotator):
    """Annotates in Potato, whose page of an item holds its text."""

    abstract = os.environ.get("LOAD_TOOL") != "potato"

    @task
    def work(self) -> None:
        """Annotate an item."""
        page = self.ask("GET", "/annotate", headers=self.fields)
        item = ITEM.search(page.body)
        if item is None:
            return  # the request failed
        span = {"schema": "label", "name": "goal", "title": "goal", "start": 0, "end": 9, "value": "true"}
        content: dict[str, object] = {
            "instance_id": item[1].decode(),
            "annotations": {},
            "span_annotations": [span],
        }
        self.send("POST", "/updateinstance", content)
        self.fields["X-Potato-Navigation"] = "1"  # without it the answer is the next page, as well
        self.send("POST", "/annotate", {"action": "next_instance"})


class Shape(LoadTestShape):
    """Sustained load, or a burst from a fifth of it for a third of the time."""

    def tick(self) -> tuple[int, float] | None:
        """Return how many people are there now, and how many may come a second."""
        now = self.get_run_time()
        if now > SECONDS:
            return None
        is_quiet = os.environ["LOAD_SHAPE"] == "burst" and not SECONDS / 3 < now < 2 * SECONDS / 3
        return (max(1, USERS // 5) if is_quiet else USERS), USERS
