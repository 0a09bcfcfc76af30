"""Module-wise faithfulness of boxes: predicted boxes against gold boxes.

A module outputs a proposed box when its probability exceeds 0.5; two boxes are
aligned when their intersection over union exceeds 0.5 (`Thresholds` has both). Precision is the share
of output boxes that are aligned with a gold box of the same node and image,
recall the share of gold boxes that are aligned with an output box; the
numerators are counted apart, because one box may be aligned with several.

The released code (https://github.com/allenai/faithful-nmn) differs from the
text, and `reference=True` does as it does: an output box whose best overlap is
exactly 0.5 counts neither as good nor as bad, and an example without a scored
node counts 1 in the overall mean. `analysis.faithfulness.reference` makes the
released code's earlier changes to the gold. That code computes overlaps in
single precision, this package in double.

References:
    1. Subramanian et al. (2020), section 3.1 and appendix B.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, get_args

import numpy as np

from ..stats.arguments import check_choice
from ..stats.arrays import Array, ratio
from ..stats.bootstrap_sums import Quantity, Tally, quantities
from .examples import Cells, GoldExample, OutputExample, arrange
from .matching import APART_BAD, BAD, PAPER, Counted, Thresholds, Truth, count, count_upper, prf

Averaging = Literal["per_example", "cumulative", "per_occurrence", "negative_iou"]
AVERAGINGS: tuple[Averaging, ...] = get_args(Averaging)
NEVER = "no example has this module"


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1 of one module type, or of all together.

    n: what was averaged over, examples that have the type (per_example, negative_iou), or nodes × images
    (per_occurrence); for cumulative the examples whose counts were added. Means are of precision, recall and
    F1 each; only in cumulative is F1 the harmonic mean of the two beside it.
    """

    precision: float
    recall: float
    f1: float
    n: int


@dataclass(frozen=True)
class NodeScore:
    """Scores of a node of an example, its images together.

    index: its position in the program.
    """

    index: int
    module: str
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Worst:
    """An example with the node that went most wrong, if one was scored."""

    id: str
    f1: float
    node: NodeScore | None


@dataclass(frozen=True)
class BoxScores:
    """Scores of a system against gold, and the most its proposals allow.

    Every node with gold is one instance. Equal subtrees of a program therefore count as often as gold
    lists them: gold of annotation projects lists them once.

    Attributes:
        cells: Gold beside outputs, a cell per scored node and image.
        system: Counts of the system.
        reference: True if counted as the released code does.
        thresholds: Of probabilities and overlaps.
    """

    cells: Cells
    system: Counted
    reference: bool = False
    thresholds: Thresholds = PAPER

    @cached_property
    def upper(self) -> Counted:
        """Counts of the upper bound: outputs are exactly the aligned proposals.

        A proposal is aligned with some gold box of the node.
        """
        return count_upper(self.cells, self.thresholds)

    @property
    def examples(self) -> tuple[str, ...]:
        """IDs of the examples, in the order of the rows of all counts."""
        return self.cells.examples

    @property
    def modules(self) -> tuple[str, ...]:
        """`overall` and the module types, the second axis of all counts."""
        return self.cells.modules

    def table(self, averaging: Averaging, *, upper: bool = False) -> dict[str, Score]:
        """Tabulate the scores of `overall` and of every module type.

        Args:
            averaging: "per_example": per example and type, counts of its nodes and images are added, and
                precision, recall and F1 averaged over the examples that have the type (Table 1).
                "cumulative": all counts are added (Table 4). "per_occurrence": averaged over nodes and images
                (Table 5). "negative_iou": as "per_example", with a predicted box counted as bad only if its
                best overlap is below 1e-8 (Table 6).
            upper: Score the upper bound that the proposals allow instead.

        Returns:
            Scores in [0, 1] by module type, those that occur.
        """
        totals = self._parts(averaging, upper=upper).sum(axis=0)
        values = _score_totals(averaging, totals)
        return {
            name: Score(float(row[0]), float(row[1]), float(row[2]), int(total[-1]))
            for name, row, total in zip(self.modules, values, totals, strict=True)
            if total[-1] > 0
        }

    def tallies(self, averaging: Averaging) -> dict[str, Tally]:
        """Sum F1 of module types over examples, for intervals and paired tests.

        Args:
            averaging: "per_example", "cumulative", "per_occurrence" or "negative_iou"; see `BoxScores.table`.

        Returns:
            Tally by module type, its rows in the order of `examples`.
        """
        added = self._parts(averaging)
        return {name: build_f1_tally(averaging, added[:, column]) for column, name in enumerate(self.modules)}

    def intervals(
        self, *, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
    ) -> dict[tuple[Averaging, str], Quantity]:
        """Compute F1 in every averaging and module type, with BCa intervals.

        The bootstrap draws examples.

        Args:
            rng: Source of random numbers.
            resamples: Number of bootstrap replicates; 0 gives no intervals.
            level: Of the confidence intervals.

        Returns:
            F1 in [0, 1] by averaging and module type.

        Raises:
            ValueError: `resamples` is negative.
        """
        tallies = {
            (averaging, name): tally
            for averaging in AVERAGINGS
            for name, tally in self.tallies(averaging).items()
        }
        return quantities(tallies, rng=rng, resamples=resamples, level=level)

    def example_scores(self, averaging: Averaging = "per_example") -> Array:
        """Return precision, recall and F1 of every example and module type.

        Args:
            averaging: "negative_iou" counts a box as bad as in `BoxScores.table`; all others give the same.

        Returns:
            Shape (examples, modules, 3), in [0, 1]; NaN for a type that the example lacks.
        """
        check_choice(averaging, AVERAGINGS, "averaging")
        scores = prf(self.system.counts, APART_BAD if averaging == "negative_iou" else BAD)
        return np.where(self._mark_present()[..., None], scores, np.nan)

    def nodes(self, example: int) -> list[NodeScore]:
        """List the scored nodes of an example in program order.

        Args:
            example: Its index in `examples`.

        Returns:
            A score per node.
        """
        node_rows = np.flatnonzero(self.cells.node_example == example)
        names = [self.modules[self.cells.node_module[node_row]] for node_row in node_rows]
        indices = map(int, self.cells.node_index[node_rows])
        rows = prf(self.system.by_node[node_rows])
        return [
            NodeScore(index, name, *map(float, row))
            for index, name, row in zip(indices, names, rows, strict=True)
        ]

    def list_worst(self, most: int | None = None) -> list[Worst]:
        """List examples from the lowest overall F1 up, each with its worst node.

        That is the node of the lowest F1, and of several the last in the program: an earlier one works on
        what a later one gives it.

        Args:
            most: Number of examples to list; None for all.

        Returns:
            Examples with their F1 in [0, 1] and their worst node.
        """
        f1 = np.nan_to_num(self.example_scores()[:, 0, 2], nan=1.0)
        worst = []
        for example in np.argsort(f1, kind="stable")[:most]:
            node = min(self.nodes(int(example)), key=lambda node: (node.f1, -node.index), default=None)
            worst.append(Worst(self.examples[example], float(f1[example]), node))
        return worst

    def _mark_present(self) -> Truth:
        """Mark which example has which module type: examples × modules."""
        present = self.system.occurrences[..., -1] > 0
        present[:, 0] |= self.reference
        return present

    def _parts(self, averaging: Averaging, *, upper: bool = False) -> Array:
        counted = self.upper if upper else self.system
        return compute_score_parts(averaging, counted.counts, counted.occurrences, self._mark_present())


def score_boxes(
    gold: Sequence[GoldExample],
    outputs: Mapping[str, OutputExample] | Sequence[OutputExample],
    *,
    reference: bool = False,
    partial: bool = False,
    thresholds: Thresholds = PAPER,
) -> BoxScores:
    """Score a system's boxes against gold.

    Args:
        gold: The examples.
        outputs: Of every gold example; others are left out.
        reference: Count as the released code does; its changes to gold are
            `analysis.faithfulness.reference.change`.
        partial: Leave out gold examples without output instead of failing.
        thresholds: Of probabilities and overlaps; those of the paper by default.

    Returns:
        Counts of every example, from which tables and intervals are computed.

    Raises:
        MatchError: Gold and outputs do not fit together.

    Examples:
        >>> from analysis.faithfulness import GoldModule, OutputModule
        >>> dog = np.array([[0.1, 0.1, 0.3, 0.5]])
        >>> gold = GoldExample("a", (GoldModule(0, "find", (dog,)),))
        >>> output = OutputExample("a", (dog,), (OutputModule(0, "find", np.array([0.9])),))
        >>> score_boxes([gold], [output]).table("per_example")["find"].f1
        1.0
    """
    named = outputs if isinstance(outputs, Mapping) else {output.id: output for output in outputs}
    return score_cells(arrange(gold, named, partial=partial), reference=reference, thresholds=thresholds)


def score_cells(cells: Cells, *, reference: bool = False, thresholds: Thresholds = PAPER) -> BoxScores:
    """Score gold and outputs that are already arranged."""
    counted = count(cells, reference=reference, thresholds=thresholds)
    return BoxScores(cells, counted, reference, thresholds)


def compute_score_parts(averaging: Averaging, counts: Array, occurrences: Array, present: Truth) -> Array:
    """Return each example's part in the scores: (examples, …, columns).

    The last column counts. counts: (examples, …, 5) and occurrences: (examples, …,
    4), as in `Counted`. present: (examples, …), true if the example has the module
    type.
    """
    check_choice(averaging, AVERAGINGS, "averaging")
    if averaging == "per_occurrence":
        return occurrences
    if averaging == "cumulative":
        return np.concatenate([counts, present[..., None]], axis=-1)
    scores = prf(counts, APART_BAD if averaging == "negative_iou" else BAD)
    return np.concatenate([scores * present[..., None], present[..., None]], axis=-1)


def build_f1_tally(averaging: Averaging, sums: Array) -> Tally:
    """Build the sums of F1 from examples × columns of `parts`."""
    return Tally(sums, partial(_f1, averaging), int(sums[:, -1].sum()), NEVER)


def _score_totals(averaging: Averaging, totals: Array) -> Array:
    """Compute precision, recall and F1 from sums over examples.

    totals: (…, columns). The result is (…, 3), NaN where nothing was added.
    """
    if averaging == "cumulative":
        return np.where(totals[..., -1:] > 0, prf(totals[..., :-1]), np.nan)
    return ratio(totals[..., :-1], totals[..., -1:])


def _f1(averaging: Averaging, totals: Array) -> Array:
    return _score_totals(averaging, totals)[..., 2]
