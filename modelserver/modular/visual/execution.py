"""Execute a batch of programs, all nodes of one module and level at once.

Source: Subramanian et al. 2020, Table 3. Learned values come in as scores; the rest is fixed arithmetic,
so that with scores of 0 and 1 the outcome is that of `analysis.programs.execute`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from modelserver.modular.visual import numbers
from modelserver.modular.visual.counting import Counter
from modelserver.modular.visual.numbers import Number
from modelserver.modular.visual.plans import Job, Plan

Partner = Literal["best", "any"]
Place = tuple[int, int]  # an example of the batch and a node, or a job, of its program

SIDES = {"in-left-image": 0, "in-right-image": 1}
COMPARISONS = {
    "equal": numbers.equal,
    "less": numbers.less,
    "less-equal": numbers.less_equal,
    "greater": numbers.greater,
    "greater-equal": numbers.greater_equal,
}
ARITHMETIC = {"sum": numbers.add, "difference": numbers.subtract, "division": numbers.divide}
BOTH, EITHER = frozenset({"and", "in-each-image"}), frozenset({"or", "in-at-least-one-image"})


class Pairs(Protocol):
    """Fit of relations to pairs of boxes, 0 to 1, by rows of modules."""

    def score_all(self, rows: list[int]) -> Tensor:
        """Return the score of each box with each other, [n, images, m, m]."""

    def score_chosen(self, rows: list[int], other: Tensor) -> Tensor:
        """Return the score of each box with its other one.

        Both are [n, images, m]; ``other`` holds places of boxes.
        """


@dataclass(frozen=True)
class Scores:
    """The scores of a batch's learned modules, with each node's row.

    Attributes:
        score: [rows, images, m], fit of the words to a box, 0 to 1.
        pair: Fit of the relation to two boxes.
    """

    score: Tensor
    score_row: Mapping[Place, int]
    pair: Pairs
    pair_row: Mapping[Place, int]


@dataclass(frozen=True)
class Scene:
    """The boxes of a batch.

    Present [n, images, m] (0 for padding), boxes [… , 4], regions [… , hidden].
    """

    present: Tensor
    boxes: Tensor
    regions: Tensor


@dataclass(frozen=True)
class Outputs:
    """The outputs of all jobs by type, and each job's row among its type's."""

    boxes: Tensor  # [rows, images, m]
    number: Number
    truth: Tensor  # [rows]
    row: Mapping[Place, int]


class Executor:
    """One batch in execution."""

    def __init__(
        self, plans: Sequence[Plan], scores: Scores, scene: Scene, counter: Counter, partner: Partner
    ) -> None:
        self.plans, self.scores, self.scene = plans, scores, scene
        self.counter, self.partner = counter, partner
        self.row: dict[Place, int] = {}
        self.boxes = scene.present[:0]
        self.mean = self.variance = self.truth = scene.present.new_zeros(0)
        self.exact = scene.present.new_zeros(0, numbers.K + 1)

    def run(self) -> Outputs:
        """Execute all programs and return the outputs of every job."""
        levels: dict[int, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
        for example, plan in enumerate(self.plans):
            for index, job in enumerate(plan.jobs):
                module = "number" if job.module.isdecimal() else job.module
                levels[job.level][module].append((example, index))
        for level in sorted(levels):
            for module, keys in levels[level].items():
                self._step(module, keys)
        exact = self.exact if self.counter.kind == "exact" else None
        return Outputs(self.boxes, Number(self.mean, self.variance, exact), self.truth, self.row)

    def _job(self, key: Place) -> Job:
        return self.plans[key[0]].jobs[key[1]]

    def _step(self, module: str, keys: list[Place]) -> None:
        jobs = [self._job(key) for key in keys]
        match jobs[0].type:
            case "boxes":
                out = self._select_boxes(module, keys, jobs)
                self._note(keys, len(self.boxes))
                self.boxes = torch.cat([self.boxes, out])
            case "number":
                number = self._number(module, keys, jobs)
                self._note(keys, len(self.mean))
                self.mean = torch.cat([self.mean, number.mean])
                self.variance = torch.cat([self.variance, number.variance])
                if self.counter.kind == "exact":
                    self.exact = torch.cat([self.exact, number.probabilities])
            case _:
                truth = self._truth(module, keys)
                self._note(keys, len(self.truth))
                self.truth = torch.cat([self.truth, truth])

    def _note(self, keys: list[Place], first: int) -> None:
        self.row.update({key: first + number for number, key in enumerate(keys)})

    def _rows(self, keys: list[Place], child: int) -> list[int]:
        return [self.row[example, self._job((example, job)).children[child]] for example, job in keys]

    def _boxes_below(self, keys: list[Place], child: int = 0) -> Tensor:
        return self.boxes[self._rows(keys, child)]

    def _number_below(self, keys: list[Place], child: int) -> Number:
        rows = self._rows(keys, child)
        exact = self.exact[rows] if self.counter.kind == "exact" else None
        return Number(self.mean[rows], self.variance[rows], exact)

    def _select_boxes(self, module: str, keys: list[Place], jobs: list[Job]) -> Tensor:
        """Return the boxes [n, images, m] that a module selects."""
        if module in ("find", "project"):
            seen = self.scene.present.new_tensor([job.images for job in jobs])[..., None]
            fitting = self._score(keys, jobs) * seen
            return fitting if module == "find" else fitting * self._score_relations(keys, jobs, child=0)
        below = self._boxes_below(keys)
        match module:
            case "filter":
                return below * self._score(keys, jobs)
            case "with-relation":
                return below * self._score_relations(keys, jobs, child=1)
            case "intersect":
                return below * self._boxes_below(keys, 1)
            case "discard":
                return (below - self._boxes_below(keys, 1)).clamp(min=0)
            case "in-left-image" | "in-right-image":
                side = below.new_zeros(below.shape[1])
                side[SIDES[module]] = 1
                return below * side[:, None]
        return below  # in-one-image and in-other-image: their scope has done it

    def _score(self, keys: list[Place], jobs: list[Job]) -> Tensor:
        rows = [self.scores.score_row[key[0], job.node] for key, job in zip(keys, jobs, strict=True)]
        present = self.scene.present[[example for example, _ in keys]]
        return self.scores.score[rows] * present

    def _score_relations(self, keys: list[Place], jobs: list[Job], *, child: int) -> Tensor:
        """Return how far each box is related to another of the child's boxes.

        The result is [n, images, m]. ``best`` looks only at the most probable of them, as Table 3 does:
        max(p₂) · MLP([x; v₁; v₂]). ``any`` looks at all: max over j of p₂ⱼ · MLP([x; v₁; v₂ⱼ]).
        """
        rows = [self.scores.pair_row[key[0], job.node] for key, job in zip(keys, jobs, strict=True)]
        others = self._boxes_below(keys, child)
        itself = torch.eye(others.shape[-1], dtype=torch.bool, device=others.device)
        others = others[..., None, :].expand(*others.shape, -1).masked_fill(itself, 0)
        if self.partner == "any":
            return (others * self.scores.pair.score_all(rows)).amax(dim=-1)
        best, which = others.max(dim=-1)
        return best * self.scores.pair.score_chosen(rows, which)

    def _count(self, keys: list[Place]) -> Number:
        examples = [example for example, _ in keys]
        scene = self.scene
        return self.counter(self._boxes_below(keys), scene.regions[examples], scene.boxes[examples])

    def _number(self, module: str, keys: list[Place], jobs: list[Job]) -> Number:
        if module == "number":
            stated = [float(job.module) for job in jobs]
            return self.counter.make_constant(self.scene.present.new_tensor(stated))
        if module == "count":
            return self._count(keys)
        return ARITHMETIC[module](self._number_below(keys, 0), self._number_below(keys, 1))

    def _truth(self, module: str, keys: list[Place]) -> Tensor:
        if module == "exist":
            counted = self._count(keys)
            return numbers.greater_equal(counted, self.counter.make_constant(torch.ones_like(counted.mean)))
        if module in COMPARISONS:
            return COMPARISONS[module](self._number_below(keys, 0), self._number_below(keys, 1))
        first, second = (self.truth[self._rows(keys, child)] for child in (0, 1))
        if module in BOTH:
            return first * second
        if module in EITHER or module == "in-one-other-image":
            return first + second - first * second
        raise ValueError(f"no module over boxes is called {module!r}")
