"""The states that flow between modules over a passage of T words.

They are attention, numbers or dates in the text, and amounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from analysis.programs.values import split_date
from modelserver.modular.text.quantities import Quantity
from modelserver.modular.text.reading import Quantities

EPSILON = 1e-12  # keeps quotients and logarithms finite; far below what a softmax leaves on a word


@dataclass(frozen=True)
class Attention:
    """A distribution over the words, [T], and the probability of any event.

    A distribution cannot say that nothing is there; ``presence``, in [0, 1], does, for `count` alone.
    ``ends`` are the logits of an answer's first and last word, [2, T], if a module gives them itself.
    """

    weights: Tensor
    presence: Tensor
    ends: Tensor | None = None


@dataclass(frozen=True)
class Mentions:
    """A distribution over N numbers (or dates) with the events they belong to.

    ``joint``, [T, N], sums to 1: its columns give the distribution over numbers, its rows that over
    events.
    """

    joint: Tensor
    quantities: Quantities
    presence: Tensor

    @property
    def probabilities(self) -> Tensor:
        """Return the distribution over the numbers, [N]."""
        return self.joint.sum(0)

    @property
    def events(self) -> Tensor:
        """Return the distribution over the words of the events, [T]."""
        return self.joint.sum(1)

    @property
    def weights(self) -> Tensor:
        """Return the distribution over the words that state the numbers, [T].

        A number shares its words equally.
        """
        return self.probabilities @ compute_word_shares(self.quantities, len(self.joint)).to(self.joint)

    def scale_probabilities(self, factors: Tensor) -> Mentions:
        """Return the mentions with each number's probability scaled.

        Events follow their numbers.
        """
        return replace(self, joint=self.joint * factors)


@dataclass(frozen=True)
class Amount:
    """A distribution over V distinct numbers, [V], in the text or not.

    ``logs`` are the logarithms of the probabilities if these may be too small to be distinguished from
    0.
    """

    values: Tensor  # in double precision, ascending
    probabilities: Tensor
    logs: Tensor | None = None


State = Attention | Mentions | Amount


def compute_word_shares(quantities: Quantities, words: int) -> Tensor:
    """Return the share of each word in each number, [N, T]; rows sum to 1."""
    shares = torch.zeros(len(quantities), words)
    for row, (first, beyond) in enumerate(quantities.words):
        shares[row, first:beyond] = 1 / (beyond - first)
    return shares


def merge_values(values: Tensor, probabilities: Tensor) -> Amount:
    """Return an amount with every value once."""
    distinct, indices = torch.unique(values, return_inverse=True)
    return Amount(distinct, probabilities.new_zeros(len(distinct)).index_add(0, indices, probabilities))


def to_amount(state: State) -> Amount:
    """Return numbers in the text as their values; an amount stays as it is."""
    if isinstance(state, Amount):
        return state
    assert isinstance(state, Mentions), "expected an amount, not an attention"
    return merge_values(collect_values(state.quantities.items).to(state.joint.device), state.probabilities)


def collect_values(quantities: Sequence[Quantity]) -> Tensor:
    """Return the values of numbers, or the years of dates."""
    values = [
        split_date(quantity.value)[0] if isinstance(quantity.value, str) else quantity.value
        for quantity in quantities
    ]
    return torch.tensor(values, dtype=torch.float64)


def make_presence(attention: Tensor) -> Tensor:
    """Return a presence of 1, on the device of an attention."""
    return attention.new_ones(())
