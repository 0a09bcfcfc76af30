"""Behaviours of simulated participants: six kinds, and their form values.

No Django.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analysis.scores import hotpotqa
from studyapp.definition.questions.answer_scales import NumberScale, RankingScale, TextField
from studyapp.definition.questions.question import Answer, Question


class Behaviour(NamedTuple):
    """The behaviour of a kind of bot.

    Probabilities are of one answer; agreement is on a scale from 0 to 1.

    ``yes_if_right`` and ``yes_if_wrong``: that it rates an answer correct that is, or is not.
    ``knew_before``: that it says it knew the answer. ``agreement``, ``spread``: mean and standard deviation
    of agreement.
    ``seconds``, ``sigma``: median and log-scale deviation of the log-normal time that it reports per page.
    ``heeds``: probability of doing what a question of a check asks for, in screening, comprehension check and
    attention items; else it answers as it answers anything. ``leaves``: it goes away at some item. ``tabs``:
    how often it opens and sends each page.
    """

    yes_if_right: float
    yes_if_wrong: float
    knew_before: float
    agreement: float
    spread: float
    seconds: float
    sigma: float
    heeds: float = 1.0
    leaves: bool = False
    tabs: int = 1


# Assumptions, not findings: plausible people, and the kinds of bad data that a study has to expect.
BEHAVIOURS: dict[str, Behaviour] = {
    "honest": Behaviour(0.85, 0.45, knew_before=0.02, agreement=0.75, spread=0.20, seconds=45, sigma=0.5),
    "random": Behaviour(
        0.50, 0.50, knew_before=0.10, agreement=0.50, spread=0.35, seconds=30, sigma=0.6, heeds=0
    ),
    "speeder": Behaviour(
        0.50, 0.50, knew_before=0.05, agreement=0.50, spread=0.35, seconds=6, sigma=0.3, heeds=0.5
    ),
    "straight-liner": Behaviour(
        1.0, 1.0, knew_before=0, agreement=1, spread=0, seconds=20, sigma=0.4, heeds=0
    ),
    "drop-out": Behaviour(0.85, 0.45, 0.02, 0.75, 0.20, seconds=45, sigma=0.5, leaves=True),
    "two-tab": Behaviour(0.85, 0.45, 0.02, 0.75, 0.20, seconds=45, sigma=0.5, tabs=2),
}


def choose(
    question: Question,
    behaviour: Behaviour,
    right: bool | None,
    rng: random.Random,
    shift: float = 0.0,
) -> str:
    """Return the form value that a bot chooses for a question.

    ``shift`` is that of a planted effect, see `Effect`.
    """
    if question.role == "correctness_rating":
        if right is None:
            chance = (behaviour.yes_if_right + behaviour.yes_if_wrong) / 2
        else:
            chance = behaviour.yes_if_right if right else behaviour.yes_if_wrong
        return _choose_end(question, rng.random() < chance + shift)
    if question.role == "known_before":
        return _choose_end(question, rng.random() < behaviour.knew_before + shift)
    centre = behaviour.agreement
    if question.role == "irrelevant_information" and behaviour.spread:
        centre = (
            1 - centre
        )  # the one statement that speaks against the system; a straight-liner does not read
    agreement = min(1.0, max(0.0, rng.gauss(centre + shift, behaviour.spread)))
    if isinstance(question.scale, NumberScale):
        return _format_number(question.scale, agreement)
    values = [value for value, _label in question.choices]
    if question.kind == "yes_no":
        return _choose_end(question, agreement >= 0.5)
    return values[round(agreement * (len(values) - 1))]


def answer_freely(question: Question, behaviour: Behaviour, rng: random.Random) -> str | list[str]:
    """Return the form value for a question that measures no agreement.

    A straight-liner always takes the last choice.
    """
    always_last = behaviour.spread == 0
    match question.scale:
        case NumberScale() as scale:
            return _format_number(scale, 1.0 if always_last else rng.random())
        case TextField(min_length=least, max_length=most):
            return ("Nothing to add. " * (1 + least // 16)).strip().ljust(least, ".")[:most]
    values = [value for value, _label in question.choices]
    if question.kind == "multiple":
        chosen = values if always_last else [value for value in values if rng.random() < 0.4]
        return chosen or [rng.choice(values)]
    return values[-1] if always_last else rng.choice(values)


def rank(
    question: Question, behaviour: Behaviour, rng: random.Random, shifts: Mapping[str, float]
) -> dict[str, str]:
    """Return the form values of a ranking, the most liked choice first.

    ``shifts`` has the planted effects by part, on its rank: a negative one takes the choice further up. A
    straight-liner leaves the choices in their order.
    """
    assert isinstance(question.scale, RankingScale)
    keys = [part.key for part in question.parts]
    spread = behaviour.spread and 1.0  # in places; 0 keeps the order as it is
    liked = {key: index * (not spread) + spread * rng.uniform(0, len(keys)) for index, key in enumerate(keys)}
    order = sorted(keys, key=lambda key: liked[key] + shifts.get(key, 0.0))
    return {key: str(position) for position, key in enumerate(order[: question.scale.ranks], start=1)}


def _format_number(scale: NumberScale, share: float) -> str:
    """Return the number of a scale at a share of its way, as a form sends it."""
    steps = math.floor((scale.max - scale.min) / scale.step + 1e-9)
    return f"{scale.min + scale.step * round(share * steps):.10g}"


def encode_answer(question: Question, answer: Answer) -> str | list[str]:
    """Return what a form sends for an answer."""
    if isinstance(answer, list):
        return answer
    for sent, stored in question.values.items():
        if type(stored) is type(answer) and stored == answer:
            return sent
    return f"{answer:.10g}" if isinstance(answer, int | float) else str(answer)


def parse_sent_value(question: Question, sent: str | list[str]) -> Answer:
    """Return the answer that the site stores for what a bot sends."""
    if isinstance(sent, list):
        return sorted(sent)
    return float(sent) if isinstance(question.scale, NumberScale) else question.values.get(sent, sent)


# Effects to plant on own answers: on the probability of a right first answer, and of taking advice.
OWN_EFFECTS = ("initial_correct", "reliance", "reliance_if_right", "reliance_if_wrong")
# On that of a right prediction among those who can tell, and of "cannot tell".
PREDICTION_EFFECTS = ("prediction_right", "cannot_tell")
# On that of a right prediction in each block of a simulation.
BLOCK_EFFECTS = ("prediction_before", "prediction_learning", "prediction_after")
WRONG_ANSWER = "Somewhere else"


def compute_own_chance(behaviour: Behaviour) -> float:
    """Return the probability of a right answer without advice."""
    return (behaviour.yes_if_right + 1 - behaviour.yes_if_wrong) / 2


def draw_own_answer(
    offered: Sequence[str], gold: str, behaviour: Behaviour, rng: random.Random, shifts: Mapping[str, float]
) -> str:
    """Return the answer that a bot gives by itself.

    Args:
        offered: The answers to choose among; one empty text if it types.
        gold: The right answer.
        behaviour: The behaviour of the bot.
        rng: Draws whether it is right.
        shifts: The planted effects of `OWN_EFFECTS`.
    """
    is_right = rng.random() < compute_own_chance(behaviour) + shifts["initial_correct"]
    if not any(offered):
        return gold if is_right else WRONG_ANSWER
    if behaviour.spread == 0:
        return offered[-1]
    right = [value for value in offered if hotpotqa.exact_match(gold, value)]
    others = [value for value in offered if value not in right]
    return rng.choice((right or others) if is_right else (others or right))


def choose_final_answer(
    choices: Mapping[str, Sequence[str]],
    first: str | None,
    advice: str | None,
    is_right: bool | None,
    behaviour: Behaviour,
    rng: random.Random,
    shifts: Mapping[str, float],
) -> dict[str, str]:
    """Return the fields of the final answer: the bot's own, or the advice.

    Args:
        choices: The values that the page offers, by field.
        first: The bot's first answer; None if it is unknown.
        advice: The system's answer; None in the control condition.
        is_right: True if the advice is correct; None if that is unknown.
        behaviour: The behaviour of the bot.
        rng: Draws whether it takes the advice.
        shifts: The planted effects of `OWN_EFFECTS`.
    """
    chances = {True: behaviour.yes_if_right, False: behaviour.yes_if_wrong}
    planted = {True: shifts["reliance_if_right"], False: shifts["reliance_if_wrong"]}
    chance = sum(chances.values()) / 2 if is_right is None else chances[is_right] + planted[is_right]
    takes = advice is not None and (first is None or rng.random() < chance + shifts["reliance"])
    if "final_choice" in choices:
        button, offered = "system" if takes else "mine", choices["final_choice"]
        return {"final_choice": button if button in offered else offered[0]}
    wanted = advice if takes else first
    if not any(choices["final_answer"]):
        return {"final_answer": wanted or WRONG_ANSWER}
    same = [value for value in choices["final_answer"] if hotpotqa.exact_match(wanted or "", value)]
    return {"final_answer": (same or list(choices["final_answer"]))[0]}


def compute_unsure_chance(behaviour: Behaviour) -> float:
    """Return the probability of "cannot tell" about a prediction."""
    return (1 - compute_own_chance(behaviour)) / 2


def draw_prediction(
    offered: Sequence[str], right: str, behaviour: Behaviour, rng: random.Random, shifts: Mapping[str, float]
) -> str:
    """Return the prediction that a bot chooses.

    Args:
        offered: The answers to choose among, "cannot tell" last.
        right: The right one.
        behaviour: The behaviour of the bot; a straight-liner takes the last choice.
        rng: Draws whether it can tell, and if so whether it is right.
        shifts: The planted effects of `PREDICTION_EFFECTS`.
    """
    *answers, cannot_tell = offered
    if behaviour.spread == 0 or rng.random() < compute_unsure_chance(behaviour) + shifts["cannot_tell"]:
        return cannot_tell
    return draw_forced_prediction(answers, right, behaviour, rng, shifts["prediction_right"])


def draw_forced_prediction(
    offered: Sequence[str], right: str, behaviour: Behaviour, rng: random.Random, shift: float
) -> str:
    """Return the prediction of a bot that has to choose.

    ``shift`` is added to the probability of the right one. A straight-liner takes the last choice.
    """
    if behaviour.spread == 0:
        return offered[-1]
    is_right = rng.random() < compute_own_chance(behaviour) + shift
    others = [answer for answer in offered if answer != right]
    return right if is_right or not others else rng.choice(others)


def draw_confidence(
    values: Sequence[str], behaviour: Behaviour, rng: random.Random, shift: float = 0.0
) -> str:
    """Return the confidence that a bot chooses; ``shift`` is planted."""
    share = min(1.0, max(0.0, rng.gauss(behaviour.agreement + shift, behaviour.spread)))
    return values[round(share * (len(values) - 1))]


def _choose_end(question: Question, positive: bool) -> str:
    values = [value for value, _label in question.choices]
    if question.kind == "yes_no":
        return "yes" if positive else "no"
    return values[-1] if positive else values[0]


def draw_times(behaviour: Behaviour, rng: random.Random, factor: float = 1.0) -> dict[str, str]:
    """Return the times that the page's script would have measured.

    They are in milliseconds, for a person of this behaviour.
    """
    total = round(1000 * factor * rng.lognormvariate(math.log(behaviour.seconds), behaviour.sigma))
    hidden = round(total * rng.uniform(0.05, 0.3)) if rng.random() < 0.1 else 0
    return {
        "client_total_ms": str(total),
        "client_visible_ms": str(total - hidden),
        "client_hidden_ms": str(hidden),
        "hidden_count": str(int(hidden > 0)),
        "first_interaction_ms": str(round(total * rng.uniform(0.3, 0.9))),
    }
