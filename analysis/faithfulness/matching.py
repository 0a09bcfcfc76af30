"""Counts of matched boxes, for all nodes and images of a data set at once.

A box's best overlap exceeds a threshold if any of its overlaps does, so no maximum is taken: the pairs
over a threshold mark their boxes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..stats.arrays import Array
from .examples import Cells
from .overlap import Index, find_overlaps

GOOD, BAD, APART_BAD, HIT, GOLD = range(5)  # the columns of counts

Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the metric, all of them 0 to 1.

    Attributes:
        output: A box is output if its probability exceeds it.
        aligned: Boxes are aligned if their overlap exceeds it.
        apart: Negative-IoU variant: an output box is wrong if its best overlap
            is below it.
        wrong: The same in every averaging; None: a box that is not aligned is
            wrong.
    """

    output: float = 0.5
    aligned: float = 0.5
    apart: float = 1e-8
    wrong: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name}: {value} is not between 0 and 1")
        for name in ("apart", "wrong"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name}: must be above 0, because no overlap is below 0")
        if self.wrong is not None and self.wrong > self.aligned:
            raise ValueError(f"wrong: {self.wrong} is above the threshold of aligned boxes, {self.aligned}")


PAPER = Thresholds()


@dataclass(frozen=True)
class Counted:
    """Counts of one system, or of the upper bound.

    counts: examples × modules × 5, the put-out boxes that are good, those that are bad, those that are bad in
    the negative-IoU variant, the gold boxes that are hit, and all gold boxes. occurrences: examples × modules
    × 4, sums of precision, recall and F1 over nodes and images, and how many there are. The first module is
    all of them together. by_node: nodes × 5.
    """

    counts: Array
    occurrences: Array
    by_node: Array


def prf(counts: Array, bad: int = BAD) -> Array:
    """Compute precision, recall and F1 of counts: (…, 5) to (…, 3).

    bad: the column of the boxes that are wrong.

    Nothing that counts makes precision 1, no gold makes recall 1, and F1 is 0 if both are 0.
    """
    good, hit, gold = counts[..., GOOD], counts[..., HIT], counts[..., GOLD]
    output = good + counts[..., bad]
    precision = np.where(output > 0, good / np.maximum(output, 1), 1.0)
    recall = np.where(gold > 0, hit / np.maximum(gold, 1), 1.0)
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1.0)
    return np.stack([precision, recall, f1], axis=-1)


def count(cells: Cells, *, reference: bool = False, thresholds: Thresholds = PAPER) -> Counted:
    """Count the system's matches: only output proposals meet gold.

    reference: an output box whose best overlap is exactly that of aligned boxes is not a bad one.
    """
    wrong = thresholds.aligned if thresholds.wrong is None else thresholds.wrong
    slots = np.flatnonzero(cells.probabilities > thresholds.output)
    slot_cell = np.searchsorted(cells.first_probability, slots, side="right") - 1
    counts = np.bincount(slot_cell, minlength=len(cells.node))
    starts = np.cumsum(counts) - counts
    proposals = cells.proposals[slots + (cells.first_proposal - cells.first_probability)[slot_cell]]
    aligned, touched, near = np.zeros((3, len(slots)), dtype=bool)
    hit = np.zeros(len(cells.boxes), dtype=bool)
    cell = cells.box_cell
    for box, slot, overlap in find_overlaps(cells.boxes, proposals, starts[cell], counts[cell]):
        over = overlap > thresholds.aligned
        aligned[slot[over]] = True
        hit[box[over]] = True
        touched[slot[overlap >= wrong]] = True
        near[slot[overlap >= thresholds.apart]] = True
    bad = ~(touched if reference or thresholds.wrong is not None else aligned)
    return _count_boxes(cells, [slot_cell[marked] for marked in (aligned, bad, ~near)], hit)


def count_upper(cells: Cells, thresholds: Thresholds = PAPER) -> Counted:
    """Count matches of the upper bound: outputs are the aligned proposals.

    A proposal is aligned with some gold box of the node.
    """
    aligned = np.zeros(len(cells.probabilities), dtype=bool)
    hit = np.zeros(len(cells.boxes), dtype=bool)
    cell = cells.box_cell
    first, ahead = cells.first_proposal, cells.first_probability - cells.first_proposal
    for box, proposal, overlap in find_overlaps(
        cells.boxes, cells.proposals, first[cell], cells.size[cell], least=thresholds.aligned
    ):
        over = overlap > thresholds.aligned
        hit[box[over]] = True
        aligned[(proposal + ahead[cell[box]])[over]] = True
    slot_cell = np.searchsorted(cells.first_probability, np.flatnonzero(aligned), side="right") - 1
    return _count_boxes(cells, [slot_cell, slot_cell[:0], slot_cell[:0]], hit)


def _count_boxes(cells: Cells, marked: list[Index], hit: Truth) -> Counted:
    """Sum by node, and by example and module.

    marked: the cells of good, bad and apart boxes, one per box.
    """
    cell_count, nodes = len(cells.node), len(cells.node_module)
    marked = [*marked, cells.box_cell[hit], cells.box_cell]
    by_cell = np.stack([np.bincount(cell, minlength=cell_count) for cell in marked], axis=1).astype(float)
    occurrences = np.concatenate([prf(by_cell), np.ones((cell_count, 1))], axis=1)
    key = (cells.node_example * len(cells.modules) + cells.node_module)[cells.node]
    shape = (len(cells.examples), len(cells.modules))
    counts, occurrences = (_sum_by_module(values, key, shape) for values in (by_cell, occurrences))
    return Counted(counts, occurrences, _sum_by_group(by_cell, cells.node, nodes))


def _sum_by_module(values: Array, key: Index, shape: tuple[int, int]) -> Array:
    """Sum by example and module, with the sum over modules in front."""
    sums = _sum_by_group(values, key, shape[0] * shape[1]).reshape(*shape, values.shape[1])
    sums[:, 0] = sums.sum(axis=1)
    return sums


def _sum_by_group(values: Array, key: Index, groups: int) -> Array:
    return np.stack([np.bincount(key, column, minlength=groups) for column in values.T], axis=1)
