"""Planted effects of simulated participants: parsing and checks."""

import math
from collections.abc import Mapping, Sequence

from studyapp.definition.questions.questionnaires import list_question_parts
from studyapp.simulation.behaviours import (
    BLOCK_EFFECTS,
    OWN_EFFECTS,
    PREDICTION_EFFECTS,
    compute_own_chance,
    compute_unsure_chance,
)
from studyapp.simulation.preferring import PREFERRED
from studyapp.simulation.walk import BEHAVIOURS, TIME, Effect, StudyPlan


def parse_effect(text: str) -> tuple[str, dict[str, float]]:
    """Condition and effect from ``CONDITION:NAME=NUMBER,...``.

    Raises ValueError with a sentence.

    >>> parse_effect("my system:correctness_rating=-0.25,time=1.5")
    ('my system', {'correctness_rating': -0.25, 'time': 1.5})
    """
    condition, colon, given = text.rpartition(":")
    if not (colon and condition):
        raise ValueError(f"{text!r} is not CONDITION:NAME=NUMBER")
    effect: dict[str, float] = {}
    for part in given.split(","):
        name, _equals, value = part.strip().partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not name or name in effect or not math.isfinite(number) or (name == TIME and number <= 0):
            raise ValueError(f"{part!r} must be NAME=NUMBER, with each name once and {TIME} above 0")
        effect[name] = number
    return condition, effect


def check_effects(
    effects: Mapping[str, Effect], mix: Mapping[str, float], plan: StudyPlan, conditions: Sequence[str]
) -> None:
    """Raise ValueError if an effect cannot be planted as it is given.

    The difference that the analysis should find is then the one that was asked for: a probability that would
    leave 0 to 1 is refused, not cut.
    """
    questions = {
        q.role or q.key: None for q in list_question_parts((*plan.item_questions, *plan.post_survey))
    }
    if plan.compared:
        questions = dict.fromkeys((PREFERRED, *(question.key for question in plan.compared)))
    if plan.gold:
        questions |= dict.fromkeys((*OWN_EFFECTS, "initial_confidence", "final_confidence"))
    if plan.predictions:
        questions |= dict.fromkeys(BLOCK_EFFECTS if plan.blocks else PREDICTION_EFFECTS)
    for condition, effect in effects.items():
        if condition not in conditions:
            raise ValueError(f"there is no condition {condition!r}; there is {', '.join(conditions)}")
        for name, shift in effect.items():
            names = [*questions, *([] if plan.compared else [TIME])]  # time is not of one of two conditions
            if name not in names:
                raise ValueError(f"there is no question {name!r}; there is {', '.join(names)}")
            for kind in mix:
                own = BEHAVIOURS[kind]
                reliance = {"reliance_if_right": own.yes_if_right, "reliance_if_wrong": own.yes_if_wrong}
                chances = {
                    "initial_correct": (compute_own_chance(own),),
                    **dict.fromkeys(("prediction_right", *BLOCK_EFFECTS), (compute_own_chance(own),)),
                    "cannot_tell": (compute_unsure_chance(own),),
                    "reliance": tuple(reliance.values()),
                    **{key: (chance + effect.get("reliance", 0.0),) for key, chance in reliance.items()},
                    "correctness_rating": (own.yes_if_right, own.yes_if_wrong),
                    "known_before": (own.knew_before,),
                }.get(name, ())
                if not all(0 <= chance + shift <= 1 for chance in chances):
                    raise ValueError(f"{name}={shift:g} takes a probability of {kind} bots out of 0 to 1")
