"""The kinds of simulated annotators, and what became of each."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from foundation import behaviour_mix


class Behaviour(NamedTuple):
    """How a kind of bot annotates. All but ``batch`` are probabilities or shares.

    ``misses``: that it overlooks an object of the gold. ``wrong``: that it takes another object, or draws one
    that is not there, per object of the gold. ``jitter``: standard deviation of an edge as a share of the
    box's side, and the probability that an end of a span is a token off. ``gives_up``: that it gives an item
    back. ``reloads``: that it opens the item again before handing it in, and looks whether all is there.
    ``batch``: operations in a request. ``thinks``: it pauses. ``goes_on``: it asks for the next item as it
    hands one in, and does not leave the editor. ``offline``: it sends nothing until it is
    through with the item, at times twice, and at times another tab has saved meanwhile.
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


# Assumptions, not findings: plausible people, and the ways of working that the server has to stand.
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
    """One simulated annotator and what became of it.

    ``saved`` has the work and id of every operation that the site said it had stored, in that order;
    ``submitted`` the works handed in. ``seconds`` has the act and duration of each request. ``conflicts``
    counts how often another tab had been first, ``lost`` the items whose place went to somebody else. With
    the key of a ``session`` it is logged in already.
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
        return BEHAVIOURS[self.kind]


def make_bots(people: Sequence[tuple[str, str]], mix: Mapping[str, float], *, seed: int) -> list[Bot]:
    """A bot for each name and password, in the shares of ``mix``, each with its own generator."""
    kinds = behaviour_mix.draw_behaviours(len(people), mix, seed=seed)
    return [
        Bot(name, password, kind, random.Random(f"{seed}/{number}"))
        for number, ((name, password), kind) in enumerate(zip(people, kinds, strict=True))
    ]
