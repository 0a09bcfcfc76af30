"""Labelled questions in batches, and the loss of a recurrent reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name everyone uses

from modelserver.inputs.features import Features, find_answer
from modelserver.inputs.hotpot import GoldExample
from modelserver.systems.batches import Batch
from modelserver.systems.recurrent import ANSWER_TYPES, Outputs
from modelserver.training.coupling_loss import (
    Coupling,
    compute_answer_probability,
    compute_coupling_cost,
    compute_explanation_probability,
)

IGNORED = -100  # a label that torch's cross-entropy leaves out


@dataclass(frozen=True)
class Example:
    """A question as numbers with its labels.

    ``start`` and ``end`` are IGNORED if the answer is yes or no.
    """

    features: Features
    start: int
    end: int
    type: int
    facts: npt.NDArray[np.bool_]  # [F] true for a gold fact


def label(gold: GoldExample, features: Features) -> Example | None:
    """Return features with labels, None if the context lacks the answer."""
    gold_facts = set(gold.supporting_facts)
    facts = np.array([fact in gold_facts for fact in features.facts], dtype=bool)
    if gold.answer in ANSWER_TYPES[1:]:
        return Example(features, IGNORED, IGNORED, ANSWER_TYPES.index(gold.answer), facts)
    span = find_answer(features, gold.answer, gold_facts)
    return None if span is None else Example(features, *span, 0, facts)


def draw_batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> Iterator[list[Example]]:
    """Yield batches without end.

    Each pass shuffles, then sorts runs of fifty batches by length.
    """
    run = size * 50
    while True:
        order = rng.permutation(len(examples))
        for first in range(0, len(order), run):
            part = sorted(order[first : first + run], key=lambda i: len(examples[i].features))
            groups = [part[i : i + size] for i in range(0, len(part), size)]
            for index in rng.permutation(len(groups)):
                yield [examples[i] for i in groups[index]]


def compute_loss(
    outputs: Outputs,
    examples: Sequence[Example],
    batch: Batch,
    fact_weight: float,
    coupling: Coupling | None = None,
) -> Tensor:
    """Return the loss: cross-entropies and the cost of the coupling, if any.

    Those of start, end and type, and the cost, are means over examples; that
    of facts is a mean over facts, times ``fact_weight`` (Schuff et al. 2020,
    §3.3 and released code). A span is only learned if the answer heads saw
    its token: a title's token cannot be selected.
    """
    groups, device = batch.context.by_example, outputs.type.device
    types, first, last = (
        torch.tensor([getattr(e, name) for e in examples], device=device) for name in ("type", "start", "end")
    )
    seen = groups.pad(outputs.seen)  # [N, T]
    start, end = (
        groups.pad(x.float()).masked_fill(~groups.mask, -1e30) for x in (outputs.start, outputs.end)
    )
    kind, facts = outputs.type.float(), outputs.facts.float()
    total = F.cross_entropy(kind, types)
    for logits, gold_tokens in ((start, first), (end, last)):
        visible = seen.gather(1, gold_tokens.clamp(min=0)[:, None])[:, 0]
        spans = torch.where(visible, gold_tokens, IGNORED)
        total = total + F.cross_entropy(logits, spans, ignore_index=IGNORED, reduction="sum") / len(examples)
    gold = torch.from_numpy(np.concatenate([e.facts for e in examples])).to(device)
    total = total + fact_weight * F.cross_entropy(facts, gold.long())
    if coupling is None:
        return total
    answer = compute_answer_probability(start, end, kind, first=first, last=last, types=types)
    explanation = compute_explanation_probability(
        facts, gold, batch.fact_example, len(examples), coupling.form
    )
    return total + compute_coupling_cost(answer, explanation, coupling).mean()
