"""Walk the site as an annotator: log in, take items, save, submit.

A walk is a generator of requests, so that the same walk runs on any client. It follows no redirects itself,
and gives each operation its own ID, so that a client may safely resend a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, NamedTuple
from uuid import uuid4

from annotation.bots.behaviours import Bot
from annotation.bots.drawing import Sheet, build_edits, build_removal_edits, draw
from annotation.content.schemas import Document
from foundation.simulated_people import BotError, Think

Json = dict[str, Any]
_TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="([^"]+)"')
_EDITOR = re.compile(r"/annotate/annotation/(\d+)/$")


class Ask(NamedTuple):
    """A request. ``act`` names its purpose; forms carry the CSRF token."""

    act: str
    method: str
    path: str
    form: dict[str, str] | None = None
    json: Json | None = None
    token: str = ""


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    location: str
    body: bytes

    def json(self) -> Json:
        """Parse the body."""
        try:
            parsed = json.loads(self.body)
        except ValueError as error:
            raise BotError(f"an answer is not JSON: {self.body[:80]!r}") from error
        assert isinstance(parsed, dict)
        return parsed


@dataclass(frozen=True)
class Plan:
    """The project, the known gold, and the most items of each bot.

    ``gold``: documents as JSON by external ID; items without gold get invented objects.
    """

    slug: str
    gold: Mapping[str, str] = field(default_factory=dict)
    most: int | None = None

    def gold_of(self, external_id: str) -> Document | None:
        """Return the gold of an item, if known."""
        text = self.gold.get(external_id)
        return Document.model_validate_json(text) if text is not None else None


Walk = Generator[Ask | Think, Answer | None, None]
_Asking = Generator[Ask | Think, Answer | None, Answer]
_Stated = Generator[Ask | Think, Answer | None, Json | None]


def walk(bot: Bot, plan: Plan) -> Walk:
    """Annotate until no item is left, filling in ``bot``.

    Raises:
        BotError: The site gave an unexpected answer.
    """
    page = f"/annotate/{plan.slug}/"
    if not bot.session:
        yield from _log_in(bot, page)
    token = _find_token(page, (yield from _ask(Ask("project", "GET", page), 200)))
    state: Json | None = None
    while plan.most is None or len(bot.submitted) < plan.most:
        state = state or (yield from _open_next_item(f"{page}next/", token))
        if state is None:
            return
        annotation = _Annotation(bot, plan, token, state)
        yield from annotation.do()
        state = annotation.following


def _log_in(bot: Bot, page: str) -> Walk:
    path = f"/accounts/login/?next={page}"
    token = _find_token(path, (yield from _ask(Ask("login", "GET", path), 200)))
    form = {"username": bot.name, "password": bot.password, "next": page, "csrfmiddlewaretoken": token}
    answer = yield from _ask(Ask("login", "POST", path, form=form, token=token), 302)
    if answer.location != page:
        raise BotError(f"the login leads to {answer.location} and not to {page}")


def _find_token(path: str, answer: Answer) -> str:
    match = _TOKEN.search(answer.body)
    if match is None:
        raise BotError(f"{path} has no form with a token")
    return unescape(match[1].decode())


def _open_next_item(path: str, token: str) -> _Stated:
    """Take the next item and open it; None if none is left."""
    form = {"csrfmiddlewaretoken": token}
    answer = yield from _ask(Ask("next", "POST", path, form=form, token=token), 302)
    match = _EDITOR.search(answer.location)
    if match is None:
        return None
    opened = yield from _ask(Ask("open", "GET", f"/api/v1/annotations/{match[1]}/editor/"), 200)
    return opened.json()


def _ask(ask: Ask, *expected: int) -> _Asking:
    answer = yield ask
    assert answer is not None
    if answer.status not in expected:
        text = answer.body[:300].decode(errors="replace")
        raise BotError(f"{ask.method} {ask.path} answered with status {answer.status}: {text}")
    return answer


class _Annotation:
    """One annotation of a bot, with its revision."""

    def __init__(self, bot: Bot, plan: Plan, token: str, state: Json) -> None:
        self.bot, self.most, self.token, self.state = bot, plan.most, token, state
        self.pk, self.revision = int(state["id"]), int(state["revision"])
        self.sheet = Sheet.of(state)
        gold = plan.gold_of(state["item"]["external_id"])
        self.layers = draw(self.sheet, gold, bot.behaviour, bot.rng)
        self.gone = False
        self.following: Json | None = None

    @property
    def path(self) -> str:
        """Return its address in the API."""
        return f"/api/v1/annotations/{self.pk}/"

    def do(self) -> Walk:
        """Draw, save and submit, or release the item."""
        todo = [*build_removal_edits(self.state["document"], self.sheet.walk), *build_edits(self.layers)]
        operations = [{"id": str(uuid4()), **edit} for edit in todo]
        gives_up = self.bot.rng.random() < self.bot.behaviour.gives_up
        if gives_up:
            operations = operations[: len(operations) // 2]
        step = self.bot.behaviour.batch
        for start in range(0, len(operations), step):
            yield from self._pause()
            yield from self._save(operations[start : start + step])
            if self.gone:
                self.bot.lost += 1
                return
        if gives_up:
            # The site refuses a repeated request, after a lost answer, because the item is released already.
            yield from _ask(self._post("release", "release/", {}), 200, 409)
            self.bot.released += 1
        else:
            yield from self._submit()

    def _pause(self) -> Walk:
        if self.bot.behaviour.thinks:
            yield Think(self.bot.rng.uniform(0.5, 1.5))

    def _post(self, act: str, part: str, content: Json) -> Ask:
        return Ask(act, "POST", self.path + part, json=content, token=self.token)

    def _save(self, operations: Sequence[Json]) -> Walk:
        offline = self.bot.behaviour.offline
        if offline and self.bot.rng.random() < 0.3:
            yield from self._save_in_other_tab()
        yield from self._send(operations, self.revision if not offline else int(self.state["revision"]))
        if offline and not self.gone and self.bot.rng.random() < 0.3:
            self.bot.repeated += 1
            yield from self._send(operations, int(self.state["revision"]), again=True)

    def _save_in_other_tab(self) -> Walk:
        """Let another tab of the same person save without this one's knowledge."""
        note = {"id": str(uuid4()), "node": self.sheet.drawn[0], "note": "seen"} if self.sheet.drawn else None
        if note is not None:
            yield from self._send([note], self.revision)

    def _send(self, operations: Sequence[Json], base: int, *, again: bool = False) -> Walk:
        """Save operations made on revision ``base``; rebase if it is stale."""
        sent = [{**operation, "base": base + index} for index, operation in enumerate(operations)]
        answer = yield from _ask(self._post("save", "operations/", {"operations": sent}), 200, 409, 410)
        if answer.status == 410:
            self.gone = True
            return
        reply = answer.json()
        if answer.status == 409:
            if again or base == reply["revision"]:
                raise BotError(f"{self.path} refuses revision {base}: {reply['detail']}")
            self.bot.conflicts += 1
            yield from self._send(operations, int(reply["revision"]))
            return
        self._note_saved(operations, reply, again)

    def _note_saved(self, operations: Sequence[Json], reply: Json, again: bool) -> None:
        names = [operation["id"] for operation in operations]
        if [operation["id"] for operation in reply["saved"]] != names:
            raise BotError(f"{self.path} acknowledges other operations than those it was sent")
        if again and reply["revision"] != self.revision:
            raise BotError(f"{self.path}: operations sent twice made revision {reply['revision']}")
        self.revision = int(reply["revision"])
        if not again:
            self.bot.saved += [(self.pk, name) for name in names]

    def _submit(self) -> Walk:
        if self.bot.rng.random() < self.bot.behaviour.reloads:
            self._check((yield from _ask(Ask("open", "GET", f"{self.path}editor/"), 200)).json())
        last = self.most is not None and len(self.bot.submitted) + 1 >= self.most
        sent = {"revision": self.revision, "go_on": self.bot.behaviour.goes_on and not last}
        answer = yield from _ask(self._post("submit", "submit/", sent), 200, 410)
        if answer.status == 410:
            self.bot.lost += 1
        else:
            self.bot.submitted.append(self.pk)
            self.following = answer.json().get("annotation")

    def _check(self, state: Json) -> None:
        """Check that the site shows the bot's objects, and nothing else."""
        if state["revision"] != self.revision:
            raise BotError(f"{self.path} is at revision {state['revision']}, not {self.revision}")
        shown = state["document"]["layers"]
        for index, objects in self.layers.items():
            there = [object_["id"] for object_ in shown.get(str(index), {"objects": []})["objects"]]
            if there != [object_["id"] for object_ in objects]:
                raise BotError(f"{self.path}: step {index} shows {there}, not what was saved")
