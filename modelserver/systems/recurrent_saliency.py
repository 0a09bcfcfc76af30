"""Saliency of the recurrent readers: word vectors to logits.

Rows are the question's words and then the context's words that the answer heads see, as
`Embedder.forward` gives them, or `Embedder.forget` if facts were selected. The selection stays as the
system made it on the unchanged item, because it is a step function that no gradient passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from modelserver.inputs.decoding import Bools, find_best_span
from modelserver.inputs.features import NUMBER_FEATURES, Features, Ints, tokenise
from modelserver.saliency.attribution import IN_QUESTION, Subject
from modelserver.systems.batches import Batch, collate
from modelserver.systems.recurrent import Outputs, Qi2019, SelectAndForget
from modelserver.wire.errors import PredictionFailed
from modelserver.wire.schema import QAItem, SaliencyOptions

QUESTION_COLUMN = -1 - NUMBER_FEATURES  # the column of a word's vector that says whether the question has it


class Reader(Protocol):
    """The part of a `RecurrentSystem` that saliency needs."""

    model: Qi2019 | SelectAndForget
    device: torch.device

    def features(self, item: QAItem) -> Features:
        """Return the features of an item."""
        ...


class Read(NamedTuple):
    """The features of the words of an item that the answer heads saw."""

    features: Features
    span: bool  # whether the end logit counts too


class RecurrentSaliency:
    """A `RecurrentSystem` as `Explainable`."""

    def __init__(self, system: Reader) -> None:
        self._system, self._model = system, system.model

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Subject]:
        """Return a subject for each item, its rows the words that were read."""
        features = [self._system.features(item) for item in items]
        batch = collate(features, self._system.device)
        with torch.no_grad():
            question, rows = self._model.embed(batch)
            outputs = self._model.from_vectors(question, rows, batch)
            if isinstance(self._model, SelectAndForget):
                rows = self._model.embed.forget(batch, rows, outputs.seen)
            marked = options.baseline == "mask"
            unknown = self._model.embed.embed_unknown(rows) if marked else rows.new_zeros(1)
        subjects, token, row = [], 0, 0
        for number, (item, of) in enumerate(zip(items, features, strict=True)):
            part = slice(token, token := token + len(of.word))
            seen = np.flatnonzero(outputs.seen[part].cpu().numpy())
            vectors = torch.cat([question[number, : len(of.question_word)], rows[row : row + len(seen)]])
            row += len(seen)
            baseline = unknown.expand_as(vectors).clone()
            if marked:  # a word of the question is one whatever it is
                baseline[: len(of.question_word), QUESTION_COLUMN] = 1.0
            subjects.append(
                _build_subject(item, of, outputs, part, vectors, baseline, span=options.target == "span")
            )
        return subjects

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        """Return the explained score of each subject with the given rows."""
        reads: list[Read] = [subject.inner for subject in subjects]
        asked = [len(read.features.question_word) for read in reads]
        features = [_hide(read, rows_) for read, rows_ in zip(reads, hidden, strict=True)]
        batch = collate(features, self._system.device)
        question = nn.utils.rnn.pad_sequence(
            [vectors[:m] for vectors, m in zip(rows, asked, strict=True)], batch_first=True
        )
        context = torch.cat([vectors[m:] for vectors, m in zip(rows, asked, strict=True)])
        if any(rows_ is not None for rows_ in hidden):  # a hidden word is no longer asked for, either
            context = torch.cat(
                [
                    context[:, :QUESTION_COLUMN],
                    batch.asked[:, None].float(),
                    context[:, QUESTION_COLUMN + 1 :],
                ],
                1,
            )
        start, end = self._answer(question, context, batch)
        sums = np.cumsum([0] + [len(read.features.word) for read in reads[:-1]]) - asked
        first = torch.from_numpy(sums + [subject.first for subject in subjects]).to(start.device)
        last = torch.from_numpy(sums + [subject.last for subject in subjects]).to(start.device)
        return start[first] + end[last] if reads[0].span else start[first]

    def _answer(self, question: Tensor, rows: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return start and end logits of the words that the answer heads see."""
        if isinstance(self._model, Qi2019):
            outputs = self._model.from_vectors(question, rows, batch)
            return outputs.start, outputs.end
        encoded = self._model.read_for_answer(question, rows, batch.context, batch)
        start, end, _ = self._model.answer(encoded, batch.context)
        return start, end


def _build_subject(
    item: QAItem, features: Features, outputs: Outputs, part: slice, vectors: Tensor, baseline: Tensor,
    *, span: bool,
) -> Subject:  # fmt: skip
    start, end = (x[part].float().cpu().numpy() for x in (outputs.start, outputs.end))
    seen = outputs.seen[part].cpu().numpy()
    if not seen.any():
        raise PredictionFailed("the answer heads saw no words, so there is no logit to explain")
    if np.isnan(start).any() or np.isnan(end).any():
        raise PredictionFailed("the system's scores are not numbers: its weights are damaged")
    best = int(np.where(seen, start, -np.inf).argmax())
    ends = find_best_span(start, end, seen, features) if span else (best, best)
    assert ends is not None  # some word was seen
    kept = _select_seen(features, seen)
    asked = [(IN_QUESTION, 0, token.start, token.end) for token in tokenise(item.question)]
    first, last = len(asked) + np.searchsorted(np.flatnonzero(seen), ends)
    return Subject(
        item=item,
        rows=vectors,
        baseline=baseline,
        places=np.concatenate([np.array(asked, dtype=np.int64), kept.places]),
        first=int(first),
        last=int(last),
        cost=len(kept),
        inner=Read(kept, span),
    )


def _select_seen(features: Features, seen: Bools) -> Features:
    """Return the features without unseen words, as the answer heads read them."""
    named = ("word", "form", "key", "number", "fact", "places")
    return replace(features, **{name: getattr(features, name)[seen] for name in named})


def _hide(read: Read, hidden: Ints | None) -> Features:
    """Return the features with hidden words that equal no other word."""
    features = read.features
    if hidden is None:
        return features
    asked = len(features.question_word)
    question, context = features.question_key.copy(), features.key.copy()
    question[hidden[hidden < asked]] = -1 - hidden[hidden < asked]  # the key of no word is below 0
    context[hidden[hidden >= asked] - asked] = -1 - hidden[hidden >= asked]
    return replace(features, question_key=question, key=context)
