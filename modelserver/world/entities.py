"""The related people, films, novels, bands and towns of one small world."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from modelserver.world.names import Names, split_words

Kind = Literal["person", "film", "novel", "band", "town"]

MONTHS = split_words("January February March April May June July August September October November December")
ROLES = {
    "director": ("film director", "film director and screenwriter", "director"),
    "actor": ("actor", "stage and film actor", "film and television actor"),
    "composer": ("composer", "composer and conductor", "composer of film music"),
    "writer": ("novelist", "writer", "novelist and playwright"),
    "singer": ("singer", "singer and songwriter", "singer"),
    "drummer": ("drummer", "musician", "drummer and record producer"),
    "guitarist": ("guitarist", "musician", "guitarist and songwriter"),
}
FILM_GENRES = split_words(
    "adventure comedy crime fantasy horror musical mystery romance spy thriller war western"
)
BAND_GENRES = split_words("blues country disco folk funk jazz metal punk reggae rock soul synthpop")
NOVEL_GENRES = split_words(
    """adventure novel, crime novel, fantasy novel, ghost story, historical novel, mystery novel,
    satirical novel, science fiction novel, spy novel, young adult novel""",
    ",",
)
PRODUCTS = split_words(
    """bells, cheese, cider, clocks, fishing nets, glassware, hats, honey, lace, leather, mustard, paper,
    pears, pottery, salt, silk, smoked fish, tiles, umbrellas, violins, walnuts, wool""",
    ",",
)
SUBJECTS = split_words(
    "architecture botany chemistry history law mathematics medicine music philosophy theology"
)
NUMBERS = split_words("two three four five six seven eight nine")
SHE = {"she": "she", "her": "her", "partner": "wife"}
HE = {"she": "he", "her": "his", "partner": "husband"}


@dataclass(eq=False)
class Entity:
    """One thing with an article of its own.

    ``words`` fill the slots of sentences and questions, ``values`` hold what is compared by size,
    and ``links`` lead to the other entities that the article mentions.
    """

    kind: Kind
    title: str
    words: dict[str, str]
    values: dict[str, int] = field(default_factory=dict)
    links: dict[str, Entity] = field(default_factory=dict)

    def link(self, relation: str, other: Entity) -> None:
        """Relate another entity to this one, and name it by its title."""
        self.links[relation] = other
        self.words[relation] = other.title


@dataclass(frozen=True)
class Country:
    """A country: mentioned in articles, without an article of its own."""

    name: str
    adjective: str
    regions: tuple[str, str]

    @property
    def words(self) -> dict[str, str]:
        """Return the words that sentences about the country use."""
        return {"adjective": self.adjective, "an": "an" if self.adjective[0] in "AEIOU" else "a"}


class World:
    """A few dozen entities made for one question.

    ``entities`` are all that have an article.
    """

    def __init__(self, rng: random.Random, names: Names) -> None:
        self.rng = rng
        self.names = names
        self.countries = [
            Country(*names.country(), regions=(names.region(), names.region())) for _ in range(3)
        ]
        self.towns = [self._town() for _ in range(6)]
        self.people: list[Entity] = []
        self.novels = [self._novel() for _ in range(3)]
        self.films: list[Entity] = []
        self.bands: list[Entity] = []
        for _ in range(4):
            self.films.append(self._film())
            self.bands.append(self._band())
        self._marry()
        self._mention()

    @property
    def entities(self) -> list[Entity]:
        """Return everything with an article."""
        return self.people + self.films + self.novels + self.bands + self.towns

    def _town(self) -> Entity:
        rng, country = self.rng, self.rng.choice(self.countries)
        population, founded = rng.randint(900, 400_000), rng.randint(980, 1890)
        words = {
            "title": self.names.town(),
            "country": country.name,
            **country.words,
            "region": rng.choice(country.regions),
            "river": self.names.river(),
            "population": f"{population:,}",
            "founded": str(founded),
            "mayor": self._full_name(female=rng.random() < 0.5),
            "census": str(rng.choice((2001, 2006, 2011, 2016))),
        }
        words["product"], words["side_product"] = rng.sample(PRODUCTS, 2)
        return Entity("town", words["title"], words, {"population": population, "founded": -founded})

    def _full_name(self, *, female: bool) -> str:
        return f"{self.names.given_name(female=female)} {self.names.surname()}"

    def _person(self, role: str, born: int) -> Entity:
        rng, country = self.rng, self.rng.choice(self.countries)
        female = rng.random() < 0.5
        surname = self.names.surname()
        if self.people and rng.random() < 0.25:  # relatives and namesakes make names worth reading in full
            surname = rng.choice(self.people).words["surname"]
        day, month = rng.randint(1, 28), rng.randrange(12)
        given = self.names.given_name(female=female)
        occupation = rng.choice(ROLES[role])
        words = {
            "title": f"{given} {surname}",
            "surname": surname,
            **country.words,
            "country": country.name,
            "occupation": occupation.replace("actor", "actress") if female else occupation,
            "role": "actress" if female and role == "actor" else role,
            "born": f"{day} {MONTHS[month]} {born}",
            **(SHE if female else HE),
            "university": f"University of {self.names.town()}",
            "school": f"University of {self.names.town()}",
            "subject": rng.choice(SUBJECTS),
            "award": f"{self.names.company()} Prize",
            "award_year": str(born + rng.randint(24, 60)),
            "siblings": rng.choice(NUMBERS),
        }
        words["She"], words["Her"] = words["she"].capitalize(), words["her"].capitalize()
        person = Entity("person", words["title"], words, {"born": -(born * 372 + month * 31 + day)})
        birthplace, residence = rng.sample(self.towns, 2)
        person.link("birthplace", birthplace)
        person.words["residence"] = residence.title
        self.people.append(person)
        return person

    def _colleague(self, role: str, born: int) -> Entity:
        """Return a person of the role, at times one that the world has already."""
        roles = {role, "actress" if role == "actor" else role}
        suitable = [p for p in self.people if p.words["role"] in roles]
        return self.rng.choice(suitable) if suitable and self.rng.random() < 0.3 else self._person(role, born)

    def _novel(self) -> Entity:
        rng, year = self.rng, self.rng.randint(1925, 2005)
        words = {
            "title": self.names.work(),
            "year": str(year),
            "genre": rng.choice(NOVEL_GENRES),
            "publisher": f"{self.names.company()} Press",
            "setting": rng.choice(self.towns).title,
            "pages": str(rng.randint(120, 690)),
            "hero": self._full_name(female=rng.random() < 0.5),
            "languages": rng.choice(NUMBERS),
        }
        novel = Entity("novel", words["title"], words, {"year": -year, "pages": int(words["pages"])})
        author = self._colleague("writer", year - rng.randint(24, 55))
        novel.link("author", author)
        novel.words["adjective"] = author.words["adjective"]
        if "novel" not in author.links:
            author.link("novel", novel)
        return novel

    def _film(self) -> Entity:
        rng, year, country = self.rng, self.rng.randint(1955, 2019), self.rng.choice(self.countries)
        near = self.films[0].title if self.films and rng.random() < 0.3 else None
        words = {
            "title": self.names.work(near),
            "year": str(year),
            **country.words,
            "genre": rng.choice(FILM_GENRES),
            "minutes": str(rng.randint(78, 188)),
            "studio": f"{self.names.company()} Pictures",
            "character": self._full_name(female=rng.random() < 0.5),
            "premiere": f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {year}",
            "festival": rng.choice(self.towns).title,
        }
        film = Entity("film", words["title"], words, {"year": -year, "minutes": int(words["minutes"])})
        for relation, role in (("director", "director"), ("star", "actor"), ("composer", "composer")):
            person = self._colleague(role, year - rng.randint(26, 55))
            film.link(relation, person)
            if "film" not in person.links:
                person.link("film", film)
        film.link("location", rng.choice(self.towns))
        earlier = [n for n in self.novels if -n.values["year"] < year and "film" not in n.links]
        if earlier and rng.random() < 0.7:
            film.link("novel", rng.choice(earlier))
            film.links["novel"].link("film", film)
        return film

    def _band(self) -> Entity:
        rng, year, country = self.rng, self.rng.randint(1958, 2014), self.rng.choice(self.countries)
        size = rng.randint(3, 8)
        words = {
            "title": self.names.band(),
            "year": str(year),
            **country.words,
            "genre": rng.choice(BAND_GENRES),
            "label": f"{self.names.company()} Records",
            "album": self.names.work(),
            "album_year": str(year + rng.randint(1, 6)),
            "second_album": self.names.work(),
            "size": NUMBERS[size - 2],
            "split_year": str(year + rng.randint(7, 25)),
            "old_drummer": self._full_name(female=False),
        }
        band = Entity("band", words["title"], words, {"year": -year, "size": size})
        band.link("town", rng.choice(self.towns))
        for role in ("singer", "drummer", "guitarist"):
            member = self._person(role, year - rng.randint(18, 34))
            band.link(role, member)
            member.link("band", band)
        return band

    def _marry(self) -> None:
        """Pair off some people born within fifteen years of one another."""
        single = self.people[:]
        self.rng.shuffle(single)
        while len(single) > 6:
            person = single.pop()
            near = [p for p in single if abs(p.values["born"] - person.values["born"]) < 15 * 372]
            if near and near[0].words["she"] != person.words["she"]:
                single.remove(near[0])
                _wed(person, near[0])
                _wed(near[0], person)

    def _mention(self) -> None:
        """Mention people and towns in passing as distractors.

        A question is not about them, though they look as if it were.
        """
        for film in self.films:
            self._name(film, "first_director", self.people, unlike="director")
            self._name(film, "first_star", self.people, unlike="star")
            self._name(film, "second_location", self.towns, unlike="location")
        for band in self.bands:
            self._name(band, "admirer", self.people, unlike="singer")
            self._name(band, "tour_town", self.towns, unlike="town")
        for novel in self.novels:
            self._name(novel, "translator", self.people, unlike="author")
        for person in self.people:
            older = [p for p in self.people if p.values["born"] > person.values["born"] + 10 * 372]
            self._name(person, "teacher", older, unlike="spouse")

    def _name(self, entity: Entity, word: str, among: list[Entity], *, unlike: str) -> None:
        """Mention an entity in passing, if a suitable one exists.

        It is neither the entity itself nor in the other relation to it.
        """
        excluded = {entity.title, entity.words.get(unlike)}
        others = [other for other in among if other.title not in excluded]
        if others:
            entity.words[word] = self.rng.choice(others).title


def _wed(person: Entity, spouse: Entity) -> None:
    person.link("spouse", spouse)
    person.words["spouse_role"], person.words["spouse_noun"] = spouse.words["role"], spouse.words["partner"]
