"""The recurrent readers as the methods of saliency see them: the vectors of words, and the logits from them.

Rows are the question's words and then the context's words that the answer heads see, in what
`Embedder.forward` gives, or `Embedder.forget` where facts were selected. Which facts those are is held as
the system chose on the item as it is: the choice is a step, and no gradient passes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from modelserver.decoding import best_span
from modelserver.errors import PredictionFailed
from modelserver.saliency.attribution import IN_QUESTION, Subject
from modelserver.schema import QAItem, SaliencyOptions
from modelserver.systems.recurrent import Batch, Outputs, Qi2019, SelectAndForget, collate
from modelserver.text import NUMBER_FEATURES, Features, Ints, tokenise

ASKED = -1 - NUMBER_FEATURES  # the column of a word's vector that says whether the question has it


class Reader(Protocol):
    """What is needed of a `RecurrentSystem`."""

    model: Qi2019 | SelectAndForget
    device: torch.device

    def features(self, item: QAItem) -> Features: ...


class Read(NamedTuple):
    """What was read of an item: S of its K context words."""

    features: Features
    seen: Ints  # [S] the words, by their place in the context
    span: bool  # whether the end logit counts too


class RecurrentSaliency:
    """A `RecurrentSystem` as `Explainable`."""

    def __init__(self, system: Reader) -> None:
        self._system, self._model = system, system.model

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Subject]:
        features = [self._system.features(item) for item in items]
        batch = collate(features, self._system.device)
        with torch.no_grad():
            question, rows = self._model.embed(batch)
            outputs = self._model(batch)
            if isinstance(self._model, SelectAndForget):
                rows = self._model.embed.forget(batch, rows, outputs.seen)
            unknown = self._model.embed.unknown(rows) if options.baseline == "mask" else rows.new_zeros(1)
        marked = options.baseline == "mask"
        subjects, token, row = [], 0, 0
        for number, (item, of) in enumerate(zip(items, features, strict=True)):
            part = slice(token, token := token + len(of.word))
            read = Read(of, np.flatnonzero(outputs.seen[part].cpu().numpy()), options.target == "span")
            vectors = torch.cat([question[number, : len(of.question_word)], rows[row : row + len(read.seen)]])
            row += len(read.seen)
            baseline = unknown.expand_as(vectors).clone()
            if marked:  # a word of the question is one whatever it is
                baseline[: len(of.question_word), ASKED] = 1.0
            subjects.append(_subject(item, read, outputs, part, vectors, baseline))
        return subjects

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        reads: list[Read] = [subject.inner for subject in subjects]
        asked = [len(read.features.question_word) for read in reads]
        features = [_hide(read, rows_) for read, rows_ in zip(reads, hidden, strict=True)]
        batch = collate(features, self._system.device)
        question = nn.utils.rnn.pad_sequence(
            [one[:m] for one, m in zip(rows, asked, strict=True)], batch_first=True
        )
        context = torch.cat([one[m:] for one, m in zip(rows, asked, strict=True)])
        starts = np.cumsum([0] + [len(of.word) for of in features])
        seen = np.zeros(starts[-1], dtype=bool)
        for start, read in zip(starts[:-1], reads, strict=True):
            seen[start + read.seen] = True
        kept = torch.from_numpy(seen).to(context.device)
        if any(rows_ is not None for rows_ in hidden):  # a hidden word is no longer asked for, either
            context = torch.cat(
                [context[:, :ASKED], batch.asked[kept, None].float(), context[:, ASKED + 1 :]], 1
            )
        start, end = self._answer(question, context, batch, kept)
        sums = np.cumsum([0] + [len(read.seen) for read in reads[:-1]]) - asked
        first = torch.from_numpy(sums + [subject.first for subject in subjects]).to(start.device)
        last = torch.from_numpy(sums + [subject.last for subject in subjects]).to(start.device)
        return start[first] + end[last] if reads[0].span else start[first]

    def _answer(self, question: Tensor, rows: Tensor, batch: Batch, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return start and end logits of the seen words."""
        if isinstance(self._model, Qi2019):
            outputs = self._model.from_vectors(question, rows, batch)
            return outputs.start, outputs.end
        rest = batch.context.only(seen)
        start, end, _ = self._model.answer(self._model.read_for_answer(question, rows, rest, batch), rest)
        return start, end


def _subject(
    item: QAItem, read: Read, outputs: Outputs, part: slice, vectors: Tensor, baseline: Tensor
) -> Subject:
    start, end = (x[part].float().cpu().numpy() for x in (outputs.start, outputs.end))
    seen = outputs.seen[part].cpu().numpy()
    if not len(read.seen):
        raise PredictionFailed("the answer heads saw no word, and there is no logit to explain")
    if np.isnan(start).any() or np.isnan(end).any():
        raise PredictionFailed("the system's scores are not numbers: its weights are damaged")
    best = int(np.where(seen, start, -np.inf).argmax())
    span = best_span(start, end, seen, read.features) if read.span else (best, best)
    assert span is not None  # some word was seen
    asked = [(IN_QUESTION, 0, token.start, token.end) for token in tokenise(item.question)]
    first, last = len(asked) + np.searchsorted(read.seen, span)
    return Subject(
        item=item,
        rows=vectors,
        baseline=baseline,
        places=np.concatenate([np.array(asked, dtype=np.int64), read.features.places[read.seen]]),
        first=int(first),
        last=int(last),
        cost=len(read.features),
        inner=read,
    )


def _hide(read: Read, hidden: Ints | None) -> Features:
    """Return the features with hidden words that equal no other word."""
    features = read.features
    if hidden is None:
        return features
    asked = len(features.question_word)
    question, context = features.question_key.copy(), features.key.copy()
    question[hidden[hidden < asked]] = -1 - hidden[hidden < asked]  # the key of no word is below 0
    context[read.seen[hidden[hidden >= asked] - asked]] = -1 - hidden[hidden >= asked]
    return replace(features, question_key=question, key=context)
