"""Questions over a world: needed entities, wording and answer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import Literal

from modelserver.world.articles import parse_sentences
from modelserver.world.entities import Entity, Kind, World

QuestionType = Literal["bridge", "comparison"]
Level = Literal["easy", "medium", "hard"]
Questions = Literal["all", "comparisons", "larger"]


@dataclass(frozen=True)
class Question:
    """A question, its answer, and the (entity, key) pairs that it needs."""

    text: str
    answer: str
    type: QuestionType
    level: Level
    needs: tuple[tuple[Entity, str], ...]


# Links from an article to another entity: {title} and the other words are those of the article's entity.
BRIDGES = parse_sentences(
    """
    [film]
    director: the director of {title} / the filmmaker behind {title} / the person who directed {title}
    star: the lead of {title} / the performer who plays {character} in {title} / the star of {title}
    composer: the composer of the music for {title} / the person who wrote the score of {title}
    novel: the novel on which {title} is based / the book that was adapted into the film {title}
    location: the town where {title} was shot / the filming location of {title}
    [novel]
    author: the author of {title} / the writer of the novel {title} / the person who wrote {title}
    [band]
    singer: the lead singer of {title} / the vocalist of {title}
    drummer: the drummer of {title} / the person who plays the drums in {title}
    guitarist: the guitarist of {title} / the person who plays the guitar in {title}
    town: the home town of the band {title} / the town where {title} were formed
    [person]
    birthplace: the birthplace of {title} / the town where {title} was born
    band: the band in which {title} plays / the group that has {title} as its {role}
    spouse: the {spouse_noun} of {title} / the {spouse_role} married to {title}
    novel: the best-known book by {title} / the novel that won {title} a wide readership
    film: the film that made {title} widely known / the film that {title} is best known for
    """
)

# Questions about the entity that a bridge leads to; the key is both the sentence and the answer.
ASKED = parse_sentences(
    """
    [person]
    born: When was {it} born? / What is the date of birth of {it}? / On what date was {it} born?
    birthplace: Where was {it} born? / In which town was {it} born? / What is the birthplace of {it}?
    university: At which university did {it} take a degree? / Where did {it} study?
    university: Which university did {it} attend as a student?
    award: Which prize was given to {it}? / What award did {it} receive?
    spouse: Who is {it} married to? / To whom is {it} married?
    adjective: What is the nationality of {it}? / Of what nationality is {it}?
    [novel]
    publisher: Which company published {it}? / Who was the publisher of {it}?
    year: In which year was {it} published? / When did {it} first appear?
    author: Who wrote {it}? / Who is the author of {it}?
    hero: Who is the main character of {it}? / Which character is at the centre of {it}?
    [band]
    year: In which year was {it} formed? / When did {it} begin?
    label: Which label released the records of {it}? / To which label is {it} signed?
    album: What is the first album of {it}? / What was the debut album of {it} called?
    genre: What kind of music does {it} play? / Which genre of music is played by {it}?
    town: In which town was {it} formed? / Where does {it} come from?
    [town]
    population: How many people live in {it}? / What is the population of {it}?
    river: Which river flows through {it}? / On which river does {it} lie?
    region: In which region is {it}? / What region does {it} belong to?
    country: In which country is {it}? / What country does {it} lie in?
    product: What is {it} known for? / Which product made {it} famous?
    founded: In which year was {it} founded? / When was {it} founded?
    mayor: Who is the mayor of {it}? / Who governs {it} as mayor?
    [film]
    minutes: How many minutes long is {it}? / What is the running time of {it} in minutes?
    studio: Which company produced {it}? / Who produced {it}?
    director: Who directed {it}? / Who is the director of {it}?
    location: Where was {it} shot? / In which town was {it} filmed?
    character: Which character does the star of {it} play? / What is the leading role in {it} called?
    premiere: On what date was {it} first shown? / When did {it} have its premiere?
    """
)

# A sentence that states a word under another key.
STATED_BY = {"character": "star"}

# Values that compare two entities, and the question for the one with the larger value, or with the smaller.
LARGER = parse_sentences(
    """
    [person]
    born: Who was born first, {a} or {b}? / Who is older, {a} or {b}?
    [film]
    year: Which film was released first, {a} or {b}? / Which came out earlier, {a} or {b}?
    minutes: Which film is longer, {a} or {b}? / Does {a} or {b} have the longer running time?
    [novel]
    year: Which novel was published first, {a} or {b}? / Which book is older, {a} or {b}?
    pages: Which novel has more pages, {a} or {b}?
    [band]
    year: Which band was formed first, {a} or {b}? / Which band came together earlier, {a} or {b}?
    size: Which band has more members, {a} or {b}? / Which is the larger group, {a} or {b}?
    [town]
    population: Which town has more inhabitants, {a} or {b}? / Which is the larger town, {a} or {b}?
    founded: Which town was founded first, {a} or {b}? / Which town is older, {a} or {b}?
    """
)
SMALLER = parse_sentences(
    """
    [person]
    born: Who was born later, {a} or {b}? / Who is younger, {a} or {b}?
    [film]
    year: Which film is newer, {a} or {b}? / Which film was released more recently, {a} or {b}?
    minutes: Which film is shorter, {a} or {b}? / Does {a} or {b} have the shorter running time?
    [novel]
    year: Which novel was published later, {a} or {b}? / Which book is more recent, {a} or {b}?
    pages: Which novel has fewer pages, {a} or {b}?
    [band]
    year: Which band was formed more recently, {a} or {b}?
    size: Which band has fewer members, {a} or {b}?
    [town]
    population: Which town has fewer inhabitants, {a} or {b}? / Which is the smaller town, {a} or {b}?
    founded: Which town was founded later, {a} or {b}?
    """
)

# Properties that two entities may have in common, asked so that the answer is yes or no.
SHARED = parse_sentences(
    """
    [person]
    adjective: Are {a} and {b} of the same nationality? / Do {a} and {b} have the same nationality?
    birthplace: Were {a} and {b} born in the same town? / Do {a} and {b} share a birthplace?
    [film]
    director: Do {a} and {b} have the same director? / Were {a} and {b} directed by the same person?
    genre: Are {a} and {b} films of the same genre? / Are {a} and {b} both {genre} films?
    location: Were {a} and {b} filmed in the same town?
    [novel]
    author: Were {a} and {b} written by the same author? / Do {a} and {b} have the same author?
    setting: Are {a} and {b} set in the same town?
    [band]
    genre: Do {a} and {b} play the same kind of music? / Are {a} and {b} both {genre} bands?
    town: Were {a} and {b} formed in the same town? / Do {a} and {b} come from the same town?
    [town]
    country: Are {a} and {b} in the same country? / Do {a} and {b} belong to the same country?
    region: Are {a} and {b} in the same region? / Do {a} and {b} lie in one region?
    """
)


def ask(world: World, rng: random.Random, questions: Questions = "all") -> Question:
    """Draw a question with exactly one answer.

    60 % of all are bridge questions, 22 % comparisons, 18 % yes or no.
    """
    draw = rng.random()
    make = _ask_bridge if draw < 0.60 else _ask_comparison if draw < 0.82 else _ask_yes_no
    if questions != "all":
        make = _ask_comparison if questions == "comparisons" else partial(_ask_comparison, larger=True)
    while True:
        question = make(world, rng)
        if question is not None:
            return question


def _ask_bridge(world: World, rng: random.Random) -> Question | None:
    first = rng.choice(world.entities)
    relation = rng.choice(list(BRIDGES.get(first.kind, {"": ()})))
    second = first.links.get(relation)
    if second is None or second is first:
        return None
    key = rng.choice(list(ASKED[second.kind]))
    if key not in second.words or second.links.get(key) is first:
        return None
    described = rng.choice(BRIDGES[first.kind][relation]).format_map(first.words)
    text = rng.choice(ASKED[second.kind][key]).format(it=described)
    needs = ((first, relation), (second, STATED_BY.get(key, key)))
    return Question(text, second.words[key], "bridge", "hard", needs)


def _draw_pair(world: World, rng: random.Random) -> tuple[Entity, Entity]:
    kinds: tuple[Kind, ...] = ("person", "film", "novel", "band", "town")
    kind = rng.choice(kinds)
    first, second = rng.sample([e for e in world.entities if e.kind == kind], 2)
    return first, second


def _ask_comparison(world: World, rng: random.Random, *, larger: bool = False) -> Question | None:
    first, second = _draw_pair(world, rng)
    key = rng.choice(list(LARGER[first.kind]))
    if first.values[key] == second.values[key] or first.title == second.title:
        return None
    larger = larger or rng.random() < 0.5
    forms = LARGER if larger else SMALLER
    text = rng.choice(forms[first.kind][key]).format(a=first.title, b=second.title)
    winner = first if (first.values[key] > second.values[key]) == larger else second
    return Question(text, winner.title, "comparison", "medium", ((first, key), (second, key)))


def _ask_yes_no(world: World, rng: random.Random) -> Question | None:
    wanted = rng.random() < 0.5  # drawn first: by themselves most pairs differ
    for _ in range(60):
        first, second = _draw_pair(world, rng)
        key = rng.choice(list(SHARED[first.kind]))
        same = first.words[key] == second.words[key]
        if same == wanted:
            break
    else:
        return None
    text = rng.choice(SHARED[first.kind][key]).format(
        a=first.title, b=second.title, genre=first.words.get("genre")
    )
    answer = "yes" if same else "no"
    return Question(text, answer, "comparison", "easy", ((first, key), (second, key)))
