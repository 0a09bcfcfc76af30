"""Comparisons of two conditions by simulated participants. No Django."""

import math
import random
from collections.abc import Mapping, Sequence

from studyapp.definition.task_designs.comparing import LEFT, RIGHT
from studyapp.simulation.behaviours import Behaviour

# The effect on all criteria; `preferred_KEY` is for one. Its number is the logarithm of a strength, which may
# have any value.
PREFERRED = "preferred"
TIES = 0.5  # Davidson's parameter: of two equally strong conditions, one in five comparisons is a tie


def compute_pair_effect(
    effects: Mapping[str, Mapping[str, float]], left: str, right: str
) -> dict[str, float]:
    """Return how much stronger the left condition is, by name of the effect."""
    ours, theirs = effects.get(left, {}), effects.get(right, {})
    return {name: ours.get(name, 0.0) - theirs.get(name, 0.0) for name in (*ours, *theirs)}


def draw_preference(
    offered: Sequence[str], behaviour: Behaviour, rng: random.Random, advantage: float
) -> str:
    """Return the side that a bot prefers, or a tie, by Davidson's model.

    Args:
        offered: The choices: left, right and perhaps tie.
        behaviour: The behaviour of the bot; a straight-liner takes the last choice.
        rng: Draws the choice.
        advantage: Logarithm of the left strength less that of the right one.
    """
    if behaviour.spread == 0:
        return offered[-1]
    weights = {LEFT: math.exp(advantage / 2), RIGHT: math.exp(-advantage / 2)}
    return rng.choices(offered, [weights.get(choice, TIES) for choice in offered])[0]
