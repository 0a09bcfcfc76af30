"""A generated text world in the official HotpotQA form.

It is fictional, so that nobody knew the answers before. Every question gets a small world of its own
(`entities`), of which two articles are needed and the others distract. Names belong to one split each
(`names`), and every example depends on nothing but the seed, the split and its index.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

from cyclopts import Parameter, validators

from modelserver.world.articles import Article, write_article
from modelserver.world.entities import Entity, World
from modelserver.world.items import Number, SplitOptions, write_whole
from modelserver.world.names import SPLITS, Names, Split, split_of
from modelserver.world.questions import Question, Questions, ask

__all__ = [
    "ARTICLES",
    "SPLITS",
    "Example",
    "Questions",
    "Split",
    "generate",
    "split_of",
    "write_split",
    "write_world",
]

ARTICLES = 8


class Example(TypedDict):
    """One example in the official form.

    ``supporting_facts`` are [title, sentence index].
    """

    _id: str
    question: str
    answer: str
    supporting_facts: list[list[str | int]]
    context: list[list[str | list[str]]]
    type: str
    level: str


def generate(
    split: Split, n: int, seed: int, articles: int = ARTICLES, questions: Questions = "all"
) -> Iterator[Example]:
    """Yield ``n`` examples of a split, each with 2 to 8 ``articles``.

    ``questions`` says which questions: of all types, comparisons of values, or those for the larger value.
    The same split and seed give the same examples in every process, and the first examples of a longer
    run are those of a shorter one. With 2 articles there are only those that the question needs.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
    if not 2 <= articles <= ARTICLES:
        raise ValueError(f"articles must be from 2 to {ARTICLES}, not {articles}")
    for index in range(n):
        yield _generate_example(f"{seed}/{split}/{index}", split, articles, questions)


def write_split(
    path: Path, split: Split, n: int, seed: int, articles: int = ARTICLES, questions: Questions = "all"
) -> None:
    """Write ``n`` examples as one JSON list, one example a line.

    The file appears whole or not at all.
    """
    with write_whole(path) as partial, partial.open("w", encoding="utf-8") as file:
        for index, example in enumerate(generate(split, n, seed, articles, questions)):
            file.write(("[\n" if index == 0 else ",\n") + json.dumps(example, ensure_ascii=False))
        file.write("\n]\n" if n else "[]\n")


def _generate_example(key: str, split: Split, count: int, questions: Questions) -> Example:
    rng = random.Random(key)  # a string seed is digested by SHA-512, whatever PYTHONHASHSEED says
    world = World(rng, Names(rng, split))
    question = ask(world, rng, questions)
    articles = _write_articles(world, question, rng, count)
    by_title = {article.title: article for article in articles}
    facts = [(entity.title, by_title[entity.title].sentence_of[need]) for entity, need in question.needs]
    rng.shuffle(articles)
    return Example(
        _id=hashlib.sha256(key.encode()).hexdigest()[:24],
        question=question.text[0].upper() + question.text[1:],
        answer=question.answer,
        supporting_facts=[list(fact) for fact in dict.fromkeys(facts)],
        context=[[article.title, article.sentences] for article in articles],
        type=question.type,
        level=question.level,
    )


def _write_articles(world: World, question: Question, rng: random.Random, count: int) -> list[Article]:
    """Write the articles that the question needs, then similar ones."""
    gold = [entity for entity, _ in question.needs]
    keys = {entity.kind: need for entity, need in question.needs}
    others = _choose_distractors(world, gold, rng)[: count - len(gold)]
    articles = [_write(entity, {need}, rng) for entity, need in question.needs]
    for entity in others:
        # Most distractors state what is asked as well, of someone or something else.
        key = keys.get(entity.kind)
        alike = key is not None and key in entity.words and rng.random() < 0.7
        articles.append(_write(entity, {key} if alike and key else set(), rng))
    return articles


def _write(entity: Entity, needed: set[str], rng: random.Random) -> Article:
    return write_article(entity, rng, needed=frozenset(needed), length=rng.choice((2, 3, 3, 4, 4, 5)))


def _choose_distractors(world: World, gold: list[Entity], rng: random.Random) -> list[Entity]:
    """Choose entities with distinct titles to distract.

    Those that gold articles may name come first, then similar ones.
    """
    pool = [entity for entity in world.entities if entity.title not in {g.title for g in gold}]
    rng.shuffle(pool)
    unlike = [entity for entity in pool if entity.kind not in {g.kind for g in gold}]
    alike = [entity for entity in pool if entity.kind in {g.kind for g in gold}]
    named = {word for entity in gold for word in entity.words.values()}
    near = [entity for entity in alike if entity.title in named][:3]
    chosen = {e.title: e for e in near + alike[: ARTICLES - len(gold) - len(near) - 1] + unlike + alike}
    return list(chosen.values())[: ARTICLES - len(gold)]


@Parameter(name="*")
@dataclass(frozen=True)
class WorldOptions(SplitOptions):
    """Folder, seed, numbers and sizes of generated examples.

    Attributes:
        out: Folder for train.json, dev.json and test.json.
        articles: Articles of each example, 2 to 8.
        kind: Kind of questions: of all types, comparisons of two values, or those
            comparisons that ask for the larger (the earlier of dates).
    """

    train: Number = 10_000
    dev: Number = 500
    test: Number = 1000
    articles: Annotated[int, Parameter(validator=validators.Number(gte=2, lte=ARTICLES))] = ARTICLES
    kind: Questions = "all"


def write_world(*, options: WorldOptions) -> None:
    """Generate a fictional text world to train and test on."""

    def write(folder: Path, split: Split, n: int, seed: int) -> None:
        write_split(folder / f"{split}.json", split, n, seed, options.articles, options.kind)

    options.out.mkdir(parents=True, exist_ok=True)
    options.write(write, "json")
