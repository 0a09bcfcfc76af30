"""Articles about the entities of a world, from a table of sentences.

A sentence is looked up by its key. The opening states several things at once, which ``OPENING`` lists.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from modelserver.world.entities import Entity, Kind

OPENING: dict[Kind, frozenset[str]] = {
    "person": frozenset({"born", "adjective", "role"}),
    "film": frozenset({"year", "adjective", "genre", "director"}),
    "novel": frozenset({"year", "author", "genre"}),
    "band": frozenset({"year", "genre", "town", "adjective"}),
    "town": frozenset({"region", "country"}),
}


def parse_sentences(text: str) -> dict[str, dict[str, list[str]]]:
    """Return sentences by kind and key, as a text lists them.

    Below ``[kind]`` stand lines of a key and its sentences: ``key: one / another``. A key may come again.
    """
    table: dict[str, dict[str, list[str]]] = {}
    for section in text.split("[")[1:]:
        kind, *lines = section.strip().splitlines()
        sentences = table.setdefault(kind.rstrip("]"), {})
        for key, _, sentence in (line.strip().partition(": ") for line in lines):
            sentences.setdefault(key, []).extend(sentence.split(" / "))
    return table


# A slot is a word of the entity; a sentence with a slot that the entity lacks is never used.
SENTENCES = parse_sentences(
    """
    [person]
    opening: {title} (born {born}) is {an} {adjective} {occupation}.
    opening: {title}, born on {born}, is {an} {adjective} {occupation}.
    opening: The {adjective} {occupation} {title} was born on {born}.
    birthplace: {She} was born in {birthplace} as the youngest of {siblings} children.
    birthplace: {She} comes from {birthplace}, where {her} family kept a bakery.
    birthplace: Born in {birthplace}, {surname} moved to {residence} as a child.
    birthplace: {surname} was born in {birthplace} and now lives in {residence}.
    university: {She} studied {subject} at the {university} before {she} began {her} career.
    university: {surname} holds a degree in {subject} from the {university}.
    university: After a degree in {subject} from the {university}, {she} taught for a year at the {school}.
    award: {She} received the {award} in {award_year}. / In {award_year}, {surname} was awarded the {award}.
    award: {Her} work was honoured with the {award} in {award_year}.
    spouse: {She} is married to {spouse}. / {surname} and {spouse} married in {residence}.
    spouse: {Her} {spouse_noun} is {spouse}, whom {she} met in {residence}.
    film: {She} is best known for {her} work on the film {film}.
    film: {surname} became widely known through the film {film}.
    novel: {Her} best-known book is {novel}. / {She} found a wide readership with the novel {novel}.
    band: {She} is best known as the {role} of the band {band}.
    band: {surname} is a founding member of {band}, in which {she} is the {role}.
    residence: {She} lives in {residence} with {her} family.
    residence: {surname} has spent most of {her} life in {residence}.
    teacher: {Her} first employer was {teacher}. / As a student {she} worked for {teacher}.
    school: Since retiring, {she} has given lectures at the {school}.
    school: {surname} later taught at the {school}.
    [film]
    opening: {title} is a {year} {adjective} {genre} film directed by {director}.
    opening: {title} is {an} {adjective} {genre} film from {year}, directed by {director}.
    opening: Directed by {director}, {title} is {an} {adjective} {genre} film released in {year}.
    star: It stars {star} as {character}. / The leading role of {character} is played by {star}.
    star: {star} appears as {character}, the owner of a small hotel.
    composer: The score was written by {composer}. / Its music was composed by {composer}.
    novel: The film is based on the novel {novel}. / The screenplay was adapted from the novel {novel}.
    location: Most scenes were shot in {location}. / It was filmed in and around {location}.
    minutes: {title} has a running time of {minutes} minutes.
    minutes: In its first version, {title} runs for {minutes} minutes.
    first_director: {first_director} had been asked to direct it, but was ill.
    first_director: At first {first_director} was to direct the film.
    first_star: The leading role had been offered to {first_star}.
    first_star: {first_star} makes a short appearance as a ferryman.
    second_location: A few scenes had to be shot again in {second_location}.
    second_location: The story is set in {second_location}.
    studio: It was produced by {studio}. / {studio} produced the film on a small budget.
    premiere: It had its premiere on {premiere} at the {festival} Film Festival.
    premiere: The film was first shown on {premiere} in {festival}.
    [novel]
    opening: {title} is a {year} {genre} by {author}.
    opening: {title} is a {genre} by the {adjective} writer {author}, first published in {year}.
    opening: Written by {author} and published in {year}, {title} is a {genre}.
    publisher: It was published by {publisher}. / The book first appeared with {publisher}.
    setting: The story takes place in {setting}. / It is set in {setting} during a long winter.
    hero: It follows {hero}, a retired schoolteacher who inherits a boat.
    hero: The plot centres on {hero}, who returns home after many years abroad.
    pages: The first edition of {title} has {pages} pages.
    pages: At {pages} pages, {title} was printed in two volumes.
    translator: A translation by {translator} came out in the same year. / {translator} wrote the foreword.
    languages: It has been translated into {languages} languages.
    languages: Critics praised its humour, and it was translated into {languages} languages.
    [band]
    opening: {title} are {an} {adjective} {genre} band formed in {town} in {year}.
    opening: {title} are {an} {adjective} {genre} band who came together in {town} in {year}.
    opening: Formed in {year}, {title} are {an} {adjective} {genre} group from {town}.
    singer: {singer} is the lead singer. / The songs are sung by {singer}.
    drummer: {drummer} plays the drums, having replaced {old_drummer}. / Its drummer is {drummer}.
    guitarist: The guitarist is {guitarist}. / {guitarist} plays the guitar.
    label: The group is signed to {label}. / All of its records were released by {label}.
    album: The debut album, {album}, came out in {album_year}.
    album: Its first album was {album}, followed by {second_album}.
    size: On stage {title} usually have {size} members. / {title} consist of {size} musicians.
    admirer: {admirer} sings on one of its records. / {admirer} played the drums on its first tour.
    tour_town: The members live in {tour_town}. / Its best-known concert took place in {tour_town}.
    split_year: After a long tour the members went separate ways in {split_year}.
    split_year: The group broke up in {split_year} and has played together only once since.
    [town]
    opening: {title} is a town in {region}, {country}.
    opening: {title} is a {adjective} town in the region of {region} in {country}.
    opening: {title} is a market town in {country}, in the south of {region}.
    population: At the {census} census, {title} had a population of {population}.
    population: According to the {census} census, {population} people live in {title}.
    river: It lies on the river {river}. / The river {river} flows through the town.
    founded: {title} was founded in {founded} by settlers from the coast.
    founded: The settlement of {title} dates from {founded}.
    product: The town is known for its {product}.
    product: For centuries its people lived on making {side_product}; today it is famous for its {product}.
    mayor: Its mayor is {mayor}. / {mayor} has been mayor since the last election.
    """
)


@dataclass(frozen=True)
class Article:
    """A title, its sentences, and the sentence that states each key."""

    title: str
    sentences: list[str]
    sentence_of: dict[str, int]


def write_article(entity: Entity, rng: random.Random, *, needed: frozenset[str], length: int) -> Article:
    """Write an article that states the needed keys.

    It has ``length`` sentences, or more if needed. The opening comes first and the rest in any order. As
    in the official files, every sentence but the first begins with a space.
    """
    table = SENTENCES[entity.kind]
    stated = OPENING[entity.kind]
    chosen = [key for key in needed if key not in stated]
    spare = [key for key in table if key != "opening" and key not in needed and key in entity.words]
    rng.shuffle(spare)
    chosen = sorted(chosen) + spare[: max(0, length - 1 - len(chosen))]
    rng.shuffle(chosen)
    sentences = [_say(entity, "opening", rng)] + [" " + _say(entity, key, rng) for key in chosen]
    sentence_of = dict.fromkeys(stated, 0) | {key: index for index, key in enumerate(chosen, start=1)}
    return Article(entity.title, sentences, sentence_of)


def _say(entity: Entity, key: str, rng: random.Random) -> str:
    return rng.choice(SENTENCES[entity.kind][key]).format_map(entity.words)
