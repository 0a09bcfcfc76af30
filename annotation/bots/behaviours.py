"""Behaviours of simulated annotators, and their results."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from foundation import behaviour_mix


class Behaviour(NamedTuple):
    """A simulated annotator's behaviour. All but ``batch`` are probabilities.

    Attributes:
        misses: Overlooks an object of the gold.
        wrong: Takes another object, or draws one that is not there, per object of the gold.
        jitter: Standard deviation of an edge as a share of the box's side; probability that an end of a
            span is a token off.
        gives_up: Releases an item.
        reloads: Opens the item again before submitting it, and checks that all edits are there.
        batch: Operations in a request.
        thinks: Pauses.
        goes_on: Asks for the next item on submission, and stays in the editor.
        offline: Sends all edits at the end, at times twice, and at times after another tab saved.
    """

    misses: float
    wrong: float
    jitter: float
    gives_up: float
    reloads: float
    batch: int
    thinks: bool = True
    goes_on: bool = False
    offline: bool = False


# Assumptions, not findings: plausible people, and ways of working that the server must withstand.
BEHAVIOURS: dict[str, Behaviour] = {
    "careful": Behaviour(0.02, 0.01, jitter=0.03, gives_up=0.0, reloads=0.2, batch=1),
    "sloppy": Behaviour(0.15, 0.10, jitter=0.12, gives_up=0.05, reloads=0.0, batch=4),
    "fast": Behaviour(
        0.05, 0.03, jitter=0.05, gives_up=0.0, reloads=0.0, batch=500, thinks=False, goes_on=True
    ),
    "offline": Behaviour(0.02, 0.01, jitter=0.03, gives_up=0.0, reloads=0.5, batch=500, offline=True),
}


@dataclass
class Bot:
    """One simulated annotator and its results.

    ``saved`` has the annotation and ID of every acknowledged operation in order; ``submitted`` the
    submitted annotations. ``seconds`` has the act and duration of each request. ``conflicts`` counts saves
    by another tab, ``lost`` the items that went to others. With a ``session`` key it is logged in already.
    """

    name: str
    password: str
    kind: str
    rng: random.Random
    session: str = ""
    saved: list[tuple[int, str]] = field(default_factory=list)
    submitted: list[int] = field(default_factory=list)
    released: int = 0
    conflicts: int = 0
    repeated: int = 0
    lost: int = 0
    error: str = ""
    seconds: list[tuple[str, float]] = field(default_factory=list)

    @property
    def behaviour(self) -> Behaviour:
        """Return its behaviour."""
        return BEHAVIOURS[self.kind]


def make_bots(people: Sequence[tuple[str, str]], mix: Mapping[str, float], *, seed: int) -> list[Bot]:
    """Return a bot for each name and password, each with its own generator.

    Args:
        people: Names and passwords.
        mix: The share of each behaviour.
        seed: The seed of all generators.
    """
    kinds = behaviour_mix.draw_behaviours(len(people), mix, seed=seed)
    return [
        Bot(name, password, kind, random.Random(f"{seed}/{number}"))
        for number, ((name, password), kind) in enumerate(zip(people, kinds, strict=True))
    ]
