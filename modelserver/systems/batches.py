"""Several items as tensors without padding, for recurrent readers.

Sizes in the comments:

    N examples, K context tokens of them all (no padding), M question tokens (padded), F facts of them all,
    U spellings, T tokens of the longest context.

Tokens are kept flat, [K, …], and padded only inside a layer, so that padding never reaches a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from modelserver.inputs.features import NO_FACT, Features


@dataclass(frozen=True)
class Groups:
    """The group, of G, that each of K rows belongs to.

    Rows of a group lie together, in order.
    """

    row: Tensor  # [K] where the row goes in a padded [G * L] array
    mask: Tensor  # [G, L] true where a row is
    onwards: Tensor  # [K] the rows when packed: the first of every group, then the second of every group …
    backwards: Tensor  # [K] the same when each group is read from its end
    sizes: tuple[int, ...]  # rows of each packed step; longer groups come first, so they only fall

    @classmethod
    def of(cls, ids: Tensor, n: int) -> Groups:
        """Group K rows by ``ids`` [K], numbers from 0 to ``n`` - 1 in order."""
        count = torch.bincount(ids, minlength=n)  # [G]
        start = count.cumsum(0) - count
        place = torch.arange(len(ids), device=ids.device) - start[ids]  # [K]
        longest = max(1, int(count.max())) if n else 1
        mask = torch.arange(longest, device=ids.device) < count[:, None]
        rank = torch.argsort(torch.argsort(count, descending=True, stable=True))[ids]  # [K] of its group
        sizes = torch.bincount(place, minlength=longest)  # [L]
        first = sizes.cumsum(0) - sizes
        onwards = torch.argsort(first[place] + rank)
        backwards = torch.argsort(first[count[ids] - 1 - place] + rank)
        return cls(ids * longest + place, mask, onwards, backwards, tuple(sizes.tolist()))

    def pad(self, rows: Tensor) -> Tensor:  # [K, d] -> [G, L, d]
        """Return the rows with padding, [G, L, d]."""
        groups, longest = self.mask.shape
        flat = rows.new_zeros(groups * longest, *rows.shape[1:])
        return flat.index_copy(0, self.row, rows).view(groups, longest, *rows.shape[1:])

    def flatten(self, padded: Tensor) -> Tensor:  # [G, L, d] -> [K, d]
        """Return padded rows without padding, [K, d]."""
        return padded.flatten(0, 1)[self.row]

    def pack(self, rows: Tensor) -> Tensor:  # [K, d] -> [K, d]
        """Return the rows step by step.

        The second half of the columns is read from the end of each group.
        """
        half = rows.shape[1] // 2
        return torch.cat([rows[:, :half][self.onwards], rows[:, half:][self.backwards]], -1)

    def unpack(self, packed: Tensor) -> Tensor:  # [K, d] -> [K, d]
        """Undo `pack`."""
        half = packed.shape[1] // 2
        places = torch.arange(len(packed), device=packed.device)
        onwards, backwards = (
            torch.empty_like(x).scatter_(0, x, places) for x in (self.onwards, self.backwards)
        )
        return torch.cat([packed[:, :half][onwards], packed[:, half:][backwards]], -1)


@dataclass(frozen=True)
class Context:
    """K context tokens visible to a layer, with example, article and fact."""

    example: Tensor  # [K]
    article: Tensor  # [K] numbered through the batch
    fact: Tensor  # [K] numbered through the batch; NO_FACT in a title
    key: Tensor  # [K] equal for equal words
    n: int  # examples
    by_article: Groups = field(init=False)
    by_example: Groups = field(init=False)
    same: Tensor = field(init=False)  # [N, T, T] where two tokens of an example are the same word
    shared: Tensor = field(init=False)  # [K] true where another article of the example has the word too

    def __post_init__(self) -> None:
        _, dense = torch.unique_consecutive(self.article, return_inverse=True)
        articles = int(dense[-1]) + 1 if len(dense) else 0
        by_example = Groups.of(self.example, self.n)
        keys = by_example.pad(self.key)  # [N, T]
        same = keys[:, :, None] == keys[:, None, :]
        # The words of an example as numbers, and the first and last article of each.
        distinct, key = torch.unique(self.key, return_inverse=True)
        _, word = torch.unique(self.example * len(distinct) + key, return_inverse=True)
        first = self.article.new_full((len(word),), articles).scatter_reduce(0, word, dense, "amin")
        last = self.article.new_zeros(len(word)).scatter_reduce(0, word, dense, "amax")
        object.__setattr__(self, "by_article", Groups.of(dense, articles))
        object.__setattr__(self, "by_example", by_example)
        object.__setattr__(self, "same", same)
        object.__setattr__(self, "shared", (first != last)[word])

    def only(self, kept: Tensor) -> Context:
        """Return the context without the rows where ``kept`` [K] is false.

        They leave not even a gap.
        """
        return Context(self.example[kept], self.article[kept], self.fact[kept], self.key[kept], self.n)


@dataclass(frozen=True)
class Batch:
    """Several items as tensors."""

    question_word: Tensor  # [N, M]
    question_form: Tensor  # [N, M]
    question_key: Tensor  # [N, M]
    question_mask: Tensor  # [N, M]
    word: Tensor  # [K]
    form: Tensor  # [K]
    number: Tensor  # [K, NUMBER_FEATURES]
    asked: Tensor  # [K] 1 where the word is in the question
    forms: Tensor  # [U, FORM_LENGTH]
    context: Context
    facts: int  # F
    fact_example: Tensor  # [F]
    features: tuple[Features, ...]  # N, what the tensors were made from


def collate(features: Sequence[Features], device: torch.device) -> Batch:
    """Join items into one batch."""

    def flat(arrays: Sequence[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.concatenate(arrays)).to(device)

    def padded(arrays: Sequence[np.ndarray]) -> Tensor:
        return nn.utils.rnn.pad_sequence([torch.from_numpy(a) for a in arrays], batch_first=True).to(device)

    forms = np.cumsum([0] + [len(f.forms) for f in features])
    facts = np.cumsum([0] + [len(f.facts) for f in features])
    articles = np.cumsum([0] + [1 + int(f.article.max(initial=0)) for f in features])
    context = Context(
        example=flat([np.full(len(f.word), i) for i, f in enumerate(features)]),
        article=flat([f.article + articles[i] for i, f in enumerate(features)]),
        fact=flat([np.where(f.fact == NO_FACT, NO_FACT, f.fact + facts[i]) for i, f in enumerate(features)]),
        key=flat([f.key for f in features]),
        n=len(features),
    )
    return Batch(
        question_word=padded([f.question_word for f in features]),
        question_form=padded([f.question_form + forms[i] for i, f in enumerate(features)]),
        question_key=padded([f.question_key for f in features]),
        question_mask=padded([np.ones(len(f.question_word), dtype=bool) for f in features]),
        word=flat([f.word for f in features]),
        form=flat([f.form + forms[i] for i, f in enumerate(features)]),
        number=flat([f.number for f in features]),
        asked=flat([np.isin(f.key, f.question_key) for f in features]),
        forms=flat([f.forms for f in features]),
        context=context,
        facts=int(facts[-1]),
        fact_example=flat([np.full(len(f.facts), i) for i, f in enumerate(features)]),
        features=tuple(features),
    )
