"""What a span head learns from: windows of text with the places of the answers in them, and the loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from modelserver.inputs.span_qa import GoldSpan, ReadingExample
from modelserver.inputs.windows import Encoded, Window, WindowReader
from modelserver.wire.errors import InvalidRequest


@dataclass(frozen=True)
class Labelled:
    """Windows of one example, at least one of which holds an answer.

    ``gold`` has for each window the first and the last tokens of the answers that it holds whole, counted
    from the window's first.
    """

    windows: list[Window]
    gold: list[list[tuple[int, int]]]


def token_span(encoded: Encoded, span: GoldSpan) -> tuple[int, int] | None:
    """Return the first and last token that touch a span of text, or None where there is none."""
    article, sentence, start, end = encoded.places.T
    here = article == span.article
    firsts = np.flatnonzero(here & (sentence == span.first) & (end > span.start))
    lasts = np.flatnonzero(here & (sentence == span.last) & (start < span.end))
    if not len(firsts) or not len(lasts) or firsts[0] > lasts[-1]:
        return None
    return int(firsts[0]), int(lasts[-1])


def label(
    example: ReadingExample, reader: WindowReader, most: int, rng: np.random.Generator
) -> Labelled | None:
    """Return at most ``most`` windows with their gold spans, or None where no window holds an answer whole.

    One window with an answer is always among them; the others are drawn from all, in the order of the text.
    """
    encoded = reader.encode(example.item)
    spans = [found for span in example.spans if (found := token_span(encoded, span))]
    windows = reader.windows(encoded)
    gold = [[(a - w.start, b - w.start) for a, b in spans if w.start <= a and b < w.end] for w in windows]
    holding = [number for number, inside in enumerate(gold) if inside]
    if not holding:
        return None
    chosen = list(range(len(windows)))
    if len(windows) > most:
        kept = int(rng.choice(holding))
        others = [number for number in chosen if number != kept]
        chosen = sorted([kept, *rng.choice(others, most - 1, replace=False).tolist()])
    return Labelled([windows[i] for i in chosen], [gold[i] for i in chosen])


def loss(start: Tensor, end: Tensor, offset: Sequence[int], examples: Sequence[Labelled]) -> Tensor:
    """Return the summed loss of examples whose windows lie in the rows of ``start`` and ``end``, [W, T].

    For each of the two, log of the sum of exp(logit) over the context tokens of all windows of an example,
    less the same over the gold ones; the mean of both. One normaliser for all windows makes their scores
    comparable (Clark and Gardner 2018, shared normalisation), as `ExtractiveSystem` compares them; several
    gold places share the probability as the model likes.
    """
    total, row = start.new_zeros(()), 0
    for example in examples:
        rows = range(row, row := row + len(example.windows))
        for side, logits in enumerate((start, end)):
            context = [
                logits[r, offset[r] : offset[r] + w.end - w.start]
                for r, w in zip(rows, example.windows, strict=True)
            ]
            gold = [
                tokens[sorted({span[side] for span in spans})]
                for tokens, spans in zip(context, example.gold, strict=True)
            ]
            total = total + (torch.logsumexp(torch.cat(context), 0) - torch.logsumexp(torch.cat(gold), 0)) / 2
    return total


def groups(examples: Sequence[Labelled], reader: WindowReader, tokens: int) -> Iterator[list[Labelled]]:
    """Yield groups of at most ``tokens`` tokens with padding, or of one example; like lengths together."""
    group: list[Labelled] = []
    rows = 0
    longest = {id(e): max(map(reader.length, e.windows)) for e in examples}
    for example in sorted(examples, key=lambda e: -longest[id(e)]):
        rows += len(example.windows)
        if group and rows * longest[id(group[0])] > tokens:
            yield group
            group, rows = [], len(example.windows)
        group.append(example)
    if group:
        yield group


def learnable(examples: Sequence[ReadingExample], reader: WindowReader) -> list[ReadingExample]:
    """Return the examples that are not too long and an answer of which lies whole in a window."""
    return [e for e in examples if readable(e, reader) and label(e, reader, 1, np.random.default_rng(0))]


def readable(example: ReadingExample, reader: WindowReader) -> bool:
    """Return whether the reader takes the example's question and context."""
    try:
        reader.encode(example.item)
    except InvalidRequest:
        return False
    return True
