"""Noun phrases for things: what `find` and `filter` are asked for, in the words of the sentence."""

from __future__ import annotations

import random
from dataclasses import dataclass

from modelserver.world.calls import Call, call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.things import BOX, COLOURS, FLAG, PATTERNS, SHAPES, SIZES, Thing

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FLAG_WORDS, INSIDE_WORDS = "flag", "shapes inside"


def plural(noun: str) -> str:
    return noun + ("es" if noun.endswith(("s", "x")) else "s")


KINDS: dict[str, frozenset[str]] = {
    "shape": frozenset(SHAPES),
    **{kind: frozenset({kind}) for kind in SHAPES},
}
KINDS |= {BOX: frozenset({BOX}), FLAG: frozenset({FLAG})}
KINDS |= {plural(noun): kinds for noun, kinds in KINDS.items()}


def matches(word: str, thing: Thing) -> bool:
    """Whether an adjective or a noun, singular or plural, holds for a thing."""
    if word in KINDS:
        return thing.kind in KINDS[word]
    return word in (thing.size, thing.pattern, thing.colour)


@dataclass(frozen=True)
class Noun:
    """A noun with its adjectives, in the order in which they are said: size, pattern, colour."""

    noun: str
    adjectives: tuple[str, ...] = ()

    def find(self, n: int = 2) -> Call:
        """The program that finds these things; ``n`` decides between singular and plural."""
        return self.filtered(call("find", argument=self.noun if n == 1 else plural(self.noun)))

    def filtered(self, found: Call) -> Call:
        for adjective in reversed(self.adjectives):
            found = call("filter", found, argument=adjective)
        return found

    def say(self, n: int = 2) -> str:
        """``red stars``, or ``red star`` for one."""
        return " ".join((*self.adjectives, self.noun if n == 1 else plural(self.noun)))

    def a(self) -> str:
        """``a red star``, ``an orange star``."""
        words = self.say(1)
        return f"an {words}" if words[0] in "aeiou" else f"a {words}"

    def number(self, n: int) -> str:
        """``one red star``, ``two red stars``, ``no red stars``."""
        return f"{NUMBERS[n]} {self.say(n)}"

    def among(self, pair: Pair) -> list[Thing]:
        return [t for t in pair if all(matches(word, t) for word in (*self.adjectives, self.noun))]


def describe(rng: random.Random, thing: Thing) -> Noun:
    """Describe a thing by its noun, or as a shape, and by some of what can be seen of it."""
    if not thing.is_shape:
        return Noun(thing.kind, (thing.colour,) if rng.random() < 0.6 else ())
    known = [thing.size, thing.pattern, thing.colour]
    if thing.pattern == PATTERNS[0] and rng.random() < 0.7:
        known.remove(thing.pattern)
    general = rng.random() < 0.2
    chosen = rng.sample(known, max(rng.choice((0, 1, 1, 1, 2)), int(general)))
    noun = "shape" if general else thing.kind
    return Noun(noun, tuple(word for word in known if word in chosen))


def adjective(rng: random.Random, things: list[Thing]) -> str:
    """Return a word for a colour, a pattern or a size, most often one that some of the things have."""
    known = [word for t in things for word in (t.colour, t.colour, t.pattern, t.size) if word]
    anything = (*COLOURS, *PATTERNS, *SIZES)
    return rng.choice(known) if known and rng.random() < 0.9 else rng.choice(anything)
