"""Tests of effects planted in bots: their form, refusals, and size.

They are planted as given.
"""

import asyncio
import random
from dataclasses import replace
from statistics import mean, stdev, variance

import httpx
import pytest

from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.simulation.behaviours import BEHAVIOURS, choose, draw_times
from studyapp.simulation.bots import Bot, make_bots
from studyapp.simulation.page_answers import answer
from studyapp.simulation.planted_effects import Planted, check_effects, parse_effect
from studyapp.simulation.study_plan import StudyPlan
from studyapp.simulation.walk import run_bots

QUESTIONS = TEMPLATES["xqa-2020"].item
PLAN = StudyPlan(2, QUESTIONS, TEMPLATES["xqa-2020"].post_survey, {})


def test_it_works():
    name, effect = parse_effect("a: b:correctness_rating=-0.25, time=1.5")
    assert (name, effect) == ("a: b", {"correctness_rating": -0.25, "time": 1.5})
    check_effects({name: effect}, {"random": 1.0}, PLAN, ["a: b", "c"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time=2", "is not CONDITION"),
        ("a:time=0", "above 0"),
        ("a:time", "must be NAME=NUMBER"),
        ("a:=1", "must be NAME=NUMBER"),
        ("a:trust=nan", "must be NAME=NUMBER"),
        ("a:trust=0.1,trust=0.2", "once"),
    ],
)
def test_what_is_no_effect(text, message):
    with pytest.raises(ValueError, match=message):
        parse_effect(text)


@pytest.mark.parametrize(
    ("condition", "effect", "message"),
    [
        ("b", {"time": 2.0}, "no condition 'b'; there is a"),
        ("a", {"mood": 0.1}, "no question 'mood'; there is correctness_rating"),
        ("a", {"correctness_rating": 0.2}, "takes a probability of honest bots out of 0 to 1"),
        ("a", {"known_before": -0.1}, "takes a probability of honest bots out of 0 to 1"),
    ],
)
def test_what_cannot_be_planted(condition, effect, message):
    with pytest.raises(ValueError, match=message):
        check_effects({condition: effect}, {"honest": 1.0}, PLAN, ["a"])


def test_a_shift_is_that_of_the_probability():
    rng, behaviour = random.Random(1), BEHAVIOURS["honest"]
    for right, chance in ((True, behaviour.yes_if_right), (False, behaviour.yes_if_wrong)):
        yes = sum(choose(QUESTIONS[0], behaviour, right, rng, -0.3) == "yes" for _ in range(4000))
        assert yes / 4000 == pytest.approx(chance - 0.3, abs=4 * (0.25 / 4000) ** 0.5)


def test_a_factor_multiplies_the_same_times():
    plain, slow = (
        int(draw_times(BEHAVIOURS["honest"], random.Random(2), factor)["client_total_ms"])
        for factor in (1.0, 2.0)
    )
    assert slow == pytest.approx(2 * plain, abs=2)


def test_a_bot_learns_its_condition_from_its_cookie():
    cookies = []

    def site(request: httpx.Request) -> httpx.Response:
        headers = {"Set-Cookie": "participant=somebody.signed; Path=/"}
        return httpx.Response(410, headers=headers, text="<title>Closed</title>")

    async def conditions_of(cookie: str) -> tuple[str, ...]:
        cookies.append(cookie)
        return ("a",)

    [bot] = make_bots(1, {"honest": 1.0}, seed=1)
    planted = Planted({"a": {"time": 2.0}}, conditions_of)
    asyncio.run(
        run_bots(
            [bot],
            "http://site/join/x/",
            PLAN,
            concurrency=1,
            planted=planted,
            transport=httpx.MockTransport(site),
        )
    )
    assert cookies == ["somebody.signed"]
    assert (bot.condition, bot.effect) == ("a", {"time": 2.0})


class TestSpread:
    """People and items differ.

    The variance of means is higher than by chance alone.
    """

    def share(self, bot: Bot, plan: StudyPlan, questions: list[str]) -> float:
        rated = QUESTIONS[0]
        chosen = []
        for question in questions:
            bot.tilt = bot.leaning + plan.leaning(question)
            chosen.append(answer(rated, bot, None, {}) == "yes")
        return sum(chosen) / len(chosen)

    def variance_of_people(self, spread: float) -> float:
        crowd = make_bots(300, {"random": 1.0}, seed=1, spread=spread)
        return variance(self.share(bot, PLAN, ["q"] * 100) for bot in crowd)

    def test_people_differ_by_the_spread(self):
        # Of 100 answers with p = 0.5 the share has variance 0.0025 by chance.
        assert abs(self.variance_of_people(0.0) - 0.0025) < 0.0008
        assert abs(self.variance_of_people(0.1) - 0.0025 - 0.01) < 0.003

    def test_items_differ_by_the_spread_for_everybody_alike(self):
        plan = replace(PLAN, item_spread=0.1)
        leanings = [plan.leaning(f"question {number}") for number in range(2000)]
        assert abs(stdev(leanings) - 0.1) < 0.01
        assert abs(mean(leanings)) < 0.01
        assert leanings[:3] == [plan.leaning(f"question {number}") for number in range(3)]
        assert {PLAN.leaning("q")} == {0.0}

    def test_the_bots_are_the_same_without_it(self):
        plain, spread = (make_bots(5, {"honest": 1.0}, seed=3, spread=sd) for sd in (0.0, 0.2))
        assert [bot.rng.random() for bot in plain] == [bot.rng.random() for bot in spread]
        assert [bot.leaning for bot in plain] == [0.0] * 5
