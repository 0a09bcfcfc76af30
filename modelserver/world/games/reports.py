"""Fictional games and their reports: scores, team totals and dates."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date

from modelserver.world.entities import MONTHS
from modelserver.world.games.prose import Prose, Span, choose_article
from modelserver.world.names import Names, Split, split_of, split_words

LATER_OPENINGS = (
    "Then ",
    "After that, ",
    "Later ",
)  # begin the second sentence of a quarter, and those after it
QUARTERS = ("first", "second", "third", "fourth")
NICKNAMES = split_words(
    "Badgers Comets Falcons Foxes Gulls Herons Lynxes Mariners Moose Otters Pilots Rams Ravens Sailors Wolves"
)
FIELD_GOAL, RUN, PASS = "field goal", "touchdown run", "touchdown pass"
POINTS = {FIELD_GOAL: 3, RUN: 7, PASS: 7}
YARDS = {FIELD_GOAL: (19, 57), RUN: (1, 60), PASS: (3, 78)}

# Names in other scripts, and letters with marks of their own, so that no two kinds of offsets agree.
SCRIPTS = {
    "Cyrillic": (split_words("Вар Гор Дем Жан Кол Мир Рад Сев"), split_words("ан ев ина ко лен ов ский")),
    "Greek": (split_words("Αρ Θε Καλ Λυ Μαρ Νικ Πετ Σταυ"), split_words("άκης έας ίδης ίνα ος ούλα")),
    "Devanagari": (split_words("रा मि नी सू के वि शा जो"), split_words("लेन्द्र मिता राज रेश वानी शील")),
    "Hangul": (split_words("강 김 노 박 서 윤 임 한"), split_words("도윤 민서 서준 예린 지우 하람")),
    "Arabic": (split_words("سا مر نو لي ها دي فر"), split_words("دان رين سيم ليل مار وان")),
}
ACUTE = "\u0301"
CHEERS = (
    "“What a night! 🏈🎉” read the message of one supporter, 👩‍👩‍👧‍👦 and all. ",
    "Drums 🥁, flags 🏴‍☠️ and hands in the air 🙌🏽 greeted both teams. ",
    "“See you there 👋🏾,” the club had written, and 🇳🇴 and 🇧🇷 were seen in the stands. ",
)

SCORED = {
    FIELD_GOAL: (
        "{who} of the {team} kicked {a} <event>{yards}-yard field goal</event>.",
        "{who} put the {team} on the board with a <event>field goal from {yards} yards</event>.",
        "the {team} took three points when {who} made {a} <event>{yards}-yard field goal</event>.",
        "kicker {who} added a <event>field goal of {yards} yards</event> for the {team}.",
    ),
    RUN: (
        "{who} of the {team} broke free on {a} <event>{yards}-yard touchdown run</event>.",
        "the {team} scored when {who} finished {a} <event>{yards}-yard touchdown run</event>.",
        "{who} carried the ball in for the {team} on a <event>touchdown run of {yards} yards</event>.",
    ),
    PASS: (
        "{who} found {receiver} with {a} <event>{yards}-yard touchdown pass</event> for the {team}.",
        "the {team} scored as {who} threw {a} <event>{yards}-yard touchdown pass</event> to {receiver}.",
        "{who} of the {team} completed a <event>touchdown pass of {yards} yards</event> to {receiver}.",
    ),
}
DATED = {
    "opening of {stadium}": (
        "<event>{stadium} opened on {date}</event>.",
        "<event>The gates of {stadium} opened on {date}</event>.",
    ),
    "founding of the {home}": (
        "<event>The {home} were founded on {date}</event>.",
        "<event>The {home} came into being on {date}</event>.",
    ),
    "first meeting of the two teams": (
        "<event>The two teams first met on {date}</event>.",
        "<event>Their first meeting took place on {date}</event>.",
    ),
    "signing of {coach}": (
        "<event>{coach} signed as the first head coach of the {away} on {date}</event>.",
        "<event>The {away} signed {coach} as their first head coach on {date}</event>.",
    ),
}
TOTALS = {
    "yards": (("gain", "yards"), "<event1>The {home} gained {n1} yards</event1>, "
              "while <event2>the {away} gained {n2} yards</event2>. ", (180, 480)),
    "first downs": (("make", "first downs"), "<event1>The {home} made {n1} first downs</event1>, "
                    "while <event2>the {away} made {n2} first downs</event2>. ", (9, 31)),
    "supporters": (("bring", "supporters"), "<event1>The {home} brought {n1} supporters</event1>, "
                   "and <event2>the {away} brought {n2} supporters</event2>. ", (1200, 48000)),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Score:
    """One scoring play.

    ``spans`` tells where event, yards, who and receiver stand in the report.
    """

    kind: str
    team: str
    quarter: str
    yards: int
    who: str
    receiver: str
    spans: dict[str, Span]


@dataclass(frozen=True, eq=False)
class Dated:
    """An event on a day, with the spans of the event and its date."""

    words: str
    day: date
    event: Span
    date: Span


@dataclass(frozen=True, eq=False)
class Total:
    """A team's total in a game, such as gaining 312 yards."""

    kind: str
    team: str
    number: int
    event: Span
    span: Span


@dataclass(frozen=True)
class Report:
    """A game as reported: all that questions are about, with its spans."""

    text: str
    teams: tuple[str, str]
    stadium: Span
    scores: tuple[Score, ...]
    dated: tuple[Dated, ...]
    totals: tuple[Total, ...]
    names: tuple[str, ...]


class Cast:
    """The names of one game, all of one split."""

    def __init__(self, rng: random.Random, split: Split) -> None:
        self.rng, self.split, self.names = rng, split, Names(rng, split)
        self.script = rng.choice(tuple(SCRIPTS)) if rng.random() < 0.5 else None
        self.all: list[str] = []
        self._mentioned: set[str] = set()

    def town(self) -> str:
        """Return a new town."""
        return self._remember(self._add_accent(self.names.town()))

    def stadium(self) -> str:
        """Return a new stadium."""
        kind = self.rng.choice(("Arena", "Field", "Park", "Stadium"))
        return self._remember(f"{self._add_accent(self.names.town())} {kind}")

    def person(self) -> str:
        """Return a new player's name."""
        if self.script and self.rng.random() < 0.4:
            return self._remember(self._draw_foreign_name(*SCRIPTS[self.script]))
        given = self.names.given_name(female=self.rng.random() < 0.5)
        return self._remember(f"{given} {self._add_accent(self.names.surname())}")

    def _draw_foreign_name(self, begins: list[str], ends: list[str]) -> str:
        while True:  # as for other names: a digest gives each to one split
            first, second = (self.rng.choice(begins) + self.rng.choice(ends) for _ in range(2))
            name = f"{first} {second}"
            if first != second and split_of(name) == self.split and name not in self.all:
                return name

    def _add_accent(self, name: str) -> str:
        """Put an accent on a vowel now and then, as a code point of its own."""
        vowels = [at for at, letter in enumerate(name) if letter in "aeiou"]
        if not vowels or self.rng.random() > 0.2:
            return name
        at = self.rng.choice(vowels) + 1
        return name[:at] + ACUTE + name[at:]

    def name_of(self, name: str) -> str:
        """Return a player's name: in full first, later often the last word."""
        last = name.split()[-1]
        alone = sum(last in other.split() for other in self.all) == 1
        again = name in self._mentioned
        self._mentioned.add(name)
        return last if again and alone and self.rng.random() < 0.7 else name

    def _remember(self, name: str) -> str:
        self.all.append(name)
        return name


def tell(rng: random.Random, split: Split) -> Report:
    """Play a game and write the report on it."""
    cast, prose = Cast(rng, split), Prose()
    home, away = rng.sample(NICKNAMES, 2)
    words = {"home": home, "away": away, "stadium": cast.stadium(), "coach": cast.person()}
    words |= {"home_town": cast.town(), "away_town": cast.town()}
    if rng.random() < 0.6:
        prose.write(rng.choice(CHEERS))
    stadium = _open(prose, rng, words)
    later = rng.random() < 0.5
    dated = () if later else _write_history(prose, rng, words)
    scores = _write_scores(prose, rng, cast, (home, away))
    totals = _write_totals(prose, rng, words)
    if later:
        dated = _write_history(prose, rng, words)
    text = prose.text.rstrip()
    return Report(text, (home, away), stadium, scores, dated, totals, tuple(cast.all))


def _open(prose: Prose, rng: random.Random, words: dict[str, str]) -> Span:
    day = _format_date(rng, date(rng.randint(2005, 2024), rng.randint(9, 12), rng.randint(1, 28)))
    opening = rng.choice(
        (
            "On {day} the {home_town} {home} met the {away_town} {away} at {stadium}. ",
            "The {home_town} {home} hosted the {away_town} {away} at {stadium} on {day}. ",
            "{stadium} saw the {home} from {home_town} play the {away_town} {away} on {day}. ",
        )
    )
    return prose.write(opening, day=day, **words)["stadium"]


def _format_date(rng: random.Random, day: date) -> str:
    month = MONTHS[day.month - 1]
    return rng.choice((f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"))


def _write_history(prose: Prose, rng: random.Random, words: dict[str, str]) -> tuple[Dated, ...]:
    """Report three events of different years; a club's founding comes first."""
    kinds = sorted(rng.sample(list(DATED), 3), key=lambda kind: not kind.startswith("founding"))
    earliest, *others = sorted(rng.sample(range(1921, 2004), len(kinds)))
    years = dict(zip(kinds, (earliest, *rng.sample(others, len(others))), strict=True))
    rng.shuffle(kinds)
    events = []
    for what in kinds:
        wordings, year = DATED[what], years[what]
        day = date(year, rng.randint(1, 12), rng.randint(1, 28))
        spans = prose.write(rng.choice(wordings) + " ", date=_format_date(rng, day), **words)
        events.append(Dated(what.format(**words), day, spans["event"], spans["date"]))
    return tuple(events)


def _write_scores(prose: Prose, rng: random.Random, cast: Cast, teams: tuple[str, str]) -> tuple[Score, ...]:
    """Report the scoring plays in order, no two with the same yards."""
    squads = {team: [cast.person() for _ in range(4)] for team in teams}
    scores: list[Score] = []
    for quarter in QUARTERS:
        plays = rng.choice((0, 1, 1, 2, 2, 3)) if len(scores) > 1 else rng.randint(1, 3)
        if not plays:
            prose.write(f"Nobody scored in the {quarter} quarter. ")
        for play in range(plays):
            lead = rng.choice(LATER_OPENINGS) if play else f"In the {quarter} quarter, "
            scores.append(_write_score(prose, cast, lead, quarter, squads, {score.yards for score in scores}))
    points = {team: sum(POINTS[s.kind] for s in scores if s.team == team) for team in teams}
    first, second = sorted(teams, key=lambda team: -points[team])
    if points[first] == points[second]:
        prose.write(f"The game ended {points[first]} all. ")
    else:
        prose.write(f"The {first} won {points[first]}–{points[second]}. ")
    return tuple(scores)


def _write_score(
    prose: Prose, cast: Cast, lead: str, quarter: str, squads: dict[str, list[str]], used: set[int]
) -> Score:
    rng = cast.rng
    kind, team = rng.choice((FIELD_GOAL, FIELD_GOAL, RUN, PASS)), rng.choice(list(squads))
    low, high = YARDS[kind]
    yards = rng.choice([n for n in range(low, high + 1) if n not in used])  # so that one is the longest
    kicker, thrower, *others = squads[team]
    rng.shuffle(others)
    who = {FIELD_GOAL: kicker, PASS: thrower}.get(kind, others[0])
    receiver = others[1]
    words = {"who": cast.name_of(who), "receiver": cast.name_of(receiver) if kind == PASS else ""}
    wording = lead + rng.choice(SCORED[kind]) + " "
    spans = prose.write(wording, team=team, yards=yards, a=choose_article(yards), **words)
    return Score(kind, team, quarter, yards, who, receiver, spans)


def _write_totals(prose: Prose, rng: random.Random, words: dict[str, str]) -> tuple[Total, ...]:
    totals: list[Total] = []
    for kind in rng.sample(list(TOTALS), 2):
        _, wording, (low, high) = TOTALS[kind]
        numbers = rng.sample(range(low, high), 2)
        slots = {f"n{i}": f"{n:,}" for i, n in enumerate(numbers, start=1)}
        spans = prose.write(wording, **words, **slots)
        for i, team in enumerate((words["home"], words["away"]), start=1):
            totals.append(Total(kind, team, numbers[i - 1], spans[f"event{i}"], spans[f"n{i}"]))
    return tuple(totals)
