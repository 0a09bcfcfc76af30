"""From logits to predictions: the best span, its text and place, and the facts in order of relevance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from modelserver.schema import AnswerLocation, AnswerType, Fact, FactProbability, QAItem, QAPrediction
from modelserver.text import NO_FACT, Features, text_between

LONGEST = 15  # a span ends at most this many tokens after its first (Schuff et al. 2020, released code)

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]
Span = tuple[int, int]


def best_span(start: Floats, end: Floats, seen: Bools, features: Features) -> Span | None:
    """Return the first and last token of the span with the highest start + end logit, or None.

    ``start``, ``end`` and ``seen`` are [K]. A span holds only tokens that were seen, lies in one article,
    and never joins a title with a sentence. Of equal spans the first wins. None: no token was seen.
    """
    tokens = len(start)
    if not seen.any():
        return None
    in_title = features.fact == NO_FACT
    cut = np.ones(tokens, dtype=bool)
    cut[1:] = (np.diff(features.article) != 0) | (in_title[1:] != in_title[:-1]) | (seen[1:] != seen[:-1])
    segment = np.where(seen, np.cumsum(cut), 0)
    scores = np.full((tokens, LONGEST + 1), -np.inf)
    for width in range(min(LONGEST + 1, tokens)):
        together = (segment[: tokens - width] == segment[width:]) & seen[width:]
        both = start[: tokens - width] + end[width:]
        scores[: tokens - width, width] = np.where(together, both, -np.inf)
    first, width = divmod(int(scores.argmax()), LONGEST + 1)
    return first, first + width


def prediction(
    item: QAItem,
    features: Features,
    *,
    span: Span | None,
    kind: AnswerType,
    relevance: Sequence[float],
    threshold: float,
) -> QAPrediction:
    """Build the typed prediction of one item. ``relevance`` [F] is the probability of each fact.

    A fact without words cannot be relevant: its probability is 0. A span answer without any span, where
    the answer heads saw nothing, is the empty text with no location.
    """
    has_words = np.bincount(features.fact[features.fact != NO_FACT], minlength=len(features.facts)) > 0
    probability = [p if words else 0.0 for p, words in zip(relevance, has_words, strict=True)]
    chosen = [number for number, p in enumerate(probability) if p > threshold]
    chosen.sort(key=lambda number: (-probability[number], -number))  # of equals, the later listed first
    answer, location = (kind, None) if kind != "span" else _answer(item, features, span)
    return QAPrediction(
        id=item.id,
        answer=answer,
        type=kind,
        location=location,
        facts=[features.facts[number] for number in chosen],
        fact_probabilities=[
            FactProbability(title=title, index=index, probability=p)
            for (title, index), p in zip(features.facts, probability, strict=True)
        ],
        threshold=threshold,
    )


def _answer(item: QAItem, features: Features, span: Span | None) -> tuple[str, AnswerLocation | None]:
    if span is None:
        return "", None
    first, last = (features.place(token) for token in span)
    facts = [_fact(features, token) for token in span]
    text = text_between(item, first, last)
    if facts[0] is None or facts[0] != facts[1]:
        return text, AnswerLocation(first=facts[0], last=facts[1])
    return text, AnswerLocation(first=facts[0], last=facts[1], start=first.start, end=last.end)


def _fact(features: Features, token: int) -> Fact | None:
    number = int(features.fact[token])
    return None if number == NO_FACT else features.facts[number]
