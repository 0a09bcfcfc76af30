"""Scores of a network: accuracy, and the faithfulness of its modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from analysis.faithfulness.boxes import BoxScores, score_boxes
from analysis.faithfulness.examples import OutputExample, OutputModule, is_scored
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.folder import Network
from modelserver.modular.visual.network import Forward
from modelserver.modular.visual.plans import Plan
from modelserver.modular.visual.regions import collate
from modelserver.modular.visual.scene_data import Example

BATCH = 64


def compute_node_boxes(plan: Plan, forward: Forward, example: int, node: int) -> Tensor:
    """Return a node's boxes [images, m], the maximum over all its runs."""
    rows = [forward.outputs.row[example, job] for job in plan.runs[node]]
    return forward.outputs.boxes[rows].amax(dim=0)


@torch.inference_mode()
def compute_outputs(network: Network, examples: Sequence[Example]) -> tuple[list[float], list[OutputExample]]:
    """Return each statement's probability and its modules' outputs.

    The baseline has no modules.
    """
    device = next(network.parameters()).device
    truths: list[float] = []
    predicted: list[OutputExample] = []
    for first in range(0, len(examples), BATCH):
        batch = examples[first : first + BATCH]
        sights = collate([example.regions for example in batch], device)
        if isinstance(network, Baseline):
            truths += network([example.sentence for example in batch], sights).tolist()
            continue
        forward = network([example.question for example in batch], sights)
        truths += forward.truth.tolist()
        predicted += [_build_output(example, forward, index) for index, example in enumerate(batch)]
    return truths, predicted


def _build_output(example: Example, forward: Forward, index: int) -> OutputExample:
    """Return the outputs of all scored modules: gold may list any."""
    plan = example.question.plan
    nodes, images = [], list(example.regions)  # once: those of a file are read at each access
    for node in plan.program.nodes:
        if node.type == "boxes" and is_scored(node.module):
            p = compute_node_boxes(plan, forward, index, node.index)
            shown = [p[number, : len(image.boxes)] for number, image in enumerate(images)]
            nodes.append(OutputModule(node.index, node.module, torch.cat(shown).double().cpu().numpy()))
    proposals = tuple(np.asarray(image.boxes, dtype=float) for image in images)
    return OutputExample(example.id, proposals, tuple(nodes))


def compute_scores(network: Network, examples: Sequence[Example]) -> dict[str, Any]:
    """Return ``n``, ``accuracy`` and, for modular networks, ``faithfulness``.

    ``faithfulness`` has precision, recall and F1 of ``overall`` and each module, averaged over examples;
    ``upper_bound`` is the most that the proposals allow.
    """
    truths, predicted = compute_outputs(network, examples)
    right = [(truth > 0.5) == example.label for truth, example in zip(truths, examples, strict=True)]
    scored: dict[str, Any] = {"n": len(examples), "accuracy": float(np.mean(right))}
    if predicted and any(example.gold for example in examples):
        result = score_boxes([example.gold_example for example in examples], predicted)
        scored |= {"faithfulness": _build_table(result), "upper_bound": _build_table(result, upper=True)}
    return scored


def _build_table(result: BoxScores, *, upper: bool = False) -> dict[str, dict[str, float]]:
    rows = result.table("per_example", upper=upper).items()
    return {
        name: {"precision": row.precision, "recall": row.recall, "f1": row.f1, "n": row.n}
        for name, row in rows
    }
