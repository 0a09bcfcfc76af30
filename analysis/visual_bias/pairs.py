"""Label leakage of image pairs: frequency, majority label, balanced part.

Source: Suhr and Artzi 2019 (NLVR2 Visual Bias Analysis). A pair is a left and a right address; the same two
images the other way round are another pair.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..io.errors import AnalysisError
from ..stats.arguments import check_choice
from .examples import Example, check_examples

Part = Literal["all", "balanced", "unbalanced"]
PARTS: tuple[Part, ...] = get_args(Part)
Truth = NDArray[np.bool_]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Frequency:
    """The pairs that occur in so many examples.

    Attributes:
        frequency: Number of examples of each pair.
        pairs: Number of pairs that occur in so many examples.
        expected_same: `expected_share` times the number of pairs.
        expected_share: 2^(1 − frequency), the probability that labels drawn independently, true and false
            equally likely, are all the same.
        observed_same: Number of pairs with one label throughout.
        observed_share: Their share of the pairs.
    """

    frequency: int
    pairs: int
    expected_same: float
    expected_share: float
    observed_same: int
    observed_share: float


@dataclass(frozen=True)
class VisualBias:
    """Examples by their image pair.

    Attributes:
        ids: Identifier of each example, in the order given.
        labels: Label of each example, shape (examples,).
        pair: Number of each example's pair, from 0, shape (examples,).
        sizes: Number of examples of each pair, shape (pairs,).
        trues: Number of those labelled true, shape (pairs,).
    """

    ids: tuple[str, ...]
    labels: Truth
    pair: Index
    sizes: Index
    trues: Index

    @property
    def majority_labels(self) -> Truth:
        """Return the majority label of each example's pair; true for a tie."""
        return (2 * self.trues >= self.sizes)[self.pair]

    @property
    def majority_accuracy(self) -> float:
        """Return the accuracy of the majority label of each pair.

        No system that looks at the images only, even one that knows all labels, can exceed it.
        """
        return float(np.mean(self.majority_labels == self.labels))

    @property
    def frequencies(self) -> tuple[Frequency, ...]:
        """Counts of pairs by the number of their examples, smallest first.

        The published table starts at 2 and, by its loop, leaves out the largest.
        """
        same = self._same
        return tuple(_compute_frequency(int(n), same[self.sizes == n]) for n in np.unique(self.sizes))

    @property
    def balanced_ids(self) -> tuple[str, ...]:
        """IDs of the examples whose pair has both labels, in the order given."""
        return self._ids("balanced")

    @property
    def unbalanced_ids(self) -> tuple[str, ...]:
        """IDs of the examples whose pair occurs several times with one label.

        They are in the order given.
        """
        return self._ids("unbalanced")

    def pairs_of(self, part: Part) -> Truth:
        """Mark the pairs of a part.

        Args:
            part: "all", "balanced" (pairs with both labels) or "unbalanced" (pairs that occur several times
                with one label).

        Returns:
            Shape (pairs,), true for the pairs of the part.

        Raises:
            ValueError: The part is not one of these.
        """
        check_choice(part, PARTS, "part")
        if part == "all":
            return np.ones(len(self.sizes), dtype=bool)
        return ~self._same if part == "balanced" else self._same & (self.sizes > 1)

    def examples_of(self, part: Part) -> Truth:
        """Mark the examples of a part.

        Args:
            part: "all", "balanced" (pairs with both labels) or "unbalanced" (pairs that occur several times
                with one label).

        Returns:
            Shape (examples,), true for the examples of the part.

        Raises:
            ValueError: The part is not one of these.
        """
        return self.pairs_of(part)[self.pair]

    @property
    def _same(self) -> Truth:
        return (self.trues == 0) | (self.trues == self.sizes)

    def _ids(self, part: Part) -> tuple[str, ...]:
        return tuple(self.ids[index] for index in np.flatnonzero(self.examples_of(part)))


def analyse(rows: Iterable[Mapping[str, object]]) -> VisualBias:
    """Group examples of the NLVR2 form by image pair.

    Args:
        rows: Mappings with `identifier`, `left_url`, `right_url` and `label` (true or false, or these words
            in any case); other fields are not looked at.

    Returns:
        Examples with their pairs, from which the published figures are computed.

    Raises:
        AnalysisError: There is no row, a row is malformed, or an identifier comes twice; the message names
            row (from 1) and field.

    Examples:
        >>> urls = {"left_url": "a.jpg", "right_url": "b.jpg"}
        >>> found = analyse([{"identifier": "x", "label": "True", **urls},
        ...                  {"identifier": "y", "label": "False", **urls}])
        >>> found.majority_accuracy, found.balanced_ids, found.frequencies[0].expected_same
        (0.5, ('x', 'y'), 0.5)
    """
    return group_by_pair(list(check_examples(rows, _row_fault)))


def group_by_pair(examples: list[Example]) -> VisualBias:
    """Group examples by image pair. Raises AnalysisError if there is none."""
    if not examples:
        raise AnalysisError("there is no example")
    indices: dict[tuple[str, str], int] = {}
    pair = np.array([indices.setdefault(example.pair, len(indices)) for example in examples], dtype=np.intp)
    labels = np.array([example.label for example in examples], dtype=bool)
    ids = tuple(example.identifier for example in examples)
    return VisualBias(ids, labels, pair, np.bincount(pair), np.bincount(pair[labels], minlength=len(indices)))


def _compute_frequency(frequency: int, same: Truth) -> Frequency:
    pairs, observed = len(same), int(same.sum())
    share = 2.0 ** (1 - frequency)
    return Frequency(frequency, pairs, share * pairs, share, observed, observed / pairs)


def _row_fault(row: int, field: str, problem: str) -> AnalysisError:
    return AnalysisError(f"{', '.join(filter(None, (f'row {row + 1}', field)))}: {problem}")
