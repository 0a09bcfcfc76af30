"""What claims are made of: a program with its wordings, quantities, and nouns drawn from a pair."""

from __future__ import annotations

import random
from dataclasses import dataclass

from modelserver.world.calls import Call, call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.meaning import Unclear, evaluate
from modelserver.world.scenes.nouns import NUMBERS, Noun, describe
from modelserver.world.scenes.things import FLAG

SIDES = ("left", "right")
COMPARISONS = {
    "equal": "exactly",
    "greater-equal": "at least",
    "less-equal": "at most",
    "greater": "more than",
    "less": "fewer than",
}


@dataclass(frozen=True)
class Claim:
    """A program with its wordings.

    What ``supposes`` finds must be there for the sentence to make sense.
    """

    program: Call
    wordings: tuple[str, ...]
    supposes: tuple[Call, ...] = ()

    def true_of(self, pair: Pair) -> bool:
        """Say whether the claim holds; raises `Unclear` where two people could disagree."""
        if not all(evaluate(node, pair) for node in self.supposes):
            raise Unclear("speaks of what is not there")
        return bool(evaluate(self.program, pair))


@dataclass(frozen=True)
class Quantity:
    """A comparison of a count with a number: ``at least two``."""

    comparison: str
    number: int

    def of(self, noun: Noun) -> str:
        if self.comparison == "equal" and self.number == 0:
            return noun.number(0)
        return f"{COMPARISONS[self.comparison]} {noun.number(self.number)}"

    @property
    def words(self) -> str:
        none = self.comparison == "equal" and self.number == 0
        return "none" if none else f"{COMPARISONS[self.comparison]} {NUMBERS[self.number]}"

    def holds(self, counted: Call) -> Call:
        return call(self.comparison, call("count", counted), call(str(self.number)))

    @property
    def be(self) -> str:
        return "is" if self.number == 1 else "are"


def draw_quantity(rng: random.Random, n: int, *, least: int = 0) -> Quantity | None:
    """Return a comparison that holds for n, as sharp as may be, with a number from ``least`` to 9."""
    comparison = rng.choice(("equal", "equal", *COMPARISONS))
    slack = rng.choice((0, 0, 1))
    number = {
        "equal": n,
        "greater-equal": n - slack,
        "less-equal": n + slack,
        "greater": n - 1 - slack,
        "less": n + 1 + slack,
    }[comparison]
    fewest = {"equal": least, "less": 2}.get(comparison, 1)
    return Quantity(comparison, number) if fewest <= number <= 9 else None


def some_noun(rng: random.Random, pair: Pair, image: int | None = None) -> Noun | None:
    things = [t for t in pair if t.kind != FLAG and image in (None, t.image)]
    return describe(rng, rng.choice(things)) if things else None


def two_nouns(rng: random.Random, pair: Pair) -> tuple[Noun, Noun] | None:
    """Return two nouns for different kinds of things, in an order in which they can be joined by "and"."""
    one, other = some_noun(rng, pair), some_noun(rng, pair)
    if not one or not other or one.noun == other.noun or "shape" in (one.noun, other.noun):
        return None
    if one.adjectives and other.adjectives:
        return None
    # "stars and red circles": in "red circles and stars" the stars could be meant to be red as well.
    return (other, one) if one.adjectives else (one, other)


def in_image(side: str, node: Call) -> Call:
    return call(f"in-{side}-image", node)


def seen(noun: Noun, pair: Pair, side: str) -> int:
    """Return how many of the noun's things one image holds."""
    return sum(SIDES[thing.image] == side for thing in noun.among(pair))
