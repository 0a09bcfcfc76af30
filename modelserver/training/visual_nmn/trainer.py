"""Train visual-nmn or lxmert.

Pretraining teaches a new network the gold boxes of `find` and `filter`, on
statements that need only these (Subramanian et al. 2020, section 4.2). Then
it learns from the labels of all statements.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from cyclopts import Parameter
from cyclopts.validators import Number
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy

from modelserver.modular.visual import folder as folders
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.counting import VARIANCE, compute_overlaps
from modelserver.modular.visual.folder import Network
from modelserver.modular.visual.network import Config, Forward, VisualNetwork
from modelserver.modular.visual.plans import RELATED, WORDED
from modelserver.modular.visual.regions import collate
from modelserver.modular.visual.scene_data import Example
from modelserver.modular.visual.scoring import compute_scores
from modelserver.training import loop
from modelserver.training.loop import Row, compute_schedule_pace, group_by_rate
from modelserver.training.options import (
    NOT_AN_OPTION,
    BatchSize,
    Count,
    EncoderRate,
    LearningRate,
    Positive,
    Rate,
    ScheduleName,
    Whole,
    options_of_command,
)

Share = Annotated[float, Parameter(validator=Number(gte=0, lte=1))]
FineRate = Annotated[Rate, Parameter(name=("--fine-learning-rate", "--fine-rate"))]
PretrainingSteps = Annotated[Count, Parameter(name="--pretraining-steps")]
Deviation = Annotated[Positive, Parameter(name="--count-deviation")]
POSITIVE, NEGATIVE = 0.75, 0.25  # overlap with a gold box from which, and up to which, a box has a label
# Probabilities are clamped this far from 0 and 1, so that one mistake does not outweigh a batch. With labels
# alone, a count that is off by one is a confident mistake that says little about what to change.
SURE, SURE_OF_LABELS = 1e-4, 0.02
# Bias of find without pretraining: if half of all regions are counted, comparing with a small number has no
# gradient.
UNLIKELY_LOGIT = -3.0
SUPERVISED = frozenset({"find", "filter"})
# Beside them, the modules that learn nothing and read more than one image.
PRETRAINABLE = SUPERVISED | {
    "in-left-image", "in-right-image", "count", "exist", "equal", "less", "less-equal", "greater",
    "greater-equal", "and", "or", "sum", "difference", "division", *map(str, range(10)),
}  # fmt: skip


CURRICULUM = (1, 2, 3)  # in the parts of a curriculum, modules that read words, at most


def can_supervise(example: Example) -> bool:
    """Return whether pretraining learns from an example with gold boxes."""
    return PRETRAINABLE.issuperset(example.modules)


def count_word_modules(example: Example) -> float:
    """Return how many distinct modules read words; none may look at pairs."""
    plan = example.question.plan
    return math.inf if plan.nodes(RELATED) else len(plan.nodes(WORDED))


@options_of_command
class Recipe:
    """Everything but the data and the network that the weights depend on.

    Attributes:
        pretraining: Steps of pretraining.
        steps: Training steps after pretraining.
        batch: Statements in a step.
        rate: Learning rate of new weights.
        fine_rate: Learning rate of new weights after pretraining.
        encoder_rate: Learning rate of the encoder; by default 5e-5 for a
            pretrained one, and that of new weights for a new one.
        warm_up: Steps of rising learning rates, at the start and again after
            pretraining.
        schedule: Fall of the learning rates after the warm-up: to a tenth, to
            zero, along a cosine to 2 %, or not at all.
        clip: Largest norm of the gradient.
        check_every: Steps between evaluations on dev.
        patience: Checks without better accuracy after which training stops
            early; by default it never does.
        curriculum: Share of the steps after pretraining that learn from
            programs with at most one, two, then three modules that read words.
        deviation: Standard deviation of counts at first, which falls to 0.25;
            by default it always has that.
        seed: Seed of weights and order.
    """

    pretraining: PretrainingSteps = 700
    steps: Count = 200
    batch: BatchSize = 32
    rate: LearningRate = 2e-3
    fine_rate: FineRate = 3e-4
    encoder_rate: EncoderRate | None = None
    warm_up: Whole = 50
    schedule: ScheduleName = "linear"
    clip: Annotated[float, NOT_AN_OPTION] = 1.0
    check_every: Count = 50
    patience: Count | None = None
    curriculum: Share = 0.0
    deviation: Deviation | None = None
    seed: Whole = 1


class Trainer(loop.Trainer[Example]):
    """A network over images in training.

    Args:
        network: Trained in place.
        config: Of the network.
        recipe: Schedule and seed.
        examples: Learned from by their labels.
        pretraining: Those with gold boxes are learned from first.
        source: Names of what network and regions come from, part of the
            settings.
    """

    selection = "accuracy"

    def __init__(
        self,
        network: Network,
        config: Config,
        recipe: Recipe,
        examples: Sequence[Example],
        pretraining: Sequence[Example] = (),
        source: Mapping[str, str] | None = None,
    ) -> None:
        self.title = f"{config.system} {config.count}" if config.system != "lxmert" else config.system
        self.network = self.model = network
        self.config, self.recipe, self.examples, self.source = config, recipe, examples, source or {}
        self.supervised = [example for example in pretraining if can_supervise(example)]
        self.first = recipe.pretraining if self.supervised and config.system != "lxmert" else 0
        self.total_steps = self.first + recipe.steps
        self.check_every, self.patience = recipe.check_every, recipe.patience
        self.steps = 0
        self.optimiser = self._optimiser()
        if not self.first and isinstance(network, VisualNetwork):
            nn.init.constant_(network.by_words.bias, UNLIKELY_LOGIT)
        self.device = next(network.parameters()).device
        levels = [count_word_modules(example) for example in examples] if recipe.curriculum else []
        self._simple = [[i for i, level in enumerate(levels) if level <= most] for most in CURRICULUM]
        self._labels: dict[str, dict[int, Tensor]] = {}

    def _optimiser(self) -> torch.optim.Optimizer:
        full = self.recipe.fine_rate if self.first and self.steps >= self.first else self.recipe.rate
        encoder_rate = self.recipe.encoder_rate or full
        groups = group_by_rate(self.network, self.network.encoder, rate=full, encoder_rate=encoder_rate)
        return torch.optim.AdamW(groups, weight_decay=0.01)

    def go_to(self, step: int) -> None:
        """Prepare the optimiser of the phase that the step belongs to."""
        super().go_to(step)
        self.optimiser = self._optimiser()

    def settings(self) -> dict[str, Any]:
        """Return configuration, recipe, source and digests of the data."""
        parts = {"data": self.examples, "pretraining_data": self.supervised}
        data = {name: loop.hash_examples(part, self.describe) for name, part in parts.items()}
        return {**asdict(self.config), **asdict(self.recipe), **self.source, **data}

    def describe(self, example: Example) -> str:
        """Return all but the regions, which may be too many to read through."""
        gold = {node: [boxes.tolist() for boxes in images] for node, images in example.gold.items()}
        program = example.question.plan.program
        return f"{example.id} {example.sentence} {program} {example.label} {gold}"

    def is_check(self) -> bool:
        """Return whether the weights are evaluated: also after pretraining."""
        return super().is_check() or self.steps == self.first

    def is_candidate(self, row: Row) -> bool:
        """Return whether pretraining was over."""
        return not row["pretraining"]

    def evaluate(self, dev: Sequence[Example]) -> Row:
        """Return accuracy, and F1 of the modules' boxes as faithfulness."""
        self.network.eval()
        self._set_variance(VARIANCE)
        dev_scores = compute_scores(self.network, dev)
        overall = dev_scores.get("faithfulness", {}).get("overall", {})
        return {
            "pretraining": float(self.steps < self.first),
            "accuracy": dev_scores["accuracy"],
            "faithfulness": overall.get("f1"),
        }

    def save(self, folder: Path) -> None:
        """Write what `modelserver.modular.visual.folder.load` reads."""
        folders.save(folder, self.network, self.config)

    def step(self) -> float:
        """Learn from one batch and return its loss."""
        self.network.train()
        pretraining = self.steps < self.first
        if self.steps == self.first:  # the moments are those of another loss
            self.optimiser = self._optimiser()
        source = self.supervised if pretraining else self.examples
        if self.recipe.deviation is not None and not pretraining:
            last = math.sqrt(VARIANCE)
            self._set_variance((last + (self.recipe.deviation - last) * (1 - self._compute_progress())) ** 2)
        # A generator of its own for every step, so that a resumed training meets the same batches.
        rng = np.random.default_rng([self.recipe.seed, self.steps])
        allowed = self._list_allowed(pretraining=pretraining)
        among = len(source) if allowed is None else len(allowed)
        chosen = rng.choice(among, min(self.recipe.batch, among), replace=False)
        batch = [source[i if allowed is None else allowed[i]] for i in chosen]
        loss = self._loss(batch, supervised=pretraining)
        value = self.descend(loss, clip=self.recipe.clip, pace=self._pace())
        self.steps += 1
        return value

    def _compute_progress(self) -> float:
        """Return the share of the steps from labels that is done."""
        return (self.steps - self.first) / self.recipe.steps

    def _list_allowed(self, *, pretraining: bool) -> list[int] | None:
        """Return the examples that a curriculum allows now; None for all."""
        if pretraining or self._compute_progress() >= self.recipe.curriculum:
            return None
        part = int(self._compute_progress() / self.recipe.curriculum * len(CURRICULUM))
        return self._simple[part] or None

    def _set_variance(self, variance: float) -> None:
        if isinstance(self.network, VisualNetwork):
            self.network.counter.variance = variance

    def _pace(self) -> float:
        """Return the share of the full learning rate, twice from a warm-up on."""
        later = self.steps >= self.first
        done = self.steps - self.first if later else self.steps
        total = self.recipe.steps if later else self.first
        return compute_schedule_pace(done, self.recipe.schedule, self.recipe.warm_up, total)

    def _loss(self, batch: list[Example], *, supervised: bool) -> Tensor:
        sights = collate([example.regions for example in batch], self.device)
        labels = torch.tensor([float(example.label) for example in batch], device=self.device)
        if isinstance(self.network, Baseline):
            truth = self.network([example.sentence for example in batch], sights)
            return _cross_entropy(truth, labels, SURE_OF_LABELS)
        forward = self.network([example.question for example in batch], sights)
        if not supervised:
            return _cross_entropy(forward.truth, labels, SURE_OF_LABELS)
        return _cross_entropy(forward.truth, labels, SURE) + self._auxiliary(batch, forward)

    def _auxiliary(self, batch: list[Example], forward: Forward) -> Tensor:
        """Return the cross-entropy of labelled boxes, summed over boxes."""
        rows, box_labels_of_rows = [], []
        for position, example in enumerate(batch):
            for node, labels in self._label_nodes(example).items():
                rows.append(forward.outputs.row[position, example.question.plan.runs[node][0]])
                box_labels_of_rows.append(labels)
        predicted = forward.outputs.boxes[rows]
        labels = torch.full(predicted.shape, -1.0)  # the label of padding
        for row, box_labels in enumerate(box_labels_of_rows):
            labels[row, : box_labels.shape[0], : box_labels.shape[1]] = box_labels
        labels = labels.to(self.device)
        is_labelled = labels >= 0
        return _cross_entropy(predicted[is_labelled], labels[is_labelled], SURE, reduction="sum") / len(rows)

    def _label_nodes(self, example: Example) -> dict[int, Tensor]:
        """Return `box_labels` at each supervised node of an example.

        Equal subtrees are one run, so only the first with gold is there.
        """
        labels = self._labels.get(example.id)
        if labels is None:
            program = example.question.plan.program
            chosen: dict[int, Sequence[Any]] = {}
            for node, gold in sorted(example.gold.items()):
                if program.nodes[node].module in SUPERVISED:
                    chosen.setdefault(program.representative[node], gold)
            labels = {node: label_boxes(example, gold) for node, gold in chosen.items()}
            self._labels[example.id] = labels
        return labels


def label_boxes(example: Example, gold: Sequence[Any]) -> Tensor:
    """Return labels of the regions by their overlap with gold boxes.

    Args:
        example: Its regions are labelled, m at most in an image.
        gold: Gold boxes of each image.

    Returns:
        Labels [images, m]: 1 for a region that overlaps a gold box by more
        than `POSITIVE`, 0 for one that overlaps all by less than `NEGATIVE`,
        else -1.
    """
    labels = []
    seen = [np.array(regions.boxes, np.float32) for regions in example.regions]
    most = max(map(len, seen))
    for proposals, boxes in zip(seen, gold, strict=True):
        proposed = torch.from_numpy(proposals)
        best = torch.zeros(len(proposed))
        if len(boxes) and len(proposed):
            best = compute_overlaps(proposed, torch.from_numpy(boxes)).amax(dim=-1)
        of_image = (best > POSITIVE).float() - ((best <= POSITIVE) & (best >= NEGATIVE)).float()
        labels.append(nn.functional.pad(of_image, (0, most - len(of_image)), value=-1.0))
    return torch.stack(labels)


def _cross_entropy(p: Tensor, labels: Tensor, sure: float, reduction: str = "mean") -> Tensor:
    return binary_cross_entropy(p.clamp(sure, 1 - sure), labels, reduction=reduction)
