"""From logits to predictions: the best span, its location, ranked facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from modelserver.inputs.features import IN_TITLE, NO_FACT, Located, extract_text
from modelserver.wire.errors import PredictionFailed
from modelserver.wire.schema import (
    LEAST_LOGPROB,
    AnswerLocation,
    AnswerType,
    Fact,
    FactProbability,
    QAItem,
    QAPrediction,
)

LONGEST = 15  # a span ends at most this many tokens after its first (Schuff et al. 2020, released code)

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]
Span = tuple[int, int]


def find_best_span(start: Floats, end: Floats, seen: Bools, located: Located) -> Span | None:
    """Return the first and last token of the best span, or None.

    ``start``, ``end`` and ``seen`` are [K]. The score is start + end logit. A span holds only tokens
    that were seen, lies in one article, and never joins a title with a sentence. The first wins a tie.
    None: no token was seen.
    """
    return find_top_span(score_allowed_spans(start, end, seen, located)) if seen.any() else None


def score_allowed_spans(start: Floats, end: Floats, seen: Bools, located: Located) -> Floats:
    """Return `compute_span_scores` with -inf for spans that are not allowed."""
    return np.where(
        find_allowed_spans(seen, located, LONGEST), compute_span_scores(start, end, LONGEST), -np.inf
    )


def compute_text_logprob(item: QAItem, located: Located, scores: Floats, text: str) -> float:
    """Return the log of the probability of all spans that read as a text.

    ``scores`` [K, widths] are logits of spans, -inf for one that is not allowed; all allowed ones together
    have the probability 1. The empty text has it if no span is allowed.
    """
    total, wanted = _log_sum(scores), -np.inf
    if not np.isfinite(total):
        return LEAST_LOGPROB if text else 0.0
    for first, last in _find_spans(item, located, text) if text else ():
        if 0 <= last - first < scores.shape[1]:
            wanted = np.logaddexp(wanted, scores[first, last - first])
    return float(np.clip(wanted - total, LEAST_LOGPROB, 0.0))


def _log_sum(scores: Floats) -> float:
    best = scores.max(initial=-np.inf)
    return float(best + np.log(np.exp(scores - best).sum())) if np.isfinite(best) else -np.inf


def _find_spans(item: QAItem, located: Located, text: str) -> Iterator[Span]:
    """Yield first and last token of all spans that read as a text."""
    places = located.places
    for article, (title, sentences) in enumerate(item.context):
        for within, in_title in ((title, True), ("".join(sentences), False)):
            begin = within.find(text)
            if begin < 0:
                continue
            tokens = np.flatnonzero((places[:, 0] == article) & ((places[:, 1] == IN_TITLE) == in_title))
            sentence_starts = np.cumsum([0, *map(len, sentences)])
            shift = 0 if in_title else sentence_starts[places[tokens, 1]]
            starts, ends = places[tokens, 2] + shift, places[tokens, 3] + shift
            while begin >= 0:
                yield from product(tokens[starts == begin], tokens[ends == begin + len(text)])
                begin = within.find(text, begin + 1)


def require_finite_logits(*logits: Floats) -> None:
    """Raise PredictionFailed unless all logits are finite numbers."""
    if not all(np.isfinite(values).all() for values in logits):
        raise PredictionFailed("the system's logits are not finite numbers: its weights are damaged")


def compute_span_scores(start: Floats, end: Floats, longest: int) -> Floats:
    """Return start + end logit of each span, [K, longest + 1].

    The axes are first token and width: last token less first. A span that would pass the end has -inf.
    """
    if not len(end):
        return np.zeros((0, longest + 1))
    padded = np.pad(end.astype(float), (0, longest), constant_values=-np.inf)
    return start[:, None] + np.lib.stride_tricks.sliding_window_view(padded, longest + 1)


def find_allowed_spans(seen: Bools, located: Located, longest: int) -> Bools:
    """Return the spans of `compute_span_scores` that `find_best_span` allows."""
    if not len(seen):
        return np.zeros((0, longest + 1), dtype=bool)
    in_title = located.fact == NO_FACT
    cut = np.ones(len(seen), dtype=bool)
    cut[1:] = (np.diff(located.article) != 0) | (in_title[1:] != in_title[:-1]) | (seen[1:] != seen[:-1])
    segment = np.cumsum(cut)
    padded = np.pad(np.where(seen, segment, 0), (0, longest))
    return segment[:, None] == np.lib.stride_tricks.sliding_window_view(padded, longest + 1)[: len(seen)]


def find_top_span(scores: Floats) -> Span:
    """Return first and last token of the best span in a score table.

    The first wins a tie.
    """
    first, width = divmod(int(scores.argmax()), scores.shape[1])
    return first, first + width


def build_prediction(
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
    probability is 0. If the answer heads saw nothing, a span answer has no span: it is the empty
    text with no location.
    """
    has_words = np.bincount(located.fact[located.fact != NO_FACT], minlength=len(located.facts)) > 0
    probability = [p if words else 0.0 for p, words in zip(relevance, has_words, strict=True)]
    chosen = [number for number, p in enumerate(probability) if p > threshold]
    chosen.sort(key=lambda number: (-probability[number], -number))  # of equals, the later listed first
    answer, location = (kind, None) if kind != "span" else _build_answer(item, located, span)
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


def _build_answer(item: QAItem, located: Located, span: Span | None) -> tuple[str, AnswerLocation | None]:
    if span is None:
        return "", None
    first, last = (located.place(token) for token in span)
    facts = [_find_fact(located, token) for token in span]
    text = extract_text(item, first, last)
    if facts[0] is None or facts[0] != facts[1]:
        return text, AnswerLocation(first=facts[0], last=facts[1])
    return text, AnswerLocation(first=facts[0], last=facts[1], start=first.start, end=last.end)


def _find_fact(located: Located, token: int) -> Fact | None:
    number = int(located.fact[token])
    return None if number == NO_FACT else located.facts[number]
