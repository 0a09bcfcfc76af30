"""The walk of a bot through the real pages of a study. No Django.

A walk is a generator of requests, so that the same walk runs on any client.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from html import unescape

import httpx

from foundation.simulated_people import BotError, Think, run_walks
from studyapp.definition.questions.question import Question
from studyapp.definition.task_designs.task_questions import (
    ANSWER,
    PREDICTED,
    PREDICTION,
    select_page_questions,
)
from studyapp.simulation.behaviours import (
    OWN_EFFECTS,
    PREDICTION_EFFECTS,
    choose_final_answer,
    draw_confidence,
    draw_forced_prediction,
    draw_own_answer,
    draw_prediction,
)
from studyapp.simulation.bots import Bot
from studyapp.simulation.page_answers import fill
from studyapp.simulation.page_requests import PARTICIPANT_COOKIE, Form, Get, Post, send_request
from studyapp.simulation.pages import (
    SHOWN_ANSWER,
    Page,
    find_completion_code,
    find_question,
    find_right_prediction,
    is_right,
    read_page,
)
from studyapp.simulation.planted_effects import Effect, Planted
from studyapp.simulation.preferring import PREFERRED, draw_preference
from studyapp.simulation.study_plan import StudyPlan, Wanted

# The fields of the task's own questions.
OWN_FIELDS = (
    *("initial_answer", "initial_confidence", "final_choice", "final_answer", "final_confidence"),
    PREDICTED,
)

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
    rest = {key: values for key, values in page.choices.items() if key not in (*OWN_FIELDS, *given)}
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
