"""Highlighted pieces of text, from weights to three strengths. Pure.

Strengths are relative to the largest weight of the item, because each system has its own scale of weights.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from foundation.messages import value_error

Context = Sequence[tuple[str, Sequence[str]]]
Weight = tuple[str, int, int, int, float]  # title, 0-based sentence, start, end (exclusive), weight
Piece = tuple[str, int, int, int, int]  # the same with a level from 1 (weak) to 3 (strong)
QuestionWeight = tuple[int, int, float]  # start, end and weight in the question
QuestionPiece = tuple[int, int, int]

# The smallest share of the largest weight for each level.
LEVELS = ((0.7, 3), (0.4, 2), (0.1, 1))


class Highlights(NamedTuple):
    """The pieces to highlight, each list in order."""

    context: list[Piece]
    question: list[QuestionPiece]


def build_highlights(weights: Iterable[Weight], question: Iterable[QuestionWeight] = ()) -> Highlights:
    """Return the pieces of context and question to highlight.

    Both have one scale, so that their strengths can be compared. Weights at or below 0 give none.
    """
    given, asked = sorted(weights, key=lambda weight: weight[:4]), sorted(question)
    largest = max([row[4] for row in given] + [row[2] for row in asked], default=0.0)
    if largest <= 0:
        return Highlights([], [])
    return Highlights(
        [
            (title, index, start, end, level)
            for title, index, start, end, weight in given
            if (level := compute_level(weight / largest))
        ],
        [(start, end, level) for start, end, weight in asked if (level := compute_level(weight / largest))],
    )


def compute_level(share: float) -> int:
    """Return the level of a share of the largest weight, 0 for hardly any."""
    return next((level for least, level in LEVELS if share >= least), 0)


def build_fact_weights(context: Context, probabilities: Iterable[tuple[str, int, float]]) -> list[Weight]:
    """Return the probability of each fact as the weight of its sentence."""
    texts = _map_sentences(context)
    return [
        (title, index, 0, len(texts[title, index]), probability)
        for title, index, probability in probabilities
        if texts.get((title, index), "").strip()
    ]


def check_places(context: Context, weights: Sequence[Weight]) -> None:
    """Raise ValueError if a weight has no text or two weights overlap."""
    texts = _map_sentences(context)
    for title, index, start, end, _weight in weights:
        if not 0 <= start < end <= len(texts.get((title, index), "")):
            raise value_error(
                "no sentence %(index)s of %(title)r has the characters %(start)s to %(end)s",
                index=index,
                title=title,
                start=start,
                end=end,
            )
    for first, second in pairwise(sorted(weights, key=lambda weight: weight[:4])):
        if first[:2] == second[:2] and second[2] < first[3]:
            raise value_error(
                "two weights overlap in sentence %(first)s of %(first2)r at character %(second)s",
                first=first[1],
                first2=first[0],
                second=second[2],
            )


def check_question_places(question: str, weights: Sequence[QuestionWeight]) -> None:
    """Raise ValueError if a weight has no text or two weights overlap."""
    for start, end, _weight in weights:
        if not 0 <= start < end <= len(question):
            raise value_error("the question has no characters %(start)s to %(end)s", start=start, end=end)
    for first, second in pairwise(sorted(weights)):
        if second[0] < first[1]:
            raise value_error("two weights overlap in the question at character %(start)s", start=second[0])


def _map_sentences(context: Context) -> Mapping[tuple[str, int], str]:
    return {(title, index): text for title, texts in context for index, text in enumerate(texts)}
