"""The loss of text-nmn: answers, and gold programs and module outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from modelserver.modular.text.examples import Example, GoldList
from modelserver.modular.text.execution import execute, log_likelihood
from modelserver.modular.text.grammar import Language, build_derivation
from modelserver.modular.text.modules import Text
from modelserver.modular.text.network import Network
from modelserver.modular.text.parser import Parse
from modelserver.modular.text.reading import find_argument_words
from modelserver.modular.text.states import EPSILON, Amount, State

Outputs = Literal["none", "arguments", "all"]
ARGUMENTS = frozenset({"find-num", "find-nums", "find-date", "ground-two-nums", "ground-two-dates"})
NEARBY_WORDS = (
    10  # words around a word in which its number or date is looked for (Gupta et al. 2020, section 4.1)
)


@dataclass(frozen=True)
class Supervision:
    """Supervision besides the answer.

    Attributes:
        programs: Gold programs and the words of their modules. Without them,
            the most probable programs are tried, and those that lead to the
            answer become more probable.
        auxiliary: Numbers and dates stand near their events.
        outputs: Gold spans of find-num and find-date alone, or of all modules.
        beam: Programs tried for a question.
    """

    programs: bool = True
    auxiliary: bool = True
    outputs: Outputs = "all"
    beam: int = 8


def compute_loss(network: Network, text: Text, example: Example, supervision: Supervision) -> Tensor | None:
    """Return the loss of one example, None if it teaches nothing."""
    language = network.language(text.reading)
    program = example.program if supervision.programs else None
    if program is not None and language.can_express(program):
        parts = _compute_program_losses(network, text, example, supervision, language)
    else:
        parts = _compute_search_losses(network, text, example, supervision, language)
    if supervision.auxiliary:
        parts += _compute_distance_losses(network, text)
    return torch.stack(parts).sum() if parts else None


def _compute_program_losses(
    network: Network, text: Text, example: Example, supervision: Supervision, language: Language
) -> list[Tensor]:
    """Return the losses of parser, question attention, answer and outputs."""
    assert example.program is not None
    (parse,) = network.parser.force(text.question, [build_derivation(example.program)], language)
    states = execute(network.modules_, text, example.program, parse.asked)
    parts = [-parse.score]
    words = text.reading.words()
    for node, asked in zip(example.program.nodes, parse.asked, strict=True):
        positions = find_argument_words(node.argument or "", words)
        if asked is not None and positions:
            parts.append(-torch.log(asked[positions] + EPSILON).mean())
    likelihood = log_likelihood(network.modules_, text, states[0], example.answer)
    if likelihood is not None:
        parts.append(-likelihood)
    for gold in example.gold:
        if supervision.outputs == "all" or (supervision.outputs == "arguments" and gold.module in ARGUMENTS):
            parts.append(_compute_output_loss(states, gold))
    return parts


def _compute_output_loss(states: Sequence[State], gold: GoldList) -> Tensor:
    """Return the mean negative log attention on each gold span.

    Nodes that share a list are merged by maximum, as in faithfulness scores.
    """
    rows = [state.weights for node in gold.nodes if not isinstance(state := states[node], Amount)]
    weights = torch.stack(rows).amax(0)
    sums = torch.stack([weights[start:end].sum() for start, end in gold.spans])
    return -torch.log(sums + EPSILON).mean()


def _compute_search_losses(
    network: Network, text: Text, example: Example, supervision: Supervision, language: Language
) -> list[Tensor]:
    """Return the answer's negative log likelihood over a beam of programs."""
    with torch.no_grad():
        tried = network.parser.beam(text.question, language, supervision.beam)
    parses = network.parser.force(text.question, tried, language)
    joint = [
        p
        for p in (_compute_joint_logprob(network, text, example, parse) for parse in parses)
        if p is not None
    ]
    return [-torch.logsumexp(torch.stack(joint), 0)] if joint else []


def _compute_joint_logprob(network: Network, text: Text, example: Example, parse: Parse) -> Tensor | None:
    """Return the log probability of a program and of the right answer by it."""
    states = execute(network.modules_, text, parse.derivation.program(), parse.asked)
    likelihood = log_likelihood(network.modules_, text, states[0], example.answer)
    return None if likelihood is None else parse.score + likelihood


def _compute_distance_losses(network: Network, text: Text) -> list[Tensor]:
    """Return losses of attention far from numbers and dates.

    Source: Gupta et al. 2020, section 4.1.
    """
    parts = []
    positions = torch.arange(len(text.words))
    for kind, quantities in (("numbers", text.reading.numbers), ("dates", text.reading.dates)):
        firsts = torch.tensor([first for first, _ in quantities.words])
        near = (
            (positions[:, None] - firsts).abs() <= NEARBY_WORDS
            if len(quantities)
            else torch.zeros(len(positions), 0)
        )
        rows = near.any(1)
        if rows.any():
            shares = (network.modules_.grounding(text, kind) * near.to(text.words)).sum(1)
            parts.append(-torch.log(shares[rows.to(shares.device)] + EPSILON).mean())
    return parts
