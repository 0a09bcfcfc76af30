"""Several items as tensors without padding, for recurrent readers.

Sizes in the comments:

    N examples, K context tokens of them all (no padding), M question tokens (padded), F facts of them all,
    U spellings, T tokens of the longest context.

Tokens lie flat, [K, …], and are padded only inside a layer, so that padding never reaches a result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from modelserver.inputs.features import NO_FACT, Features

PAIRS = 2**19  # pairs of tokens compared at once, so that they stay in a core's cache


@dataclass(frozen=True)
class Groups:
    """The group, of G, that each of K rows belongs to.

    Rows of a group lie together, in order.
    """

    row: Tensor  # [K] where the row goes in a padded [G * L] array
    mask: Tensor  # [G, L] true where a row is
    packed: Tensor  # [2 * S * C] the half row in each slot when packed: see `pack`
    slots: Tensor  # [2K] of each half row when packed
    steps: int  # S rows of a chunk; C chunks: the first of every group, then the second …
    sizes: tuple[int, ...]  # the numbers of first chunks, second chunks …, which only fall
    before: Tensor  # [C - sizes[0]] the chunk before each that is not the first of its group

    @classmethod
    def of(cls, ids: Tensor, n: int) -> Groups:
        """Group K rows by ``ids`` [K], numbers from 0 to ``n`` - 1 in order."""
        count = torch.bincount(ids, minlength=n)  # [G]
        start = count.cumsum(0) - count
        position = torch.arange(len(ids), device=ids.device) - start[ids]  # [K]
        longest = max(1, int(count.max())) if n else 1
        mask = torch.arange(longest, device=ids.device) < count[:, None]
        steps = math.isqrt(longest - 1) + 1
        chunks = (count + steps - 1) // steps  # [G]
        rank = torch.argsort(torch.argsort(chunks, descending=True, stable=True))[ids]  # [K] of its group
        sizes = (chunks > torch.arange((longest - 1) // steps + 1, device=ids.device)[:, None]).sum(1)
        first = sizes.cumsum(0) - sizes

        def compute_slot(position: Tensor) -> Tensor:
            return position % steps * chunks.sum() + first[position // steps] + rank

        slots = torch.stack(
            [2 * compute_slot(position), 2 * compute_slot(count[ids] - 1 - position) + 1], 1
        ).flatten()
        all_chunks, rows = int(chunks.sum()), torch.arange(len(slots), device=ids.device)
        halves = slots.new_zeros(2 * steps * all_chunks).scatter_(0, slots, rows)
        before = torch.arange(int(sizes[0]), all_chunks, device=ids.device)
        before = before - sizes[:-1].repeat_interleave(sizes[1:])
        return cls(ids * longest + position, mask, halves, slots, steps, tuple(sizes.tolist()), before)

    def pad(self, rows: Tensor) -> Tensor:  # [K, d] -> [G, L, d]
        """Return the rows with padding, [G, L, d]."""
        groups, longest = self.mask.shape
        flat = rows.new_zeros(groups * longest, *rows.shape[1:])
        return flat.index_copy(0, self.row, rows).view(groups, longest, *rows.shape[1:])

    def flatten(self, padded: Tensor) -> Tensor:  # [G, L, d] -> [K, d]
        """Return padded rows without padding, [K, d]."""
        return padded.flatten(0, 1)[self.row]

    def pack(self, rows: Tensor) -> Tensor:  # [K, d] -> [S * C, d]
        """Return the first row of every chunk, then the second of every chunk ….

        The second half of the columns is read from the end of each group. A group's last chunk is filled
        up with any rows, because nothing comes after it.
        """
        halves = rows.reshape(len(self.slots), -1)
        return halves.index_select(0, self.packed).view(-1, rows.shape[1])

    def unpack(self, packed: Tensor) -> Tensor:  # [S * C, d] -> [K, d]
        """Undo `pack`."""
        halves = packed.reshape(2 * len(packed), -1)
        return halves.index_select(0, self.slots).view(-1, packed.shape[1])


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
    word: Tensor = field(init=False)  # [K] number of the word, as a float
    lengths: tuple[int, ...] = field(init=False)  # tokens of each example
    shared: Tensor = field(init=False)  # [K] true where another article of the example has the word too

    def __post_init__(self) -> None:
        _, dense = torch.unique_consecutive(self.article, return_inverse=True)
        articles = int(dense[-1]) + 1 if len(dense) else 0
        # The words of an example as numbers, and the first and last article of each.
        distinct, key = torch.unique(self.key, return_inverse=True)
        _, word = torch.unique(self.example * len(distinct) + key, return_inverse=True)
        first = self.article.new_full((len(word),), articles).scatter_reduce(0, word, dense, "amin")
        last = self.article.new_zeros(len(word)).scatter_reduce(0, word, dense, "amax")
        object.__setattr__(self, "by_article", Groups.of(dense, articles))
        object.__setattr__(self, "by_example", Groups.of(self.example, self.n))
        object.__setattr__(self, "word", key.float())
        lengths = torch.bincount(self.example, minlength=self.n)
        object.__setattr__(self, "lengths", tuple(lengths.tolist()))
        object.__setattr__(self, "shared", (first != last)[word])

    def parts(self, rows: Tensor) -> Iterator[tuple[Tensor, Tensor]]:  # [K, d] -> [n, T, d], [n, T]
        """Yield padded rows and words of a few examples at a time.

        The word of padding is -1.
        """
        examples, words = rows.split(self.lengths), self.word.split(self.lengths)
        for few in _split_by_pairs(self.lengths):
            yield (
                nn.utils.rnn.pad_sequence(examples[few], batch_first=True),
                nn.utils.rnn.pad_sequence(words[few], batch_first=True, padding_value=-1),
            )

    def select_rows(self, kept: Tensor) -> Context:
        """Return the context without the rows where ``kept`` [K] is false.

        They leave not even a gap.
        """
        return Context(self.example[kept], self.article[kept], self.fact[kept], self.key[kept], self.n)


def _split_by_pairs(lengths: Sequence[int]) -> Iterator[slice]:
    """Yield slices of neighbours with at most `PAIRS` pairs of tokens.

    Padding counts. A longer example stands alone.
    """
    first = longest = 0
    for at, length in enumerate(lengths):
        longest = max(longest, length)
        if at > first and (at + 1 - first) * longest**2 > PAIRS:
            yield slice(first, at)
            first, longest = at, length
    if lengths:
        yield slice(first, len(lengths))


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

    def join_arrays(arrays: Sequence[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.concatenate(arrays)).to(device)

    def pad_arrays(arrays: Sequence[np.ndarray]) -> Tensor:
        return nn.utils.rnn.pad_sequence([torch.from_numpy(a) for a in arrays], batch_first=True).to(device)

    forms = np.cumsum([0] + [len(f.forms) for f in features])
    facts = np.cumsum([0] + [len(f.facts) for f in features])
    articles = np.cumsum([0] + [1 + int(f.article.max(initial=0)) for f in features])
    context = Context(
        example=join_arrays([np.full(len(f.word), i) for i, f in enumerate(features)]),
        article=join_arrays([f.article + articles[i] for i, f in enumerate(features)]),
        fact=join_arrays(
            [np.where(f.fact == NO_FACT, NO_FACT, f.fact + facts[i]) for i, f in enumerate(features)]
        ),
        key=join_arrays([f.key for f in features]),
        n=len(features),
    )
    return Batch(
        question_word=pad_arrays([f.question_word for f in features]),
        question_form=pad_arrays([f.question_form + forms[i] for i, f in enumerate(features)]),
        question_key=pad_arrays([f.question_key for f in features]),
        question_mask=pad_arrays([np.ones(len(f.question_word), dtype=bool) for f in features]),
        word=join_arrays([f.word for f in features]),
        form=join_arrays([f.form + forms[i] for i, f in enumerate(features)]),
        number=join_arrays([f.number for f in features]),
        asked=join_arrays([np.isin(f.key, f.question_key) for f in features]),
        forms=join_arrays([f.forms for f in features]),
        context=context,
        facts=int(facts[-1]),
        fact_example=join_arrays([np.full(len(f.facts), i) for i, f in enumerate(features)]),
        features=tuple(features),
    )
