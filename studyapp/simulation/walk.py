"""Simulated participants, who walk the real pages over HTTP. No Django.

A walk is a generator of requests, so that the same walk runs on any client. A bot fills the fields of the
page that it was served; a missing field is an error.
"""

import random
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx

from foundation import behaviour_mix
from foundation.simulated_people import BotError, Think, run_walks
from studyapp.definition.participation.suspicion_flags import HONEYPOT_FIELD
from studyapp.definition.questions.flow import select_visible_questions
from studyapp.definition.questions.questionnaires import Answer, Question, list_question_parts
from studyapp.definition.task_designs.task_questions import (
    ANSWER,
    PREDICTED,
    PREDICTION,
    select_page_questions,
)
from studyapp.definition.tasks import Task, Verification
from studyapp.simulation.behaviours import (
    BEHAVIOURS,
    OWN_EFFECTS,
    PREDICTION_EFFECTS,
    Behaviour,
    answer_freely,
    choose,
    choose_final_answer,
    draw_confidence,
    draw_forced_prediction,
    draw_own_answer,
    draw_prediction,
    draw_times,
    encode_answer,
    parse_sent_value,
    rank,
)
from studyapp.simulation.pages import (
    SHOWN_ANSWER,
    Knowledge,
    Page,
    Predictions,
    find_completion_code,
    find_question,
    find_right_prediction,
    is_right,
    read_page,
)
from studyapp.simulation.preferring import PREFERRED, compute_pair_effect, draw_preference

TIME = "time"
PARTICIPANT_COOKIE = "participant"

# The effect of a condition: `TIME` maps to a factor on the reported times, and the role or key of a question
# to a shift of the probability of a yes, or of the mean agreement (from 0 to 1).
Effect = Mapping[str, float]


@dataclass(frozen=True)
class Planted:
    """Effects by condition, and how a bot learns what it sees.

    The site looks it up by the participant cookie, because no page names its condition.

    Attributes:
        effects: The effect of each condition.
        conditions_of: Returns the conditions shown, for a participant cookie: one, two side by side, or none.
        varies: A participant sees several conditions, so it is looked up for each page.
    """

    effects: Mapping[str, Effect]
    conditions_of: Callable[[str], Awaitable[tuple[str, ...]]]
    varies: bool = False

    def effect_of(self, conditions: Sequence[str]) -> Effect:
        """Return the effect of what is shown."""
        if len(conditions) == 2:
            return compute_pair_effect(self.effects, *conditions)
        return self.effects.get(conditions[0], {}) if conditions else {}


# The answers that a check asks for, by key of the question.
Wanted = Mapping[str, Answer]

# The fields of the task's own questions.
OWN = (
    *("initial_answer", "initial_confidence", "final_choice", "final_answer", "final_confidence"),
    PREDICTED,
)


@dataclass(frozen=True)
class StudyPlan:
    """The pages of a study, and the correctness of its answers.

    Attributes:
        items: The number of pages with items, practice and attention items included.
        item_questions: The questions of an item.
        post_survey: The questions after the items.
        knowledge: The correctness of the shown answers.
        stages: The pages before the items, in order.
        heeded: The answers that pass a check, by key, for each stage or shown question of an attention item.
        item_spread: The standard deviation of item effects that all bots share, in the unit of `Effect`.
        gold: The right answer by question, if participants answer themselves.
        predictions: The right predictions, if participants predict the system.
        blocks: The block of each page with an item, if the task is a simulation.
        task: The task.
        compared: The questions about two conditions, if participants compare them.
        own_check_questions: The questions of an attention item, if they are not those of an item.
    """

    items: int
    item_questions: Sequence[Question]
    post_survey: Sequence[Question]
    knowledge: Knowledge
    stages: Mapping[str, Sequence[Question]] = field(default_factory=dict)
    heeded: Mapping[str, Wanted] = field(default_factory=dict)
    item_spread: float = 0.0
    gold: Mapping[str, str] = field(default_factory=dict)
    predictions: Predictions = field(default_factory=dict)
    blocks: Sequence[str] = ()
    task: Task = field(default_factory=Verification)
    compared: Sequence[Question] = ()
    own_check_questions: Sequence[Question] | None = None

    @property
    def check_questions(self) -> Sequence[Question]:
        """Return the questions of an attention item."""
        return self.item_questions if self.own_check_questions is None else self.own_check_questions

    def leaning(self, question: str) -> float:
        """Return the effect of an item on every bot, drawn from its question."""
        return random.Random(f"item/{question}").gauss(0.0, self.item_spread)


@dataclass
class Bot:
    """One simulated participant and its record.

    Attributes:
        ended: The site sent it away before the items, by a check or because the study was full.
        entry: The personal link by which it comes back to finish; empty for a new participant.
        leaning: The effect of this bot on all its answers, in the unit of `Effect`.
        tilt: ``leaning`` plus the effect of the present item.
        condition: Known only if effects are planted, as is ``effect``.
        seconds: The duration of each request.
    """

    number: int
    kind: str
    rng: random.Random
    entry: str = ""
    consented: bool = False
    stages: int = 0
    items: int = 0
    surveys: int = 0
    code: str = ""
    left: bool = False
    ended: bool = False
    error: str = ""
    leaning: float = 0.0
    tilt: float = 0.0
    condition: str = ""
    effect: Effect = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    @property
    def behaviour(self) -> Behaviour:
        """Return the behaviour of the bot."""
        return BEHAVIOURS[self.kind]


def make_bots(n: int, mix: Mapping[str, float], *, seed: int, spread: float = 0.0) -> list[Bot]:
    """Return bots with their own generators (largest remainder method).

    Args:
        n: The number of bots.
        mix: The share of each behaviour.
        seed: The seed of all generators.
        spread: The standard deviation of bot effects on all answers, in the unit of `Effect`.
    """
    kinds = behaviour_mix.draw_behaviours(n, mix, seed=seed)
    return [
        Bot(
            number,
            kind,
            random.Random(f"{seed}/{number}"),
            leaning=random.Random(f"{seed}/{number}/leaning").gauss(0.0, spread),
        )
        for number, kind in enumerate(kinds)
    ]


# --- what a page holds -------------------------------------------------------------------------------------
# Regular expressions rather than a parser, because bots must not take processor time from the server. They
# are safe on our own pages, where "<", ">" and quotes are always escaped inside values.


Form = dict[str, str | list[str]]


# --- what a bot sends --------------------------------------------------------------------------------------


def answer(question: Question, bot: Bot, right: bool | None, wanted: Wanted) -> str | list[str]:
    """Return a bot's form value; ``wanted`` has the answers a check needs."""
    if question.key in wanted and bot.rng.random() < bot.behaviour.heeds:
        return encode_answer(question, wanted[question.key])
    if question.kind in ("yes_no", "likert", "slider"):
        effect = bot.effect.get(question.role or question.key, 0.0) + bot.tilt
        return choose(question, bot.behaviour, right, bot.rng, effect)
    return answer_freely(question, bot.behaviour, bot.rng)


def fill(
    page: Page, questions: Sequence[Question], bot: Bot, right: bool | None, wanted: Wanted | None = None
) -> Form:
    """Return the form of a timed page with an answer to every question.

    Raises BotError when the page lacks a field, a question or a choice that the frozen study has.
    """
    chosen = _choose_form_values(page, questions, bot, right, wanted or {})
    free = [question for question in questions if question.kind in ("number", "slider", "ranking", "text")]
    written = {part.key for part in list_question_parts(free)}
    for key, value in chosen.items():
        for choice in value if isinstance(value, list) else [value]:
            if key not in page.choices or (key not in written and choice not in page.choices[key]):
                raise BotError(f"{page} lacks the choice {choice!r} of the question {key!r}")
    asked = {part.key for part in list_question_parts(questions)}
    unknown = sorted(page.choices.keys() - asked - {HONEYPOT_FIELD})  # which stays empty
    if unknown:
        raise BotError(f"{page} asks {unknown[0]!r}, which is not a question of the study")
    changes = {f"changes_{key}": str(int(bot.rng.random() < 0.1)) for key in chosen}
    script = {**draw_times(bot.behaviour, bot.rng, bot.effect.get(TIME, 1.0)), **changes}
    for name in ("csrfmiddlewaretoken", "page_key", *script):
        if name not in page.fields:
            raise BotError(f"{page} lacks the field {name!r}")
    return {**page.fields, **script, **chosen}


def _choose_form_values(
    page: Page, questions: Sequence[Question], bot: Bot, right: bool | None, wanted: Wanted
) -> dict[str, str | list[str]]:
    """Return the form values for the questions that the page asks.

    Only a question for some conditions, one that depends on an answer, or one of another page may be absent.
    Questions that an answer on this page hides stay empty.
    """
    has_pages = any(question.page_break for question in questions)
    chosen: dict[str, str | list[str]] = {}
    answers: dict[str, Answer] = {}
    for question in questions:
        is_absent = question.parts[0].key not in page.choices
        if is_absent and (question.only is not None or question.show_if or has_pages):
            continue
        depends_here = question.show_if is not None and question.show_if.question in page.choices
        if depends_here and not select_visible_questions([question], answers):
            continue
        sent = (
            dict[str, str | list[str]](rank(question, bot.behaviour, bot.rng, bot.effect))
            if question.kind == "ranking"
            else {part.key: answer(part, bot, right, wanted) for part in question.parts}
        )
        chosen |= sent
        answers |= {
            part.key: parse_sent_value(part, sent[part.key]) for part in question.parts if part.key in sent
        }
    return chosen


# --- the walk through the study ----------------------------------------------------------------------------


class Get(NamedTuple):
    """Ask for a page, following redirects."""

    url: str


class Post(NamedTuple):
    """Send a form to the page it came from, following redirects."""

    url: str
    form: Form


Walk = Generator[Get | Post | Think, httpx.Response | None, None]
_Open = Generator[Get | Post | Think, httpx.Response | None, Page]


def walk(bot: Bot, link: str, plan: StudyPlan) -> Walk:
    """Walk from the entry link to the completion code. Fills in ``bot``.

    The behaviour may end the walk earlier. A bot that comes back begins on the page where it was.
    """
    page = yield from _ask(Get(bot.entry or link))
    bot.tilt = bot.leaning
    if not bot.entry:
        if "yes" not in page.choices.get("consent", []):
            raise BotError(f"{page} asks for no consent")
        page = yield from _ask(Post(page.url, {**page.fields, "consent": "yes"}))
        bot.consented = True
    stages, first = _list_remaining_stages(page, plan) if bot.entry else (list(plan.stages), 1)
    for stage in stages:
        questions = plan.stages[stage]
        if page.name != stage and questions and all(question.only is not None for question in questions):
            continue  # none of them is about the bot's condition
        _expect(page, stage)
        while page.name == stage:
            yield Think(bot.rng.uniform(0.5, 1.5))
            page = yield from _send(page, bot, questions, None, plan.heeded.get(stage, {}))
            has_pages = any(question.page_break for question in questions)
            bot.stages += not has_pages or page.name != stage
        if page.name == "done":
            bot.ended = True
            return
    leaves_at = bot.rng.randint(1, plan.items) if bot.behaviour.leaves else None
    for position in range(first, plan.items + 1):
        _expect(page, str(position))
        yield Think(bot.rng.uniform(0.5, 1.5))
        if position == leaves_at:
            bot.left = True
            return
        wanted = plan.heeded.get(find_question(page))
        bot.tilt = bot.leaning + plan.leaning(find_question(page))
        page = yield from _answer_item(page, bot, plan, wanted)
        bot.items += 1
    bot.tilt = bot.leaning
    if not bot.entry or page.name != "done":
        _expect(page, "survey")
        while page.name == "survey":
            yield Think(bot.rng.uniform(0.5, 1.5))
            page = yield from _send(page, bot, plan.post_survey, None)
        _expect(page, "done")
        bot.surveys += 1
    bot.code = find_completion_code(page)
    if not bot.code:
        raise BotError(f"{page} shows no completion code")


def _list_remaining_stages(page: Page, plan: StudyPlan) -> tuple[list[str], int]:
    """Return the stages from a page on, and the position of its first item."""
    stages = list(plan.stages)
    if page.name in stages:
        return stages[stages.index(page.name) :], 1
    return [], int(page.name) if page.name.isdecimal() else plan.items + 1


def _answer_item(page: Page, bot: Bot, plan: StudyPlan, wanted: Wanted | None) -> _Open:
    """Send the pages of an item: one, or two with an answer of the bot's own."""
    if wanted is not None:
        return (yield from _send(page, bot, plan.check_questions, None, wanted))
    if plan.blocks:
        return (yield from _simulate(page, bot, plan))
    if plan.predictions:
        right = is_right(page, plan.knowledge)
        expected, offered = find_right_prediction(page, plan.predictions), page.choices[PREDICTED]
        chosen = draw_prediction(offered, expected, bot.behaviour, bot.rng, _tilt_effect(bot))
        return (yield from _send_own(page, bot, plan.item_questions, {PREDICTED: chosen}, right))
    if plan.compared:
        return (yield from _compare(page, bot, plan))
    if not plan.gold:
        return (yield from _send(page, bot, plan.item_questions, is_right(page, plan.knowledge)))
    first = None
    if "initial_answer" in page.choices:  # else it comes back to the second page
        gold = plan.gold[find_question(page)]
        first = draw_own_answer(
            page.choices["initial_answer"], gold, bot.behaviour, bot.rng, _tilt_effect(bot)
        )
        page = yield from _send_own(page, bot, [], {"initial_answer": first})
        yield Think(bot.rng.uniform(0.5, 1.5))
    if "final_answer" not in page.choices:
        raise BotError(f"{page} asks for no final answer")
    advice = SHOWN_ANSWER.search(page.text)
    right = is_right(page, plan.knowledge) if advice else None
    shown = unescape(advice[2]) if advice else None
    final = choose_final_answer(page.choices, first, shown, right, bot.behaviour, bot.rng, _tilt_effect(bot))
    return (yield from _send_own(page, bot, plan.item_questions, final))


def _simulate(page: Page, bot: Bot, plan: StudyPlan) -> _Open:
    """Send a prediction, and the page with the answer while learning."""
    block, name = plan.blocks[int(page.name) - 1], page.name
    beside = {
        part: select_page_questions(plan.task, part, plan.item_questions) for part in (PREDICTION, ANSWER)
    }
    if PREDICTED in page.choices:  # else it comes back to the second page
        offered = page.choices[PREDICTED]
        right = plan.predictions.get((find_question(page), bot.condition), {}).get(frozenset(offered))
        if right is None:
            raise BotError(f"{page} offers {sorted(offered)} as predictions, which no condition does")
        shift = bot.effect.get(f"prediction_{block}", 0.0) + bot.tilt
        chosen = draw_forced_prediction(offered, right, bot.behaviour, bot.rng, shift)
        page = yield from _send_own(page, bot, beside[PREDICTION], {PREDICTED: chosen})
    if block == "learning" and page.name == name:
        yield Think(bot.rng.uniform(0.5, 1.5))
        is_right(page, plan.knowledge)  # it shows an answer
        page = yield from _send_own(page, bot, beside[ANSWER], {})
    return page


def _compare(page: Page, bot: Bot, plan: StudyPlan) -> _Open:
    """Send the page of two conditions, with an answer on each criterion."""
    chosen = {}
    for question in plan.compared:
        offered = page.choices.get(question.key)
        if not offered:
            raise BotError(f"{page} lacks the question {question.key!r}")
        advantage = bot.effect.get(PREFERRED, 0.0) + bot.effect.get(question.key, 0.0)
        chosen[question.key] = draw_preference(offered, bot.behaviour, bot.rng, advantage)
    return (yield from _send_own(page, bot, plan.item_questions, chosen))


def _tilt_effect(bot: Bot) -> Effect:
    """Return the bot's effect on its own answers, its tilt included."""
    return {name: bot.effect.get(name, 0.0) + bot.tilt for name in (*OWN_EFFECTS, *PREDICTION_EFFECTS)}


def _send_own(
    page: Page,
    bot: Bot,
    questions: Sequence[Question],
    given: Mapping[str, str],
    right: bool | None = None,
) -> _Open:
    """Send a page with own answers, confidence and other questions."""
    own = dict(given)
    for key in (key for key in page.choices if key in ("initial_confidence", "final_confidence")):
        shift = bot.effect.get(key, 0.0) + bot.tilt
        own[key] = draw_confidence(page.choices[key], bot.behaviour, bot.rng, shift)
    rest = {key: values for key, values in page.choices.items() if key not in (*OWN, *given)}
    return (
        yield from _send_tabs(
            page, bot, lambda tab: fill(replace(tab, choices=rest), questions, bot, right) | own
        )
    )


def _send(
    page: Page, bot: Bot, questions: Sequence[Question], right: bool | None, wanted: Wanted | None = None
) -> _Open:
    """Send a page with an answer to every question."""
    return (yield from _send_tabs(page, bot, lambda tab: fill(tab, questions, bot, right, wanted)))


def _send_tabs(page: Page, bot: Bot, form: Callable[[Page], Form]) -> _Open:
    """Send a page once for each tab of the bot.

    All but the first are too late and must change nothing.
    """
    tabs, name = [page], page.name
    for _tab in range(bot.behaviour.tabs - 1):
        tabs.append((yield from _ask(Get(page.url))))
    for tab in tabs:
        _expect(tab, name)
        page = yield from _ask(Post(tab.url, form(tab)))
    return page


def _ask(request: Get | Post) -> _Open:
    response = yield request
    assert response is not None
    page = read_page(str(response.url), response.text)
    if response.status_code != 200:
        raise BotError(f"{page} answered with status {response.status_code}")
    return page


def _expect(page: Page, name: str) -> None:
    if page.name != name:
        raise BotError(f"{page} came where the page {name!r} should come")


# --- many at once ------------------------------------------------------------------------------------------


async def run_bots(
    bots: Sequence[Bot],
    link: str,
    plan: StudyPlan,
    *,
    concurrency: int,
    think: float = 0.0,
    on_finish: Callable[[Bot], None] = lambda bot: None,
    planted: Planted | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> None:
    """Have all bots walk through a study; see `run_walks`.

    Args:
        bots: The participants.
        link: The participation link.
        plan: The pages of the study.
        concurrency: The number of bots at a time.
        think: The mean pause in seconds on each page.
        on_finish: Called with each bot whose walk has ended.
        planted: The effects to plant.
        transport: Replaces the network in tests.
    """

    async def send(bot: Bot, step: Get | Post, client: httpx.AsyncClient) -> httpx.Response:
        response = await send_request(bot, step, client)
        cookie = client.cookies.get(PARTICIPANT_COOKIE)
        if planted and cookie and (planted.varies or not bot.condition):
            shown = await planted.conditions_of(cookie)
            bot.condition, bot.effect = " ".join(shown), planted.effect_of(shown)
        return response

    await run_walks(
        bots,
        lambda bot: walk(bot, link, plan),
        send,
        concurrency=concurrency,
        think=think,
        on_finish=on_finish,
        transport=transport,
    )


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
