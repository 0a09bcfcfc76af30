"""The answer-fact coupling regulariser.

Source: Schuff, Adel and Vu 2020, §3.3, equation 1.

For one question, with p_a the probability of the right answer and p_e that of the gold facts::

    J = p_a * ((1 - p_e) * c1)                              right answer
      + (1 - p_a) * (p_e * c2 + (1 - p_e) * c3)             wrong answer

The right answer with the right facts costs nothing, with other facts c1; a wrong answer costs c2 with the
right facts and c3 with others. Multiplied out, ``J = c3 - (c3 - c1) p_a - (c3 - c2) p_e - (c1 + c2 - c3)
p_a p_e``: answer and facts are coupled exactly if c1 + c2 > c3.

p_a is P(start) * P(end) of the gold span. The paper defines it for spans alone, and its released code reads a
stray token for a yes/no question; here p_a of such a question is the probability of its type.

p_e is the product of the gold facts' probabilities or, as in the paper's experiments, their sum, which is
above 1 when several are likely: ``1 - p_e`` is then negative, and J a reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Form = Literal["sum", "product"]
FORMS: tuple[Form, ...] = ("sum", "product")


@dataclass(frozen=True)
class Coupling:
    """The costs and the form of p_e; the defaults are those of qi2019-reg."""

    c1: float = 4.0  # right answer, other facts
    c2: float = 2.0  # wrong answer, gold facts
    c3: float = 3.0  # wrong answer, other facts
    form: Form = "sum"


def compute_coupling_cost(answer: Tensor, explanation: Tensor, coupling: Coupling) -> Tensor:
    """Return J of each question: [N] from p_a [N] and p_e [N]."""
    right = (1 - explanation) * coupling.c1
    wrong = explanation * coupling.c2 + (1 - explanation) * coupling.c3
    return answer * right + (1 - answer) * wrong


def compute_answer_probability(
    start: Tensor, end: Tensor, kind: Tensor, *, first: Tensor, last: Tensor, types: Tensor
) -> Tensor:
    """Return p_a, [N].

    Args:
        start: Logits [N, T] of the answer's first token.
        end: Logits [N, T] of its last token.
        kind: Logits [N, 3] of the type.
        first: First token of the gold span [N], below 0 without a span.
        last: Last token of the gold span [N], below 0 without a span.
        types: Gold types [N].
    """
    no_span = first < 0
    in_log = (
        torch.log_softmax(start, -1).gather(1, first.clamp(min=0)[:, None])
        + torch.log_softmax(end, -1).gather(1, last.clamp(min=0)[:, None])
    )[:, 0]
    typed = torch.log_softmax(kind, -1).gather(1, types[:, None])[:, 0]
    return torch.where(no_span, typed, in_log).exp()


def compute_explanation_probability(
    facts: Tensor, gold: Tensor, example: Tensor, n: int, form: Form
) -> Tensor:
    """Return p_e, [N]: sum or product of the gold facts' probabilities.

    Without gold facts the sum is 0 and the product 1.

    Args:
        facts: Logits [F, 2].
        gold: True for a gold fact [F].
        example: Question of each fact [F].
        n: Number of questions.
        form: Sum or product.
    """
    relevance = torch.log_softmax(facts, -1)[gold, 1]
    if form == "sum":
        relevance = relevance.exp()
    total = relevance.new_zeros(n).index_add(0, example[gold], relevance)
    return total if form == "sum" else total.exp()
