"""Noun phrases for things: the arguments of `find` and `filter`."""

from __future__ import annotations

import random
from dataclasses import dataclass

from modelserver.world.calls import Call, call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.things import BOX, COLOURS, FLAG, PATTERNS, SHAPES, SIZES, Thing

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FLAG_WORDS, INSIDE_WORDS = "flag", "shapes inside"


def pluralise(noun: str) -> str:
    """Return the plural of a noun."""
    return noun + ("es" if noun.endswith(("s", "x")) else "s")


KINDS = {kind: frozenset({kind}) for kind in (*SHAPES, BOX, FLAG)} | {"shape": frozenset(SHAPES)}
KINDS |= {pluralise(noun): kinds for noun, kinds in KINDS.items()}


def can_describe(word: str, thing: Thing) -> bool:
    """Return True if an adjective or noun, in either number, fits a thing."""
    return thing.kind in KINDS[word] if word in KINDS else thing.looks(word)


@dataclass(frozen=True)
class Noun:
    """A noun with its adjectives, in their order: size, pattern, colour."""

    noun: str
    adjectives: tuple[str, ...] = ()

    def find(self, n: int = 2) -> Call:
        """Return the program that finds these things.

        ``n`` decides between singular and plural.
        """
        return self.add_filters(call("find", argument=self.noun if n == 1 else pluralise(self.noun)))

    def add_filters(self, node: Call) -> Call:
        """Return a filter of the node for each adjective."""
        for adjective in reversed(self.adjectives):
            node = call("filter", node, argument=adjective)
        return node

    def say(self, n: int = 2) -> str:
        """Return ``red stars``, or ``red star`` for one."""
        return " ".join((*self.adjectives, self.noun if n == 1 else pluralise(self.noun)))

    def a(self) -> str:
        """Return ``a red star``, ``an orange star``."""
        words = self.say(1)
        return f"an {words}" if words[0] in "aeiou" else f"a {words}"

    def number(self, n: int) -> str:
        """Return ``one red star``, ``two red stars``, ``no red stars``."""
        return f"{NUMBERS[n]} {self.say(n)}"

    def select_fitting(self, pair: Pair) -> list[Thing]:
        """Return the things that the noun fits."""
        return [t for t in pair if all(can_describe(word, t) for word in (*self.adjectives, self.noun))]


def describe(rng: random.Random, thing: Thing) -> Noun:
    """Describe a thing by its noun, or as a shape, and some attributes."""
    if not thing.is_shape:
        return Noun(thing.kind, (thing.colour,) if rng.random() < 0.6 else ())
    attributes = [thing.size, thing.pattern, thing.colour]
    if thing.pattern == PATTERNS[0] and rng.random() < 0.7:
        attributes.remove(thing.pattern)
    general = rng.random() < 0.2
    chosen = rng.sample(attributes, max(rng.choice((0, 1, 1, 1, 2)), int(general)))
    noun = "shape" if general else thing.kind
    return Noun(noun, tuple(word for word in attributes if word in chosen))


def draw_adjective(rng: random.Random, things: list[Thing]) -> str:
    """Return a colour, pattern or size, usually one that a thing has."""
    attributes = [word for t in things for word in (t.colour, t.colour, t.pattern, t.size) if word]
    anything = (*COLOURS, *PATTERNS, *SIZES)
    return rng.choice(attributes) if attributes and rng.random() < 0.9 else rng.choice(anything)
