"""The modules of `text-nmn`: vectors and probabilities over a passage.

Sources: Gupta et al. 2020 (Neural Module Networks for Reasoning over Text), section 3.3, and Subramanian
et al. 2020 (N20), section 2.2 and appendix A. Words of the question are M, of the passage T, numbers (or
dates) of the passage N, and a vector has W entries. A module that departs from the papers says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from analysis.programs.values import compare_dates
from modelserver.modular.text.reading import Quantities, TextFeatures
from modelserver.modular.text.states import (
    EPSILON,
    Amount,
    Attention,
    Mentions,
    State,
    collect_values,
    compute_word_shares,
    make_presence,
    merge_values,
    to_amount,
)

SAMPLES = 3  # drawn for the largest or smallest of a distribution (Gupta et al. 2020)
MOST_COUNTED = 20
COUNT_SPREAD = 0.25  # of a count around its mean
MOST_VALUES = 500  # of a sum or difference that are carried on, the most probable
FLOOR = 0.01  # share of the highest edge that every word has as an answer's first or last
SMALLEST = 1e-38  # a positive number that single precision still holds
ENDS_WIDTH = 16  # numbers of a word that the search for an answer's ends looks at


@dataclass(frozen=True)
class Text:
    """One item in vectors: question words [M, W] and passage words [T, W].

    ``similar`` [M, T] is the input of `find`: for each word of the question a distribution over the
    passage.
    """

    question: Tensor
    words: Tensor
    similar: Tensor
    reading: TextFeatures

    @property
    def nowhere(self) -> Tensor:
        """Return equal attention to all question words, for modules without words."""
        return self.question.new_full((len(self.question),), 1 / len(self.question))


class Modules(nn.Module):
    """All modules, with the parameters of those that have any."""

    def __init__(self, width: int) -> None:
        super().__init__()
        scale = 1 / math.sqrt(width)
        self.find_product = nn.Parameter(torch.full((width,), scale))
        self.find_word = nn.Linear(width, 1)
        self.find_same = nn.Parameter(torch.tensor(1.0))
        self.filter_word = nn.Linear(3 * width, 1)
        self.relocate_product = nn.Parameter(torch.full((width,), scale))
        self.relocate_word = nn.Linear(width, 1)
        self.bilinear = nn.ParameterDict(
            {kind: nn.Parameter(torch.eye(width) * scale) for kind in ("numbers", "dates")}
        )
        self.nearness = nn.ParameterDict(
            {kind: nn.Parameter(torch.tensor(-3.0)) for kind in ("numbers", "dates", "relocate")}
        )
        self.gate = nn.Parameter(torch.tensor((0.5, 10.0)))  # of `count`: threshold and steepness
        self.local = nn.Linear(width, ENDS_WIDTH)
        self.edges = nn.Sequential(
            nn.Conv1d(ENDS_WIDTH + 3, 2 * ENDS_WIDTH, 5, padding=2),
            nn.GELU(),
            nn.Conv1d(2 * ENDS_WIDTH, 2, 5, padding=2),
        )
        self.extract = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2))
        last = self.edges[-1]
        assert isinstance(last, nn.Conv1d)
        assert last.bias is not None
        nn.init.zeros_(last.weight)  # untrained, an answer begins and ends where attention does
        nn.init.zeros_(last.bias)

    # --- modules that look at words ---------------------------------------------------------------------

    def text(self, question: Tensor, words: Tensor, reading: TextFeatures) -> Text:
        """Return an item in vectors.

        Words equal to one of the question get a bonus that is learned.
        """
        logits = (question * self.find_product) @ words.T + self.find_word(words).T
        same = torch.from_numpy(reading.same).to(logits)
        return Text(question, words, torch.softmax(logits + self.find_same * same, 1), reading)

    def find(self, text: Text, asked: Tensor) -> Attention:
        """Attend to words similar to those of the argument; ``asked`` sums to 1.

        ``asked`` is [M].
        """
        weights = asked @ text.similar
        return Attention(weights, make_presence(weights))

    def filter(self, text: Text, asked: Tensor, below: Attention) -> Attention:
        """Keep each word with a probability of its own.

        Presence becomes that of the strongest word kept, a departure from the papers, whose filter always
        leaves a whole distribution, so that nothing can be counted as 0.
        """
        question = (asked @ text.question).expand_as(text.words)
        seen = torch.cat((question, text.words, question * text.words), 1)
        logits = self.filter_word(seen).squeeze(1)
        # In logarithms, so that shares sum to 1 even if almost nothing remains.
        logs = torch.log(below.weights.clamp_min(SMALLEST)) + functional.logsigmoid(logits)
        weights = torch.exp(logs - logs.max().detach()) * (below.weights > 0)
        left = (below.weights / below.weights.max() * torch.sigmoid(logits)).max()
        return Attention(weights / weights.sum(), below.presence * left)

    def relocate(self, text: Text, asked: Tensor, below: Attention | Mentions) -> Attention:
        """Move attention from each word to those that are asked for of it."""
        question = asked @ text.question
        logits = ((question + text.words) * self.relocate_product) @ text.words.T
        logits = logits + self.relocate_word(text.words).T
        positions = torch.arange(len(text.words), device=logits.device)
        logits = logits - self._cost("relocate") * (positions[:, None] - positions[None, :]).abs()
        return Attention(below.weights @ torch.softmax(logits, 1), below.presence)

    def find_mentions(self, text: Text, below: Attention, kind: str) -> Mentions:
        """Attend to the numbers (or dates) of each word: find-num, find-date."""
        quantities = text.reading.numbers if kind == "numbers" else text.reading.dates
        return Mentions(below.weights[:, None] * self.grounding(text, kind), quantities, below.presence)

    def grounding(self, text: Text, kind: str) -> Tensor:
        """Return for each word a distribution over numbers (or dates), [T, N].

        Beside the bilinear form of the papers, a number costs more the further away it is; this cost is
        learned, too.
        """
        quantities = text.reading.numbers if kind == "numbers" else text.reading.dates
        vectors = compute_word_shares(quantities, len(text.words)).to(text.words) @ text.words  # [N, W]
        logits = text.words @ self.bilinear[kind] @ vectors.T
        firsts = torch.tensor([first for first, _ in quantities.words], device=logits.device)
        positions = torch.arange(len(text.words), device=logits.device)
        return torch.softmax(logits - self._cost(kind) * (positions[:, None] - firsts[None, :]).abs(), 1)

    def _cost(self, kind: str) -> Tensor:
        return functional.softplus(self.nearness[kind])

    def extract_answer(self, text: Text) -> Attention:
        """Return the ends of the answer from the passage alone.

        Attention is the mean of the two.
        """
        ends = self.extract(text.words).T
        weights = torch.softmax(ends, 1).mean(0)
        return Attention(weights, make_presence(weights), ends)

    # --- modules that compute ---------------------------------------------------------------------------

    def find_extreme(self, text: Text, below: Attention | Mentions, *, largest: bool) -> Attention | Mentions:
        """Return the event with the largest or smallest number.

        These are find-max-num and find-min-num. The distribution is that of the extreme of SAMPLES
        draws.
        """
        mentions = self._mentions(text, below, "numbers")
        chosen = mentions.scale_probabilities(weigh_extremes(mentions, largest=largest))
        return chosen if isinstance(below, Mentions) else Attention(chosen.events, below.presence)

    def compare(self, text: Text, first_state: State, second_state: State, choice: str) -> Attention:
        """Return the event with the larger or smaller number (or date).

        These are num-compare and date-compare.
        """
        kind = "numbers" if choice in ("greater", "less") else "dates"
        first, second = (self._mentions(text, state, kind) for state in (first_state, second_state))
        wins = _compute_wins(first.quantities, choice).to(first.joint)
        p = (first.probabilities @ wins @ second.probabilities).clamp(max=1)  # as if nothing were rounded
        weights = p * _get_events(first_state) + (1 - p) * _get_events(second_state)
        return Attention(weights, torch.maximum(first.presence, second.presence))

    def _mentions(self, text: Text, state: State, kind: str) -> Mentions:
        assert not isinstance(state, Amount)
        return state if isinstance(state, Mentions) else self.find_mentions(text, state, kind)

    def count(self, below: Attention | Mentions) -> Amount:
        """Count the separate stretches that attention rests on.

        Attention, as a share of its highest, passes a gate from 0 to 1; the mean count is the sum of all its
        rises from one word to the next. On stretches of equal attention it is exact, whatever the gate has
        learned. Gupta et al. count with a recurrent network that must be trained on made-up attention first.
        Around the mean probability falls as exp(-sqrt(1 + (distance / spread)^2)): near it like the normal
        distribution of the papers, but so that a count that is far off can still be learned from.
        """
        share = below.weights / below.weights.max()
        middle, steep = self.gate[0], functional.softplus(self.gate[1])
        low, high = torch.sigmoid(-steep * middle), torch.sigmoid(steep * (1 - middle))
        level = (torch.sigmoid(steep * (share - middle)) - low) / (high - low)
        mean = below.presence * functional.relu(torch.diff(level, prepend=level.new_zeros(1))).sum()
        counts = torch.arange(MOST_COUNTED + 1, dtype=torch.float64, device=level.device)
        logs = torch.log_softmax(-torch.sqrt(1 + ((counts - mean) / COUNT_SPREAD) ** 2), 0).to(level.dtype)
        return Amount(counts, logs.exp(), logs)

    def compute_end_logits(self, text: Text, state: Attention) -> Tensor:
        """Return the logits of an answer's first and last word, [2, T].

        An answer begins where attention rises and ends where it falls; what stands around may move it.
        Gupta et al. read both from a recurrent network over attention.
        """
        if state.ends is not None:
            return state.ends
        share = state.weights / state.weights.max()
        around = functional.pad(share, (1, 1))
        rise, fall = (functional.relu(share - near) for near in (around[:-2], around[2:]))
        seen = torch.cat((torch.stack((share, rise, fall)), self.local(text.words).T))
        moved: Tensor = self.edges(seen[None])[0]
        return torch.log(torch.stack((rise, fall)) + FLOOR) + moved


def weigh_extremes(mentions: Mentions, *, largest: bool, samples: int = SAMPLES) -> Tensor:
    """Return the factor by which each number gains as the extreme, [N].

    That is the probability of being the largest (or smallest) of some draws over that of one draw. With
    F the probability that a draw is no larger than a number and G that it is smaller, the number is the
    largest with probability F^n - G^n in place of F - G. The quotient of the two is the sum of F^(n-1-k)
    G^k, which needs no division. Numbers of equal value keep their shares.
    """
    p = mentions.probabilities
    values = collect_values(mentions.quantities.items).to(p.device)
    values = values if largest else -values
    at_most = (values[None, :] <= values[:, None]).to(p) @ p
    below = (values[None, :] < values[:, None]).to(p) @ p
    return torch.stack([at_most ** (samples - 1 - k) * below**k for k in range(samples)]).sum(0)


def combine(left: State, right: State, *, minus: bool) -> Amount:
    """Return the distribution of the sum or difference of two numbers (N20).

    The years between two dates are never negative.
    """
    first, second = to_amount(left), to_amount(right)
    values = first.values[:, None] - second.values if minus else first.values[:, None] + second.values
    if isinstance(left, Mentions) and _has_dates(left):
        values = values.abs()
    return _keep_likeliest(
        merge_values(values.flatten(), torch.outer(first.probabilities, second.probabilities).flatten())
    )


def compute_distance(state: Mentions) -> Amount:
    """Return the distance of two different numbers (or years) of one input.

    This is subtraction with a single input. It is 0 if there is one number only.
    """
    both = to_amount(state)
    same = torch.eye(len(both.values), device=both.values.device)
    pairs = torch.outer(both.probabilities, both.probabilities) * (1 - same)
    pairs = pairs / (pairs.sum() + EPSILON)
    # Rounding may leave a sum above 1, and a probability below 0 has no logarithm.
    pairs = pairs + same * (1 - pairs.sum()).clamp(min=0) / len(same)
    values = (both.values[:, None] - both.values).abs()
    return _keep_likeliest(merge_values(values.flatten(), pairs.flatten()))


def _keep_likeliest(state: Amount) -> Amount:
    if len(state.values) <= MOST_VALUES:
        return state
    kept = torch.sort(state.probabilities.topk(MOST_VALUES).indices).values
    probabilities = state.probabilities[kept]
    return Amount(state.values[kept], probabilities / probabilities.sum())


def _has_dates(state: Mentions) -> bool:
    return any(isinstance(quantity.value, str) for quantity in state.quantities.items)


def _get_events(state: State) -> Tensor:
    assert not isinstance(state, Amount)
    return state.events if isinstance(state, Mentions) else state.weights


def _compute_wins(quantities: Quantities, choice: str) -> Tensor:
    """Return how far each number (or date) wins against each other, [N, N].

    1/2 is a tie.
    """
    if choice in ("greater", "less"):
        values = collect_values(quantities.items)
        signs = torch.sign(values[:, None] - values)
    else:
        dates = [str(quantity.value) for quantity in quantities.items]
        signs = torch.tensor([[compare_dates(date, other) or 0 for other in dates] for date in dates])
    wanted = signs if choice in ("greater", "later") else -signs
    return (1 + wanted) / 2
