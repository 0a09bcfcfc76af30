"""Train `visual-nmn` or `lxmert`: without further arguments, by the recipe of the shipped weights.

A new network is first trained on statements that need only `find` and `filter`, with the boxes that these
should put out (Subramanian et al. 2020, section 4.2), then on all statements by their labels alone. At each
check the state of the training, its log and, when they are the best so far, the weights are written; after
a kill ``--resume`` goes on from the last check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy

from modelserver.modular.visual import folder
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.counting import overlaps
from modelserver.modular.visual.folder import Network
from modelserver.modular.visual.network import Config, Forward, VisualNetwork
from modelserver.modular.visual.regions import collate
from modelserver.modular.visual.scene_data import Example
from modelserver.modular.visual.scoring import scores
from modelserver.training import checkpoint
from modelserver.wire.errors import UnreadableData

STATE, LOG = "training.safetensors", "log.jsonl"
POSITIVE, NEGATIVE = 0.75, 0.25  # overlap with a gold box from which, and up to which, a box has a label
# No probability is taken to be nearer to 0 or 1, so that one mistake does not outweigh a batch. Of labels
# alone a count that is one off is a mistake of great certainty, and tells least about what to change.
SURE, SURE_OF_LABELS = 1e-4, 0.02
# What find's scores begin at without pretraining: where half of all regions are counted, no comparison with a
# small number has a gradient.
UNLIKELY = -3.0
SUPERVISED = frozenset({"find", "filter"})
# Beside them, what needs no learned module and takes no image alone.
PLAIN = SUPERVISED | {
    "in-left-image", "in-right-image", "count", "exist", "equal", "less", "less-equal", "greater",
    "greater-equal", "and", "or", "sum", "difference", "division", *map(str, range(10)),
}  # fmt: skip

Row = dict[str, float | None]


@dataclass(frozen=True)
class Recipe:
    """Everything beside the data and the network that the result depends on. Steps are of batches."""

    pretraining: int = 700
    steps: int = 200
    batch: int = 32
    rate: float = 2e-3  # of learning, from new weights
    fine_rate: float = 3e-4  # after pretraining
    warm_up: int = 50
    clip: float = 1.0  # norm of the gradient
    check_every: int = 50
    seed: int = 1


class Trainer:
    """A network in training: its data, optimiser and schedule."""

    def __init__(
        self,
        network: Network,
        config: Config,
        recipe: Recipe,
        examples: Sequence[Example],
        pretraining: Sequence[Example] = (),
    ) -> None:
        self.network, self.config, self.recipe = network, config, recipe
        self.examples = examples
        self.supervised = [each for each in pretraining if PLAIN.issuperset(each.modules)]
        self.first = recipe.pretraining if self.supervised and config.system != "lxmert" else 0
        self.total = self.first + recipe.steps
        self.optimiser = self._optimiser()
        if not self.first and isinstance(network, VisualNetwork):
            nn.init.constant_(network.by_words.bias, UNLIKELY)
        self.device = next(network.parameters()).device
        self.steps = 0
        self._labels: dict[str, dict[int, Tensor]] = {}

    def _optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.network.parameters(), weight_decay=0.01)

    def settings(self) -> dict[str, Any]:
        """Everything that a training in ``out`` must share with this one to be gone on with."""
        return {**asdict(self.config), **asdict(self.recipe), "examples": len(self.examples)}

    def step(self) -> float:
        """Learn from one batch; returns its loss."""
        self.network.train()
        pretraining = self.steps < self.first
        if self.steps == self.first:  # what is remembered of the gradients of another loss is of no use
            self.optimiser = self._optimiser()
        source = self.supervised if pretraining else self.examples
        # Every step has its own generator, so that a resumed training meets the same batches.
        rng = np.random.default_rng([self.recipe.seed, self.steps])
        places = rng.choice(len(source), min(self.recipe.batch, len(source)), replace=False)
        loss = self._loss([source[place] for place in places], supervised=pretraining)
        for group in self.optimiser.param_groups:
            group["lr"] = self._rate()
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.steps += 1
        return float(loss.detach())

    def _rate(self) -> float:
        """Return the rate of this step: up in a while, then down to a tenth, in each of both parts."""
        fine = bool(self.first) and self.steps >= self.first
        full = self.recipe.fine_rate if fine else self.recipe.rate
        part = self.recipe.steps if self.steps >= self.first else self.first
        done = self.steps - self.first if self.steps >= self.first else self.steps
        return full * min(1.0, (done + 1) / self.recipe.warm_up) * (1 - 0.9 * done / part)

    def _loss(self, batch: list[Example], *, supervised: bool) -> Tensor:
        sights = collate([each.regions for each in batch], self.device)
        labels = torch.tensor([float(each.label) for each in batch], device=self.device)
        if isinstance(self.network, Baseline):
            truth = self.network([each.sentence for each in batch], sights)
            return _cross_entropy(truth, labels, SURE_OF_LABELS)
        forward = self.network([each.question for each in batch], sights)
        if not supervised:
            return _cross_entropy(forward.truth, labels, SURE_OF_LABELS)
        return _cross_entropy(forward.truth, labels, SURE) + self._auxiliary(batch, forward)

    def _auxiliary(self, batch: list[Example], forward: Forward) -> Tensor:
        """Return the cross-entropy of the labelled boxes of `find` and `filter`, summed over boxes."""
        rows, wanted = [], []
        for place, example in enumerate(batch):
            for node, labels in self._labelled(example).items():
                rows.append(forward.outputs.row[place, example.question.plan.runs[node][0]])
                wanted.append(labels)
        found = forward.outputs.boxes[rows]
        labels = torch.full(found.shape, -1.0)  # as of what is only there because a batch is a block
        for row, each in enumerate(wanted):
            labels[row, : each.shape[0], : each.shape[1]] = each
        labels = labels.to(self.device)
        known = labels >= 0
        return _cross_entropy(found[known], labels[known], SURE, reduction="sum") / len(rows)

    def _labelled(self, example: Example) -> dict[int, Tensor]:
        """Return the labels [images, m] of the boxes at each supervised node: 1, 0, or -1 for none."""
        known = self._labels.get(example.id)
        if known is None:
            nodes = example.question.plan.program.nodes
            chosen = {node: gold for node, gold in example.gold.items() if nodes[node].module in SUPERVISED}
            known = {node: box_labels(example, gold) for node, gold in chosen.items()}
            self._labels[example.id] = known
        return known


def box_labels(example: Example, gold: Sequence[Any]) -> Tensor:
    """Return [images, m]: 1 for a region that overlaps a gold box by more than `POSITIVE`, 0 for one that
    overlaps all by less than `NEGATIVE`, else -1."""
    labels = []
    most = max(len(regions.boxes) for regions in example.regions)
    for regions, boxes in zip(example.regions, gold, strict=True):
        proposed = torch.from_numpy(np.array(regions.boxes, np.float32))
        best = torch.zeros(len(proposed))
        if len(boxes) and len(proposed):
            best = overlaps(proposed, torch.from_numpy(boxes)).amax(dim=-1)
        of_image = (best > POSITIVE).float() - ((best <= POSITIVE) & (best >= NEGATIVE)).float()
        labels.append(nn.functional.pad(of_image, (0, most - len(of_image)), value=-1.0))
    return torch.stack(labels)


def _cross_entropy(p: Tensor, wanted: Tensor, sure: float, reduction: str = "mean") -> Tensor:
    return binary_cross_entropy(p.clamp(sure, 1 - sure), wanted, reduction=reduction)


def train(
    trainer: Trainer,
    dev: Sequence[Example],
    out: Path,
    *,
    resume: bool = False,
    report: Callable[[Row], None] = lambda _: None,
) -> Row:
    """Train to the end; writes the checkpoint of the highest accuracy on dev after pretraining, and the log.

    Returns the log row of that checkpoint. With ``resume`` an unfinished training goes on, and one that has
    ended is left alone. Raises UnreadableData where an unfinished one would be overwritten.
    """
    state, rows = out / STATE, list[Row]()
    if state.exists():
        if not resume:
            raise UnreadableData(f"{out}: holds an unfinished training; add --resume, or remove {STATE}")
        rows = checkpoint.read(state, trainer.network, trainer.optimiser, trainer.settings())
        trainer.steps = int(rows[-1]["step"] or 0)
        _publish(trainer, rows, out)
    elif resume and (out / LOG).exists():
        return _best([json.loads(line) for line in (out / LOG).read_text("utf-8").splitlines()])
    out.mkdir(parents=True, exist_ok=True)
    losses: list[float] = []
    while trainer.steps < trainer.total:
        losses.append(trainer.step())
        if trainer.steps % trainer.recipe.check_every and trainer.steps not in (trainer.first, trainer.total):
            continue
        rows = [*rows, _row(trainer, dev, losses)]
        losses = []
        checkpoint.write(state, trainer.network, trainer.optimiser, rows, trainer.settings())
        _publish(trainer, rows, out)
        report(rows[-1])
    state.unlink(missing_ok=True)
    return _best(rows)


def _publish(trainer: Trainer, rows: Sequence[Row], out: Path) -> None:
    """Write weights, when they are the best so far and pretraining is over, and the log."""
    if trainer.steps >= trainer.first and rows[-1] is _best(rows):
        folder.save(out, trainer.network, trainer.config)
    (out / LOG).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _row(trainer: Trainer, dev: Sequence[Example], losses: Sequence[float]) -> Row:
    trainer.network.eval()
    found = scores(trainer.network, dev)
    overall = found.get("faithfulness", {}).get("overall", {})
    return {
        "step": trainer.steps,
        "pretraining": float(trainer.steps < trainer.first),
        "loss": float(np.mean(losses)),
        "accuracy": found["accuracy"],
        "faithfulness": overall.get("f1"),
    }


def _best(rows: Sequence[Row]) -> Row:
    """Return the first row of the highest accuracy, those of pretraining only where there are no others."""
    return max(rows, key=lambda row: (1 - (row["pretraining"] or 0.0), row["accuracy"] or 0.0))
