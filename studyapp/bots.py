"""Simulated participants: they walk the real pages over HTTP and answer by a named behaviour. No Django.

A walk is a generator of requests, so that the same walk runs on any client. What a bot sends comes from the
page that it was served: a field that the page lacks is an error, never made up.
"""

import asyncio
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx

from accounts import mixes
from studyapp.questionnaires import Question


class Behaviour(NamedTuple):
    """How a kind of bot answers. Probabilities are of one answer; agreement is on a scale from 0 to 1.

    ``yes_if_right`` and ``yes_if_wrong``: that it rates an answer correct that is, or is not. ``known``: that
    it says it knew the answer. ``agreement``, ``spread``: mean and standard deviation of agreement.
    ``seconds``, ``sigma``: median and log-scale deviation of the log-normal time that it reports per page.
    ``leaves``: it goes away at some item. ``tabs``: how often it opens and sends each page.
    """

    yes_if_right: float
    yes_if_wrong: float
    known: float
    agreement: float
    spread: float
    seconds: float
    sigma: float
    leaves: bool = False
    tabs: int = 1


# Assumptions, not findings: plausible people, and the kinds of bad data that a study has to expect.
BEHAVIOURS: dict[str, Behaviour] = {
    "honest": Behaviour(0.85, 0.45, known=0.02, agreement=0.75, spread=0.20, seconds=45, sigma=0.5),
    "random": Behaviour(0.50, 0.50, known=0.10, agreement=0.50, spread=0.35, seconds=30, sigma=0.6),
    "speeder": Behaviour(0.50, 0.50, known=0.05, agreement=0.50, spread=0.35, seconds=6, sigma=0.3),
    "straight-liner": Behaviour(1.0, 1.0, known=0.0, agreement=1.00, spread=0.00, seconds=20, sigma=0.4),
    "drop-out": Behaviour(0.85, 0.45, 0.02, 0.75, 0.20, seconds=45, sigma=0.5, leaves=True),
    "two-tab": Behaviour(0.85, 0.45, 0.02, 0.75, 0.20, seconds=45, sigma=0.5, tabs=2),
}

TIME = "time"
PARTICIPANT_COOKIE = "participant"

# What the participants of a condition do otherwise: `TIME` to a factor on the times they report, and the role
# or key of a question to what is added to the probability of a yes, or to the mean agreement (from 0 to 1).
Effect = Mapping[str, float]


@dataclass(frozen=True)
class Planted:
    """Effects by condition, and how a bot learns its condition: from its participant cookie.

    No page says which condition it belongs to, so bots could not do otherwise by what they see.
    """

    effects: Mapping[str, Effect]
    condition_of: Callable[[str], Awaitable[str]]


# Whether the answer shown to a question is correct, by question and answer as shown; None where unknown.
Knowledge = Mapping[tuple[str, str], bool | None]


@dataclass(frozen=True)
class StudyPlan:
    """What bots expect of the pages of a study, and what they know of its answers."""

    items: int
    item_questions: Sequence[Question]
    post_survey: Sequence[Question]
    knowledge: Knowledge


@dataclass
class Bot:
    """One simulated participant and what became of it. ``seconds`` has one entry per request.

    ``condition`` is known, and ``effect`` set, only where effects are planted.
    """

    number: int
    kind: str
    rng: random.Random
    consented: bool = False
    items: int = 0
    surveys: int = 0
    code: str = ""
    left: bool = False
    error: str = ""
    condition: str = ""
    effect: Effect = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    @property
    def behaviour(self) -> Behaviour:
        return BEHAVIOURS[self.kind]


class BotError(Exception):
    """The site showed a bot something else than a participant should see; the message says where."""


def parse_mix(text: str) -> dict[str, float]:
    """Shares by behaviour from ``honest=0.7,random=0.3``. Raises ValueError with a sentence."""
    return mixes.parse_mix(text, BEHAVIOURS)


def make_bots(n: int, mix: Mapping[str, float], *, seed: int) -> list[Bot]:
    """``n`` bots in the shares of ``mix`` (largest remainders), shuffled, each with its own generator."""
    kinds = mixes.deal(n, mix, seed=seed)
    return [Bot(number, kind, random.Random(f"{seed}/{number}")) for number, kind in enumerate(kinds)]


# --- what a page holds -------------------------------------------------------------------------------------
# Expressions rather than a parser, to leave the machine to the server. They are safe on our own pages: there
# "<", ">" and quotes are always escaped inside values.

_FORM = re.compile(r'<form\b[^>]*\bmethod="post"[^>]*>(.*?)</form>', re.DOTALL)
_CONTROL = re.compile(r"<(?:input|button)\b([^>]*)>")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_TITLE = re.compile(r"<title>([^<]*)</title>")
_QUESTION = re.compile(r'class="question-text">([^<]*)<')
_ANSWER = re.compile(r'<div class="answer">\s*<p[^>]*>[^<]*</p>\s*<p( class="none")?>([^<]*)</p>')
_CODE = re.compile(r'<p class="code">([^<]+)</p>')


@dataclass(frozen=True)
class Page:
    """A page as a bot sees it: hidden fields with their values, and choices (radio groups, buttons)."""

    url: str
    text: str
    fields: dict[str, str]
    choices: dict[str, list[str]]

    @property
    def place(self) -> str:
        """The last part of the address: "consent", "survey", "done", or the position of an item."""
        return urlsplit(self.url).path.rstrip("/").rpartition("/")[2]

    def __str__(self) -> str:
        title = _TITLE.search(self.text)
        return f"{urlsplit(self.url).path} ({unescape(title[1]).strip() if title else 'without a title'})"


def read_page(url: str, text: str) -> Page:
    """Read the one form with a page key; a page without it has neither fields nor choices."""
    fields: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    for form in _FORM.findall(text):
        if 'name="page_key"' not in form:
            continue
        for control in _CONTROL.findall(form):
            attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(control)}
            name, value = attributes.get("name"), attributes.get("value", "")
            if name is None:
                continue
            if attributes.get("type") == "hidden":
                fields[name] = value
            else:
                choices.setdefault(name, []).append(value)
    return Page(url, text, fields, choices)


def is_right(page: Page, knowledge: Knowledge) -> bool | None:
    """Whether the answer on an item page is correct, as the site's own database has it."""
    question, answer = _QUESTION.search(page.text), _ANSWER.search(page.text)
    if question is None or answer is None:
        raise BotError(f"{page} shows no question with an answer")
    shown = "" if answer[1] else unescape(answer[2])
    key = (unescape(question[1]), shown)
    if key not in knowledge:
        raise BotError(f"{page} shows {key[1]!r} as answer to {key[0]!r}, which no condition does")
    return knowledge[key]


# --- what a bot sends --------------------------------------------------------------------------------------


def choose(
    question: Question,
    behaviour: Behaviour,
    right: bool | None,
    rng: random.Random,
    shift: float = 0.0,
) -> str:
    """The form value that a bot chooses for a question. shift: of a planted effect, see `Effect`."""
    if question.role == "correctness_rating":
        if right is None:
            chance = (behaviour.yes_if_right + behaviour.yes_if_wrong) / 2
        else:
            chance = behaviour.yes_if_right if right else behaviour.yes_if_wrong
        return _positive(question, rng.random() < chance + shift)
    if question.role == "known_before":
        return _positive(question, rng.random() < behaviour.known + shift)
    centre = behaviour.agreement
    if question.role == "irrelevant_information" and behaviour.spread:
        centre = (
            1 - centre
        )  # the one statement that speaks against the system; a straight-liner does not read
    agreement = min(1.0, max(0.0, rng.gauss(centre + shift, behaviour.spread)))
    values = [value for value, _label in question.choices]
    if question.scale == "yes_no":
        return _positive(question, agreement >= 0.5)
    return values[round(agreement * (len(values) - 1))]


def _positive(question: Question, positive: bool) -> str:
    values = [value for value, _label in question.choices]
    if question.scale == "yes_no":
        return "yes" if positive else "no"
    return values[-1] if positive else values[0]


def clock(behaviour: Behaviour, rng: random.Random, factor: float = 1.0) -> dict[str, str]:
    """What the page's script would have measured, in milliseconds, for a person of this behaviour."""
    total = round(1000 * factor * rng.lognormvariate(math.log(behaviour.seconds), behaviour.sigma))
    hidden = round(total * rng.uniform(0.05, 0.3)) if rng.random() < 0.1 else 0
    return {
        "client_total_ms": str(total),
        "client_visible_ms": str(total - hidden),
        "client_hidden_ms": str(hidden),
        "hidden_count": str(int(hidden > 0)),
        "first_interaction_ms": str(round(total * rng.uniform(0.3, 0.9))),
    }


def fill(page: Page, questions: Sequence[Question], bot: Bot, right: bool | None) -> dict[str, str]:
    """The form of a timed page with a choice for every question.

    Raises BotError when the page lacks a field, a question or a choice that the frozen study has.
    """
    sent = dict(page.fields)
    chosen = {
        question.key: choose(
            question, bot.behaviour, right, bot.rng, bot.effect.get(question.role or question.key, 0.0)
        )
        for question in questions
    }
    for key, value in chosen.items():
        if value not in page.choices.get(key, []):
            raise BotError(f"{page} lacks the choice {value!r} of the question {key!r}")
    unknown = sorted(page.choices.keys() - chosen.keys())
    if unknown:
        raise BotError(f"{page} asks {unknown[0]!r}, which is no question of the study")
    changes = {f"changes_{key}": str(int(bot.rng.random() < 0.1)) for key in chosen}
    script = {**clock(bot.behaviour, bot.rng, bot.effect.get(TIME, 1.0)), **changes}
    for name in ("csrfmiddlewaretoken", "page_key", *script):
        if name not in page.fields:
            raise BotError(f"{page} lacks the field {name!r}")
    return {**sent, **script, **chosen}


# --- the way through the study -----------------------------------------------------------------------------


class Get(NamedTuple):
    """Ask for a page, following redirects."""

    url: str


class Post(NamedTuple):
    """Send a form to the page it came from, following redirects."""

    url: str
    form: dict[str, str]


class Think(NamedTuple):
    """Wait before the next page."""

    share: float


Walk = Generator[Get | Post | Think, httpx.Response | None, None]
_Open = Generator[Get | Post | Think, httpx.Response | None, Page]


def walk(bot: Bot, link: str, plan: StudyPlan) -> Walk:
    """From the entry link to the completion code, or as far as the behaviour goes. Fills in ``bot``."""
    page = yield from _ask(Get(link))
    if "yes" not in page.choices.get("consent", []):
        raise BotError(f"{page} asks for no consent")
    page = yield from _ask(Post(page.url, {**page.fields, "consent": "yes"}))
    bot.consented = True
    leaves_at = bot.rng.randint(1, plan.items) if bot.behaviour.leaves else None
    for position in range(1, plan.items + 1):
        _expect(page, str(position))
        yield Think(bot.rng.uniform(0.5, 1.5))
        if position == leaves_at:
            bot.left = True
            return
        right = is_right(page, plan.knowledge)
        page = yield from _send(page, bot, plan.item_questions, right)
        bot.items += 1
    _expect(page, "survey")
    yield Think(bot.rng.uniform(0.5, 1.5))
    page = yield from _send(page, bot, plan.post_survey, None)
    _expect(page, "done")
    bot.surveys += 1
    code = _CODE.search(page.text)
    if code is None:
        raise BotError(f"{page} shows no completion code")
    bot.code = unescape(code[1])


def _send(page: Page, bot: Bot, questions: Sequence[Question], right: bool | None) -> _Open:
    """Send a page as often as the bot has tabs; all but the first are too late and must change nothing."""
    tabs, place = [page], page.place
    for _tab in range(bot.behaviour.tabs - 1):
        tabs.append((yield from _ask(Get(page.url))))
    for tab in tabs:
        _expect(tab, place)
        page = yield from _ask(Post(tab.url, fill(tab, questions, bot, right)))
    return page


def _ask(request: Get | Post) -> _Open:
    response = yield request
    assert response is not None
    page = read_page(str(response.url), response.text)
    if response.status_code != 200:
        raise BotError(f"{page} answered with status {response.status_code}")
    return page


def _expect(page: Page, place: str) -> None:
    if page.place != place:
        raise BotError(f"{page} came where the page {place!r} should come")


# --- many at once ------------------------------------------------------------------------------------------


async def run_bots(
    bots: Sequence[Bot],
    link: str,
    plan: StudyPlan,
    *,
    concurrency: int,
    think: float = 0.0,
    finished: Callable[[Bot], None] = lambda bot: None,
    planted: Planted | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> None:
    """Have all bots walk, at most ``concurrency`` at once, pausing ``think`` seconds a page on average.

    A bot that meets something unexpected ends with its ``error`` set; the others go on. Each has cookies of
    its own; connections are shared.
    """
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    shared = transport or httpx.AsyncHTTPTransport(limits=limits)
    places = asyncio.Semaphore(concurrency)

    async def one(bot: Bot) -> None:
        async with places:
            # Not closed here: that would close the shared transport.
            client = httpx.AsyncClient(transport=shared, timeout=60, trust_env=False)
            await _drive(bot, walk(bot, link, plan), client, think, planted)
        finished(bot)

    async with shared, asyncio.TaskGroup() as group:
        for bot in bots:
            group.create_task(one(bot))


async def _drive(
    bot: Bot, steps: Walk, client: httpx.AsyncClient, think: float, planted: Planted | None
) -> None:
    response: httpx.Response | None = None
    try:
        while True:
            step = steps.send(response)
            if isinstance(step, Think):
                response = None
                await asyncio.sleep(think * step.share)
            else:
                response = await _request(bot, step, client)
                if planted and not bot.condition and (cookie := client.cookies.get(PARTICIPANT_COOKIE)):
                    bot.condition = await planted.condition_of(cookie)
                    bot.effect = planted.effects.get(bot.condition, {})
    except StopIteration:
        return
    except BotError as error:
        bot.error = str(error)
    except httpx.HTTPError as error:
        bot.error = f"{type(error).__name__}: {error}".rstrip(": ")


async def _request(bot: Bot, step: Get | Post, client: httpx.AsyncClient) -> httpx.Response:
    """Send one request and follow its redirects one by one, so that each is timed by itself."""
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
