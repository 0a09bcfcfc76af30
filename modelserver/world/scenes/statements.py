"""Parts of claims: programs with wordings, quantities, and nouns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from modelserver.world.calls import Call, call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.meaning import Unclear, evaluate
from modelserver.world.scenes.nouns import NUMBERS, Noun, describe
from modelserver.world.scenes.things import FLAG

T = TypeVar("T")

SIDES = ("left", "right")
COMPARISONS = {
    "equal": "exactly",
    "greater-equal": "at least",
    "less-equal": "at most",
    "greater": "more than",
    "less": "fewer than",
}


class NoClaim(Exception):
    """A pair of images about which a kind of sentence has nothing to say."""


@dataclass(frozen=True)
class Claim:
    """A program with its wordings.

    The things that ``supposes`` finds must exist for the sentence to make sense.
    """

    program: Call
    wordings: tuple[str, ...]
    supposes: tuple[Call, ...] = ()

    def is_true_of(self, pair: Pair) -> bool:
        """Return True if the claim holds.

        Raises `Unclear` if two people could disagree.
        """
        if not all(evaluate(node, pair) for node in self.supposes):
            raise Unclear("speaks of what is not there")
        return bool(evaluate(self.program, pair))


def claim(program: Call, *wordings: str, supposes: Call | None = None) -> Claim:
    """Return a claim that supposes at most one node's things."""
    return Claim(program, wordings, () if supposes is None else (supposes,))


@dataclass(frozen=True)
class Quantity:
    """A comparison of a count with a number: ``at least two``."""

    comparison: str
    number: int

    def of(self, noun: Noun) -> str:
        """Return the quantity of a noun, such as "at least two circles"."""
        if self.comparison == "equal" and self.number == 0:
            return noun.number(0)
        return f"{COMPARISONS[self.comparison]} {noun.number(self.number)}"

    @property
    def words(self) -> str:
        """Return the quantity without a noun."""
        none = self.comparison == "equal" and self.number == 0
        return "none" if none else f"{COMPARISONS[self.comparison]} {NUMBERS[self.number]}"

    def compare_count(self, counted: Call) -> Call:
        """Return the program that compares the count with the quantity."""
        return call(self.comparison, call("count", counted), call(str(self.number)))

    @property
    def be(self) -> str:
        """Return "is" or "are"."""
        return "is" if self.number == 1 else "are"


def draw_quantity(rng: random.Random, n: int, *, least: int = 0) -> Quantity | None:
    """Return a comparison that holds for n, as sharp as possible.

    Its number is from ``least`` to 9.
    """
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


def require_quantity(rng: random.Random, n: int, *, least: int = 0) -> Quantity:
    """Return what `draw_quantity` does.

    Raises `NoClaim` if it returns None.
    """
    quantity = draw_quantity(rng, n, least=least)
    if quantity is None:
        raise NoClaim
    return quantity


def pick(rng: random.Random, choices: Sequence[T]) -> T:
    """Return one of the choices at random.

    Raises `NoClaim` if there are none.
    """
    if not choices:
        raise NoClaim
    return rng.choice(choices)


def draw_noun(rng: random.Random, pair: Pair, image: int | None = None) -> Noun:
    """Return a noun for a random thing, of one image or of both.

    Raises `NoClaim` if there is none.
    """
    return draw_nouns(rng, pair, image)[0]


def draw_nouns(rng: random.Random, pair: Pair, *images: int | None) -> list[Noun]:
    """Return a noun for a random thing of each image; None stands for both.

    Raises `NoClaim` if one of them holds nothing.
    """
    named = [t for t in pair if t.kind != FLAG]
    things = [[t for t in named if image in (None, t.image)] for image in images]
    nouns = [describe(rng, rng.choice(candidates)) for candidates in things if candidates]
    if len(nouns) < len(images):
        raise NoClaim
    return nouns


def draw_noun_pair(rng: random.Random, pair: Pair) -> tuple[Noun, Noun]:
    """Return two nouns for different kinds, in an order that "and" can join.

    Raises `NoClaim` if there is no such order.
    """
    first, second = draw_nouns(rng, pair, None, None)
    if first.noun == second.noun or "shape" in (first.noun, second.noun):
        raise NoClaim
    if first.adjectives and second.adjectives:
        raise NoClaim
    # "stars and red circles": in "red circles and stars" the stars could be meant to be red as well.
    return (second, first) if first.adjectives else (first, second)


def limit_to_image(side: str, node: Call) -> Call:
    """Return the node limited to an image, such as ``left``."""
    return call(f"in-{side}-image", node)


def count_in_image(noun: Noun, pair: Pair, side: str) -> int:
    """Return how many of the noun's things one image holds."""
    return sum(SIDES[thing.image] == side for thing in noun.select_fitting(pair))
