"""Windows of text with their answers, and the loss of a span head."""

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

    Attributes:
        windows: In the order of the text.
        gold: First and last token of each answer that a window holds whole,
            counted from the window's first token.
    """

    windows: list[Window]
    gold: list[list[tuple[int, int]]]


def find_token_span(encoded: Encoded, span: GoldSpan) -> tuple[int, int] | None:
    """Return the first and last token that touch a span; None without one."""
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
    """Return some windows of an example with their gold spans.

    One window with an answer is always among them; the others are drawn from
    all. None if no window holds an answer whole.
    """
    encoded = reader.encode(example.item)
    spans = [tokens for span in example.spans if (tokens := find_token_span(encoded, span))]
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


def compute_loss(start: Tensor, end: Tensor, offset: Sequence[int], examples: Sequence[Labelled]) -> Tensor:
    """Return the summed loss of examples.

    The loss of a side is the log of the sum of exp(logit) over the context
    tokens of all windows, minus the same over gold tokens; that of an example
    is the mean of both sides. One normaliser for all windows makes their
    scores comparable (Clark and Gardner 2018, shared normalisation).

    Args:
        start: Logits [W, T] of first tokens, a row for each window.
        end: Logits [W, T] of last tokens.
        offset: First context token of each row.
        examples: Their windows are the rows, in this order.
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


def group_by_length(
    examples: Sequence[Labelled], reader: WindowReader, tokens: int
) -> Iterator[list[Labelled]]:
    """Yield groups of like length, with padding at most so many tokens."""
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


def select_learnable(examples: Sequence[ReadingExample], reader: WindowReader) -> list[ReadingExample]:
    """Return readable examples with an answer that fits into a window."""
    return [e for e in examples if is_readable(e, reader) and label(e, reader, 1, np.random.default_rng(0))]


def is_readable(example: ReadingExample, reader: WindowReader) -> bool:
    """Return whether the reader accepts the question and the context."""
    try:
        reader.encode(example.item)
    except InvalidRequest:
        return False
    return True
