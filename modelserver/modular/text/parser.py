"""The parser: reads the question and writes a program by productions.

An encoder-decoder with attention to the question's words, whose decoder can only choose among
productions that fit (Krishnamurthy et al. 2017; Subramanian et al. 2020, section 2.2). Productions are
numbered as `grammar.list_all_productions` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from modelserver.inputs.decoding import require_finite_logits
from modelserver.modular.text.grammar import MOST_NODES, Derivation, Language, list_all_productions

NO_PRODUCTION = len(list_all_productions())  # the production before the first one and above the root


class Memory(NamedTuple):
    """The decoder's state for R rows between two steps."""

    hidden: Tensor  # [R, W]
    cell: Tensor  # [R, W]
    last: Tensor  # [R, W] what the last production attended to


@dataclass(frozen=True)
class Parse:
    """A program with its log probability, [], and its nodes' attentions.

    Each attention is over the question, [M], or None.
    """

    derivation: Derivation
    score: Tensor
    asked: tuple[Tensor | None, ...]


class Parser(nn.Module):
    """An LSTM cell over productions, with attention to the question's words.

    Vectors have W entries.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before = nn.Embedding(NO_PRODUCTION + 1, width)
        self.above = nn.Embedding(NO_PRODUCTION + 1, width)
        self.cell = nn.LSTMCell(3 * width, width)
        self.start = nn.Linear(width, width)
        self.look = nn.Linear(width, width)
        self.choose = nn.Linear(2 * width, NO_PRODUCTION)
        self.chosen = nn.Embedding(NO_PRODUCTION, width)
        self.ask = nn.Linear(3 * width, width)

    def begin(self, question: Tensor) -> Memory:
        """Return the memory before the first step; question [R, M, W], unpadded."""
        first = torch.tanh(self.start(question.mean(1)))
        return Memory(first, torch.zeros_like(first), torch.zeros_like(first))

    def step(
        self, question: Tensor, memory: Memory, before: Sequence[int], above: Sequence[int]
    ) -> tuple[Memory, Tensor, Tensor]:
        """Return the next memory, the attended vectors and production logits.

        Args:
            question: [R, M, W].
            memory: The state after the step before.
            before: The last production of each row.
            above: The production of the node above the slot to fill.

        Returns:
            The memory, [R, W] and [R, NO_PRODUCTION].
        """
        device = question.device
        last, parent = (torch.tensor(numbers, device=device) for numbers in (before, above))
        inputs = (self.before(last), self.above(parent), memory.last)
        hidden, cell = self.cell(torch.cat(inputs, 1), (memory.hidden, memory.cell))
        seen = _apply_attention(question, _compute_attention(question, self.look(hidden)))
        logits = self.choose(torch.cat((hidden, seen), 1))
        return Memory(hidden, cell, memory.last), seen, logits

    def attend_to_question(
        self, question: Tensor, memory: Memory, seen: Tensor, chosen: Sequence[int]
    ) -> Tensor:
        """Return the attention of the chosen productions to the question, [R, M]."""
        which = self.chosen(torch.tensor(chosen, device=question.device))
        return _compute_attention(question, self.ask(torch.cat((memory.hidden, seen, which), 1)))

    def force(self, question: Tensor, derivations: Sequence[Derivation], language: Language) -> list[Parse]:
        """Score given programs for one question, [M, W]; return their parses.

        A production that the language would not allow counts as if it were allowed beside those that
        are.
        """
        rows = question.expand(len(derivations), -1, -1)
        memory = self.begin(rows)
        scores = question.new_zeros(len(derivations))
        asked: list[list[Tensor | None]] = [[] for _ in derivations]
        growing = [Derivation() for _ in derivations]
        for index in range(max(len(derivation.taken) for derivation in derivations)):
            taken = [
                derivation.taken[index] if index < len(derivation.taken) else 0 for derivation in derivations
            ]
            live = [index < len(derivation.taken) for derivation in derivations]
            memory, seen, logits = self.step(rows, memory, *_find_context(growing))
            masked = logits + _build_mask(growing, language, logits, also=taken)
            step = torch.log_softmax(masked, 1)[range(len(taken)), taken]
            scores = scores + torch.where(torch.tensor(live, device=scores.device), step, torch.zeros(()))
            attention = self.attend_to_question(rows, memory, seen, taken)
            memory = _update_memory(memory, rows, attention, taken)
            for row, number in enumerate(taken):
                if live[row]:
                    growing[row] = growing[row].take(number)
                    asked[row].append(attention[row] if list_all_productions()[number].worded else None)
        return [Parse(derivation, scores[row], tuple(asked[row])) for row, derivation in enumerate(growing)]

    def beam(self, question: Tensor, language: Language, size: int) -> list[Derivation]:
        """Return the most probable programs by beam search, best first.

        The question is [M, W].

        Raises PredictionFailed for logits that are not finite.
        """
        growing, scores, done = [Derivation()], question.new_zeros(1), list[tuple[float, Derivation]]()
        rows = question[None]
        memory = self.begin(rows)
        for _ in range(MOST_NODES):
            memory, seen, logits = self.step(
                rows.expand(len(growing), -1, -1), memory, *_find_context(growing)
            )
            require_finite_logits(logits.detach().cpu().numpy())
            total = scores[:, None] + torch.log_softmax(logits + _build_mask(growing, language, logits), 1)
            best = total.flatten().topk(min(size, int(torch.isfinite(total).sum())))
            row, number = (
                part.tolist() for part in (best.indices // NO_PRODUCTION, best.indices % NO_PRODUCTION)
            )
            grown = [growing[r].take(n) for r, n in zip(row, number, strict=True)]
            memory = Memory(*(part[row] for part in memory))
            attention = self.attend_to_question(rows.expand(len(row), -1, -1), memory, seen[row], number)
            memory = _update_memory(memory, rows.expand(len(row), -1, -1), attention, number)
            done += [(float(s), d) for s, d in zip(best.values, grown, strict=True) if d.done]
            live = [index for index, grown_program in enumerate(grown) if not grown_program.done]
            done = sorted(done, key=lambda grown_program: -grown_program[0])[:size]
            if not live or (len(done) == size and float(best.values[live].max()) < done[-1][0]):
                break
            growing, scores = [grown[index] for index in live], best.values[live]
            memory = Memory(*(part[live] for part in memory))
        return [grown_program for _, grown_program in done]


def _compute_attention(question: Tensor, query: Tensor) -> Tensor:
    """Return a distribution over the words, [R, M], of queries [R, W]."""
    return torch.softmax((question @ query[:, :, None]).squeeze(2) / question.shape[2] ** 0.5, 1)


def _apply_attention(question: Tensor, attention: Tensor) -> Tensor:
    return (attention[:, None, :] @ question).squeeze(1)


def _update_memory(memory: Memory, question: Tensor, attention: Tensor, taken: Sequence[int]) -> Memory:
    """Return the memory with the words attended to last.

    Productions without words leave it as it was.
    """
    worded = torch.tensor(
        [list_all_productions()[number].worded for number in taken], device=attention.device
    )
    return memory._replace(
        last=torch.where(worded[:, None], _apply_attention(question, attention), memory.last)
    )


def _find_context(derivations: Sequence[Derivation]) -> tuple[list[int], list[int]]:
    """Return each derivation's last production, and that above the next slot."""
    before = [derivation.taken[-1] if derivation.taken else NO_PRODUCTION for derivation in derivations]
    return before, [_find_parent(derivation) for derivation in derivations]


def _find_parent(derivation: Derivation) -> int:
    if derivation.done or not derivation.taken:
        return NO_PRODUCTION
    depth = derivation.open[-1][1] - 1
    return next(
        n for n, d in zip(reversed(derivation.taken), reversed(derivation.depths), strict=True) if d == depth
    )


def _build_mask(
    derivations: Sequence[Derivation], language: Language, logits: Tensor, also: Sequence[int] | None = None
) -> Tensor:
    """Return 0 for productions that fit, else -inf, [R, NO_PRODUCTION]."""
    mask = torch.full(logits.shape, -torch.inf)
    for row, derivation in enumerate(derivations):
        mask[row, derivation.list_allowed(language)] = 0
        if also is not None:
            mask[row, also[row]] = 0
    return mask.to(logits.device)
