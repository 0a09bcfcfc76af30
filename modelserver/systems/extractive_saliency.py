"""Saliency of an encoder with a span head: token embeddings to logits.

Rows are the embeddings of the question's and the context's tokens in the window that has the explained
logits, before positions and types are added. Tokens of other windows cannot influence these logits, and
the special tokens are the same in every window; neither are among the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
import transformers
from torch import Tensor

from modelserver.inputs.decoding import Bools, Floats, compute_span_scores, find_allowed_spans
from modelserver.inputs.features import Ints
from modelserver.inputs.windows import Encoded, Window, WindowReader
from modelserver.saliency.attribution import IN_QUESTION, Subject
from modelserver.wire.errors import InvalidRequest, PredictionFailed
from modelserver.wire.schema import QAItem, SaliencyOptions


class Encoder(Protocol):
    """The part of an `ExtractiveSystem` that saliency needs."""

    model: transformers.PreTrainedModel
    reader: WindowReader

    def logits(self, windows: Sequence[Window]) -> list[Floats]:
        """Return start and end logits of each window."""
        ...


class Seen(NamedTuple):
    """The window with the explained logits, and if the end logit counts."""

    window: Window
    span: bool


class ExtractiveSaliency:
    """An `ExtractiveSystem` as `Explainable`."""

    def __init__(self, system: Encoder) -> None:
        self._system = system

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Subject]:
        """Return a subject for each item, from its window with the best span."""
        reader = self._system.reader
        windows = [reader.windows(reader.encode(item)) for item in items]
        logits = iter(self._system.logits([window for of_item in windows for window in of_item]))
        return [
            self._subject(item, of_item, [next(logits) for _ in of_item], options)
            for item, of_item in zip(items, windows, strict=True)
        ]

    def _subject(
        self, item: QAItem, windows: Sequence[Window], logits: Sequence[Floats], options: SaliencyOptions
    ) -> Subject:
        span = options.target == "span"
        find = _find_best_span if span else _find_best_start
        longest = self._system.reader.reading.longest
        candidates = [(*find(w, both, longest), w) for w, both in zip(windows, logits, strict=True)]
        value, first, last, window = max(
            candidates, key=lambda scored: scored[0], default=(-np.inf, 0, 0, None)
        )
        if window is None or not np.isfinite(value):
            raise PredictionFailed("the context has no tokens, so there is no logit to explain")
        encoded = window.encoded
        asked = np.pad(encoded.asked, ((0, 0), (2, 0)))
        asked[:, 0] = IN_QUESTION
        ids = np.concatenate([encoded.question, encoded.ids[window.start : window.end]])
        rows = self._embed(torch.from_numpy(ids))
        return Subject(
            item=item,
            rows=rows,
            baseline=self._baseline(options).expand_as(rows),
            places=np.concatenate([asked, encoded.places[window.start : window.end]]),
            first=len(asked) + first,
            last=len(asked) + last,
            cost=self._system.reader.length(window),
            inner=Seen(window, span),
        )

    def _embed(self, ids: Tensor) -> Tensor:
        with torch.no_grad():
            embedded: Tensor = self._system.model.get_input_embeddings()(ids.to(self._system.model.device))
        return embedded.float()

    def _baseline(self, options: SaliencyOptions) -> Tensor:
        mask = self._system.reader.mask
        if options.baseline == "mask" and mask is None:
            raise InvalidRequest(
                'the encoder has no mask token; ask for the baseline "zero"', field="options.baseline"
            )
        row = self._embed(torch.tensor([mask or 0]))
        return row if options.baseline == "mask" else torch.zeros_like(row)

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        """Return the explained score of each subject with the given rows."""
        windows = [subject.inner.window for subject in subjects]
        inputs = self._system.reader.inputs(windows, self._system.model.device)
        tensors = dict(inputs.tensors)
        embedded = self._embed(tensors.pop("input_ids"))  # [J, T, d]
        filled = []
        for of, own, window, offset in zip(embedded, rows, windows, inputs.offset, strict=True):
            asked, read = len(window.encoded.question), window.end - window.start
            between = of[inputs.asked + asked : offset]
            filled.append(
                torch.cat([of[: inputs.asked], own[:asked], between, own[asked:], of[offset + read :]])
            )
        outputs = self._system.model(inputs_embeds=torch.stack(filled), **tensors)
        job = torch.arange(len(subjects), device=embedded.device)
        shift = [o - len(w.encoded.question) for o, w in zip(inputs.offset, windows, strict=True)]
        first, last = (
            torch.tensor([s + row for s, row in zip(shift, ends, strict=True)], device=embedded.device)
            for ends in ([subject.first for subject in subjects], [subject.last for subject in subjects])
        )
        start = outputs.start_logits[job, first].float()
        return start + outputs.end_logits[job, last].float() if subjects[0].inner.span else start


def _find_best_start(window: Window, logits: Floats, longest: int) -> tuple[float, int, int]:
    """Return the largest start logit of a window and its token, twice."""
    start = np.where(window.encoded.solid[window.start : window.end], logits[0], -np.inf)
    best = int(start.argmax())
    return float(start[best]), best, best


def _find_best_span(window: Window, logits: Floats, longest: int) -> tuple[float, int, int]:
    """Return the score, first and last token of a window's best span.

    In the window that scores it highest, it is the system's answer.
    """
    encoded = window.encoded
    part = find_answer_spans(encoded, longest)[window.start : window.end]
    scores = np.where(part, compute_span_scores(logits[0], logits[1], longest), -np.inf)
    first, width = divmod(int(scores.argmax()), longest + 1)
    return float(scores[first, width]), first, first + width


def find_answer_spans(encoded: Encoded, longest: int) -> Bools:
    """Return which spans of an item may be an answer, [K, longest + 1].

    A span lies in one article, not partly in its title, and its ends are tokens with text.
    """
    solid = encoded.solid
    ends = np.lib.stride_tricks.sliding_window_view(np.pad(solid, (0, longest)), longest + 1)
    return find_allowed_spans(np.ones(len(encoded), dtype=bool), encoded, longest) & solid[:, None] & ends
