"""Partitions of a text: words that ought to count for an answer or not.

Positive words ought to count, negative ones ought not to. The source took
verbs and coreference clusters from a parser; here plain rules stand in, whose
result people can correct: a partition is two lists of spans.

References:
    1. Ray Choudhury et al. (2022), section 3.3 and figure 4.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .comparison import comparing_words, find_entity

Span = tuple[int, int]  # code points, end exclusive

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:['’-][^\W_]+)*")


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VERBS = _set_of(
    """
    is are was were be been being am do does did done has have had having can could will would shall should
    may might must came come comes go goes went gone become became begin began begun run ran win won made
    make built build wrote write written held hold took take taken led lead died die born live lived lies
    lie sold sell grew grow left leave met meet sang sing sung found flew fly got get gave give given open
    started start release released publish published establish established form formed direct directed
    """
)
_NOT_VERBS = _set_of("red hundred bed need speed seed feed breed kindred sacred")
_PRONOUNS = _set_of("he him his himself she her hers herself they them their theirs it its itself")
_FUNCTION = _set_of(
    """
    a an the in on at of for from to by with and or but nor if when while after before as since until his
    her he she they it its their there this that these those who which what where why how
    """
)


@dataclass(frozen=True)
class Partition:
    """Spans of a text's words; no word is in both lists."""

    positive: tuple[Span, ...]
    negative: tuple[Span, ...]

    def __post_init__(self) -> None:
        both = [span for span in self.negative if _touches(span, self.positive)]
        if both:
            raise ValueError(f"negative: the span {both[0]} is also positive")

    def scores(self, weights: Iterable[tuple[int, int, float]]) -> tuple[list[float], list[float]]:
        """Return the saliency of the positive and of the negative tokens.

        weights: start, end and saliency of each token; a token belongs to a span that it overlaps.
        """
        positive: list[float] = []
        negative: list[float] = []
        for start, end, weight in weights:
            if _touches((start, end), self.positive):
                positive.append(weight)
            elif _touches((start, end), self.negative):
                negative.append(weight)
        return positive, negative


def words(text: str) -> list[Span]:
    """Find the spans of words and numbers, without punctuation."""
    return [match.span() for match in _WORD.finditer(text)]


def comparison_partition(question: str, entities: Sequence[str] = ()) -> Partition:
    """Partition a comparison question: comparing words against the rest.

    The rest leaves out entities, values and verbs. Entities are those given and,
    behind the first word, every word with a capital; values are words with a
    digit; verbs are a list of common ones and words in -ed.

    Examples:
        >>> question = "Which film was released first, Avalon or Brass?"
        >>> parts = comparison_partition(question, ["Avalon", "Brass"])
        >>> [[question[a:b] for a, b in spans] for spans in (parts.positive, parts.negative)]
        [['first'], ['Which', 'film', 'or']]
    """
    comparing = comparing_words(question, entities)
    named = [place for entity in entities if (place := find_entity(question, entity))]
    tokens = words(question)
    negative = [
        span
        for number, span in enumerate(tokens)
        if not _touches(span, comparing)
        and not _touches(span, named)
        and not (number and question[span[0]].isupper())
        and not any(sign.isdigit() for sign in question[slice(*span)])
        and not _is_verb(question[slice(*span)].lower())
    ]
    return Partition(tuple(span for span in tokens if _touches(span, comparing)), tuple(negative))


def coreference_partition(context: str, question: str, cluster: Sequence[Span]) -> Partition:
    """Partition a context: words of the cluster against the others.

    The others leave out words of the question.
    """
    asked = {question[slice(*span)].lower() for span in words(question)}
    tokens = words(context)
    return Partition(
        tuple(span for span in tokens if _touches(span, cluster)),
        tuple(
            span
            for span in tokens
            if not _touches(span, cluster) and context[slice(*span)].lower() not in asked
        ),
    )


def cluster_of(context: str, answer: str) -> list[Span]:
    """Find mentions of a named answer in the context, for people to correct.

    They are in order. A word of the answer is a mention if it has a capital, and so
    is a pronoun when the latest name before it is the answer's. Empty if the answer
    has no word with a capital.
    """
    parts = {answer[slice(*span)] for span in words(answer)}
    names = {part for part in parts if part[0].isupper() and part.lower() not in _FUNCTION}
    latest, mentions = False, []
    for span in words(context):
        word = context[slice(*span)]
        bare = re.sub(r"['’]s?$", "", word)
        if bare in names:
            latest = True
            mentions.append(span)
        elif word.lower() in _PRONOUNS:
            if latest:
                mentions.append(span)
        elif word[0].isupper() and word.lower() not in _FUNCTION:
            latest = False
    return mentions if any(context[slice(*span)].lower() not in _PRONOUNS for span in mentions) else []


def random_partition(partition: Partition, rng: np.random.Generator) -> Partition:
    """Shuffle the words into parts of the same sizes.

    This is what a partition without meaning would give.
    """
    spans = sorted((*partition.positive, *partition.negative))
    chosen = set(rng.choice(len(spans), len(partition.positive), replace=False).tolist())
    return Partition(
        tuple(span for place, span in enumerate(spans) if place in chosen),
        tuple(span for place, span in enumerate(spans) if place not in chosen),
    )


def _is_verb(word: str) -> bool:
    return word in _VERBS or (word.endswith("ed") and word not in _NOT_VERBS and len(word) > 3)


def _touches(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
