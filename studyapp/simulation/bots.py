"""Bots, the simulated participants with a behaviour. No Django."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from foundation import behaviour_mix
from studyapp.simulation.behaviours import BEHAVIOURS, Behaviour
from studyapp.simulation.planted_effects import Effect


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
