"""From logits to predictions: the best span, its text and place, and the facts in order of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from modelserver.inputs.features import NO_FACT, Ints, Place, text_between
from modelserver.wire.schema import AnswerLocation, AnswerType, Fact, FactProbability, QAItem, QAPrediction

LONGEST = 15  # a span ends at most this many tokens after its first (Schuff et al. 2020, released code)

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]
Span = tuple[int, int]


class Located(Protocol):
    """Where the K context tokens of an item stand, however it was cut into tokens."""

    @property
    def fact(self) -> Ints:
        """Return the number of each token's fact in ``facts``, NO_FACT in a title, [K]."""
        ...

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the F facts in the order of the context."""
        ...

    @property
    def article(self) -> Ints:
        """Return the article of each token, [K], never decreasing."""
        ...

    def place(self, token: int) -> Place:
        """Return where a token stands."""
        ...


def best_span(start: Floats, end: Floats, seen: Bools, located: Located) -> Span | None:
    """Return the first and last token of the span with the highest start + end logit, or None.

    ``start``, ``end`` and ``seen`` are [K]. A span holds only tokens that were seen, lies in one article,
    and never joins a title with a sentence. Of equal spans the first wins. None: no token was seen.
    """
    if not seen.any():
        return None
    return first_best(np.where(joined(seen, located, LONGEST), span_scores(start, end, LONGEST), -np.inf))


def span_scores(start: Floats, end: Floats, longest: int) -> Floats:
    """Return start + end logit of each span, [K, longest + 1]: row its first token, column its width.

    The width is that of the last token less the first, and -inf stands where a span would pass the end.
    """
    if not len(end):
        return np.zeros((0, longest + 1))
    padded = np.pad(end.astype(float), (0, longest), constant_values=-np.inf)
    return start[:, None] + np.lib.stride_tricks.sliding_window_view(padded, longest + 1)


def joined(seen: Bools, located: Located, longest: int) -> Bools:
    """Return which spans are allowed, as `best_span` says, in the places of `span_scores`."""
    in_title = located.fact == NO_FACT
    cut = np.ones(len(seen), dtype=bool)
    cut[1:] = (np.diff(located.article) != 0) | (in_title[1:] != in_title[:-1]) | (seen[1:] != seen[:-1])
    segment = np.cumsum(cut)
    padded = np.pad(np.where(seen, segment, 0), (0, longest))
    return segment[:, None] == np.lib.stride_tricks.sliding_window_view(padded, longest + 1)[: len(seen)]


def first_best(scores: Floats) -> Span:
    """Return the first and last token of the best span in a table of scores, of equal ones the first."""
    first, width = divmod(int(scores.argmax()), scores.shape[1])
    return first, first + width


def prediction(
    item: QAItem,
    located: Located,
    *,
    span: Span | None,
    kind: AnswerType,
    relevance: Sequence[float],
    threshold: float,
) -> QAPrediction:
    """Build the typed prediction of one item.

    ``relevance`` [F] is the probability of each fact. A fact without words cannot be relevant: its
    probability is 0. A span answer without any span, where the answer heads saw nothing, is the empty
    text with no location.
    """
    has_words = np.bincount(located.fact[located.fact != NO_FACT], minlength=len(located.facts)) > 0
    probability = [p if words else 0.0 for p, words in zip(relevance, has_words, strict=True)]
    chosen = [number for number, p in enumerate(probability) if p > threshold]
    chosen.sort(key=lambda number: (-probability[number], -number))  # of equals, the later listed first
    answer, location = (kind, None) if kind != "span" else _answer(item, located, span)
    return QAPrediction(
        id=item.id,
        answer=answer,
        type=kind,
        location=location,
        facts=[located.facts[number] for number in chosen],
        fact_probabilities=[
            FactProbability(title=title, index=index, probability=p)
            for (title, index), p in zip(located.facts, probability, strict=True)
        ],
        threshold=threshold,
    )


def _answer(item: QAItem, located: Located, span: Span | None) -> tuple[str, AnswerLocation | None]:
    if span is None:
        return "", None
    first, last = (located.place(token) for token in span)
    facts = [_fact(located, token) for token in span]
    text = text_between(item, first, last)
    if facts[0] is None or facts[0] != facts[1]:
        return text, AnswerLocation(first=facts[0], last=facts[1])
    return text, AnswerLocation(first=facts[0], last=facts[1], start=first.start, end=last.end)


def _fact(located: Located, token: int) -> Fact | None:
    number = int(located.fact[token])
    return None if number == NO_FACT else located.facts[number]
