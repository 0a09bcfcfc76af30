"""Planted effects of bots: parsing and checks. No Django."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from studyapp.definition.questions.question import list_question_parts
from studyapp.simulation.behaviours import (
    BEHAVIOURS,
    BLOCK_EFFECTS,
    OWN_EFFECTS,
    PREDICTION_EFFECTS,
    compute_own_chance,
    compute_unsure_chance,
)
from studyapp.simulation.preferring import PREFERRED, compute_pair_effect
from studyapp.simulation.study_plan import StudyPlan

TIME = "time"
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


def parse_effect(text: str) -> tuple[str, dict[str, float]]:
    """Read condition and effect from ``CONDITION:NAME=NUMBER,...``.

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
    leave 0 to 1 raises, and is not cut.
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
