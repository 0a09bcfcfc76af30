"""Invented names, each belonging to exactly one split.

People, towns, countries and rivers are built from syllables; films, novels, bands and albums from
words. A digest of the name decides its split, so that no name of one split can turn up in another,
however many examples are drawn, in whatever order, by whichever process.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Literal

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


def split_words(text: str, separator: str | None = None) -> list[str]:
    """Return the words of a list that is written as one text."""
    return [word.strip() for word in text.split(separator)]


_ONSETS = split_words("b br c d dr f fl g gr h j k l m n p pr r s st t th tr v w")
_VOWELS = split_words("a a a e e e i i i o o o u u ae ia ea")  # the plain ones more often
_PLAIN = split_words("a e i o u")
_CODAS = split_words("l l n n r r s m d k lt nd rn rk th v")
_SHE = split_words("a ena ia elle ine isa ora una eth ild")
_HE = split_words("o an en ic or us ald ek im in")
_SURNAMES = split_words("ar ane ard ell en er esk ett ick ik il in old om ona ov ow und urn yx")
_TOWNS = split_words("born brook dale feld firth ford ham haven holm mere mouth ness ster vik wick")
_RIVERS = split_words("el en er is or une ay ow")

_ADJECTIVES = split_words(
    """
    Amber Bitter Borrowed Broken Copper Crimson Crooked Distant Drifting Empty Fallen Final First Forgotten
    Frozen Gentle Gilded Glass Golden Hidden Hollow Iron Last Little Lonely Lost Midnight Narrow Northern
    Painted Paper Patient Quiet Restless Rusted Sacred Salt Scarlet Second Secret Shallow Silent Silver
    Sleeping Southern Stolen Stone Summer Sunken Tender Twin Velvet Wandering White Wild Winter Wooden
    """
)
_NOUNS = split_words(
    """
    Anchor Archive Avenue Bell Bridge Candle Canyon Caravan Carousel Cathedral Chapel Circus Compass Corridor
    Dancer Diary Engine Falcon Ferry Garden Harbour Harvest Heron Horizon Island Kingdom Ladder Lantern Letter
    Library Lighthouse Machine Map Meadow Mirror Mountain Oak Ocean Orchard Palace Passenger Pilgrim Portrait
    Promise River Road Sailor Season Shepherd Shore Signal Sparrow Stair Station Stranger Tailor Tide Tower
    Valley Violin Voyage Watchman Window Witness
    """
)
_PLURALS = split_words(
    """
    Anchors Arrows Astronomers Bakers Beacons Bellringers Butchers Candles Captains Clerks Comets Cousins
    Dancers Drifters Engines Falcons Foxes Gardeners Ghosts Herons Janitors Kites Lanterns Magpies Mariners
    Mechanics Moths Orphans Pilgrims Pilots Poets Ravens Sailors Satellites Shadows Signals Sparrows Strangers
    Tailors Tigers Travellers Umbrellas Violets Wolves
    """
)


def split_of(name: str) -> Split:
    """Return the split of a name: 8 of 10 names train, 1 dev, 1 test."""
    digit = hashlib.sha256(name.casefold().encode()).digest()[0] % 10
    return "train" if digit < 8 else "dev" if digit == 8 else "test"


class Names:
    """Draws names of one split for one small world, never the same name twice."""

    def __init__(self, rng: random.Random, split: Split) -> None:
        self.rng = rng
        self.split = split
        self._used: set[str] = set()

    def surname(self) -> str:
        """Return a new surname."""
        return self._draw_unused(lambda: (self._stem(1) + self._pick(_SURNAMES)).capitalize())

    def given_name(self, *, female: bool) -> str:
        """Return a given name."""
        # Given names may recur across splits: the surname alone keeps people apart.
        return (self._stem(1) + self._pick(_SHE if female else _HE)).capitalize()

    def country(self) -> tuple[str, str]:
        """Return a country and its adjective, as in Valdoria, Valdorian."""
        name = self._draw_unused(lambda: (self._stem(2) + "ia").capitalize())
        return name, name + "n"

    def region(self) -> str:
        """Return a new region."""
        return self._draw_unused(lambda: (self._stem(2) + self._pick(["land", "mark", "shire"])).capitalize())

    def town(self) -> str:
        """Return a new town."""
        return self._draw_unused(lambda: (self._stem(1) + self._pick(_TOWNS)).capitalize())

    def river(self) -> str:
        """Return a new river."""
        return self._draw_unused(lambda: (self._stem(1) + self._pick(_RIVERS)).capitalize())

    def work(self, near: str | None = None) -> str:
        """Return the title of a film, a novel or an album.

        It shares a word with ``near`` if given.
        """
        return self._draw_unused(lambda: self._work(near))

    def band(self) -> str:
        """Return a new band."""
        return self._draw_unused(self._band)

    def company(self) -> str:
        """Return a new company."""
        return self._draw_unused(lambda: f"{self._stem(1).capitalize()}{self._pick(_SURNAMES)}")

    def _work(self, near: str | None) -> str:
        adjective, noun = self._pick(_ADJECTIVES), self._pick(_NOUNS)
        # Not for ever: there may be no such title in this split.
        if near is not None and self.rng.random() < 0.5:
            return f"{adjective} {near.split()[-1]}"
        form = self.rng.randrange(4)
        if form == 0:
            return f"The {adjective} {noun}"
        if form == 1:
            return f"The {noun} of {self._stem(1).capitalize()}{self._pick(_RIVERS)}"
        if form == 2:
            article = "An" if noun[0] in "AEIOU" else "A"
            return f"{article} {noun} for {self.given_name(female=self.rng.random() < 0.5)}"
        return f"{adjective} {noun}"

    def _band(self) -> str:
        first = self._pick(_ADJECTIVES)
        if self.rng.random() < 0.5:
            first = (self._stem(1) + self._pick(_TOWNS)).capitalize()
        return f"The {first} {self._pick(_PLURALS)}"

    def _stem(self, syllables: int) -> str:
        # One closed syllable at least, so that a name never is a short everyday word.
        open_ones = "".join(self._pick(_ONSETS) + self._pick(_PLAIN) for _ in range(syllables - 1))
        return open_ones + self._pick(_ONSETS) + self._pick(_VOWELS) + self._pick(_CODAS)

    def _draw_unused(self, make: Callable[[], str]) -> str:
        while True:
            name = make()
            if name not in self._used and split_of(name) == self.split:
                self._used.add(name)
                return name

    def _pick(self, choices: list[str]) -> str:
        return self.rng.choice(choices)
