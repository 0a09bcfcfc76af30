"""Permutation test and its interval: participants swap conditions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import check_count, check_level
from .arrays import Array, split_into_chunks
from .results import (
    EXCHANGEABLE,
    INDEPENDENT,
    SAME_ITEMS,
    Finding,
    explain_constant,
    explain_too_few,
    select_defined_values,
)

MOST_FOR_ENUMERATION = 50_000  # 9 against 9 participants have 48,620 splits
CELLS_PER_CHUNK = 2_000_000  # splits by participants held at once
STEPS = 30  # of halving: an end of an interval is found to 9 digits
NO_BOUND = "so few participants cannot reject any value at this level, so the difference has no interval"


def permutation_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    permutations: int = 9_999,
    level: float = 0.95,
) -> Finding:
    """Test whether the condition changes the participants' values.

    The statistic is Welch's t, the difference of means over its standard error,
    which keeps its level when spreads differ [2].
    All splits of the participants are taken if there are at most
    50,000, otherwise `permutations` random ones. p, two-sided, is
    the share of splits with |t| at least as large as the observed one; of random
    ones (b + 1)/(m + 1), never 0 [1].

    The confidence interval holds the shifts of the second condition that the same
    splits do not reject [3], so it excludes 0 exactly if p is at most 1 − `level`.

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition, of any length.
        rng: Source of random splits.
        permutations: Number of random splits, at least 1.
        level: Of the confidence interval.

    Returns:
        A finding; refused for fewer than two participants in a condition and if
        all have the same value. Without an interval, with the reason, if no shift
        can be rejected.

    Raises:
        ValueError: An argument is malformed.

    References:
        1. Phipson and Smyth (2010). Permutation p-values should never be zero.
        2. Janssen (1997); Chung and Romano (2013): tests of standardised differences.
        3. Lehmann and Romano (2005). Testing Statistical Hypotheses, section 3.5.

    Examples:
        >>> permutation_test([1, 2, 3], [4, 5, 6], rng=np.random.default_rng(1)).p
        0.1
    """
    check_level(level)
    check_count(permutations, 1, "permutations")
    groups = select_defined_values(first, second)
    sizes = (len(groups[0]), len(groups[1]))
    exact = comb(sum(sizes), sizes[1]) <= MOST_FOR_ENUMERATION
    method = f"permutation of participants, {'all' if exact else f'{permutations} random'} splits, Welch's t"
    result = Finding("difference of means", sizes, method, level=level)
    if refused := explain_too_few(groups) or explain_constant(groups):
        return replace(result, reason=refused)
    values = np.concatenate(groups)
    spread = float(values.std())  # a scale that changes no t and keeps the sums of squares accurate
    values = (values - values.mean()) / spread
    labels = np.arange(len(values)) >= sizes[0]
    if exact:
        every = _list_splits(len(values), sizes[1])
        splits = _Splits(values, labels, [every], len(every))
    else:  # the observed split counts as one more that was drawn
        splits = _Splits(values, labels, _draw_splits(labels, rng, permutations), permutations + 1)
    estimate = float(groups[1].mean() - groups[0].mean())
    ends = find_accepted_interval(splits.p, estimate / spread, 1 - level)
    return replace(
        result,
        estimate=estimate,
        interval=(ends[0] * spread, ends[1] * spread) if ends else None,
        p=splits.p(0.0),
        assumptions=(INDEPENDENT, EXCHANGEABLE, SAME_ITEMS),
        reason="" if ends else NO_BOUND,
    )


def find_accepted_interval(
    p_at: Callable[[float], float], estimate: float, alpha: float
) -> tuple[float, float] | None:
    """Return the differences with a p above alpha, None if they have no end.

    The search on the side of 0 starts at 0, so that 0 lies in the interval exactly
    if its p is above alpha, even if p does not fall steadily away from the
    estimate.

    Args:
        p_at: The p of the hypothesis that the difference is so large.
        estimate: The observed difference, whose p is 1.
        alpha: Level of the test.
    """
    ends = []
    for side in (-1.0, 1.0):
        inner, outer = estimate, None
        if side * estimate < 0:
            inner, outer = (0.0, None) if p_at(0.0) > alpha else (estimate, 0.0)
        step = max(abs(estimate), 1.0)
        while outer is None:
            if step > 2.0**40:
                return None
            if p_at(inner + side * step) > alpha:
                inner, step = inner + side * step, 2 * step
            else:
                outer = inner + side * step
        for _ in range(STEPS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if p_at(middle) > alpha else (inner, middle)
        ends.append(inner)
    return ends[0], ends[1]


def compute_smallest_p(first: int, second: int) -> float:
    """Return the smallest p that so many participants could reach.

    Equal groups have mirrored splits.
    """
    return (2 if first == second else 1) / comb(first + second, second)


class _Splits:
    """Sums of each split's second side, of which a shift is a function.

    The last split is the observed one.
    """

    def __init__(
        self, values: Array, labels: NDArray[np.bool_], splits: Iterable[NDArray[np.bool_]], drawn: int
    ) -> None:
        """Sum up the splits (rows), in parts; the first `drawn` of them count.

        Per split: participants of the second condition on the second side, the sum and the sum of squares of
        its values, and the sum of those that are of the second condition.
        """
        columns = np.column_stack([labels, values, values**2, labels * values]).astype(float)
        parts = [part.astype(float) @ columns for part in (*splits, labels[None])]
        self.sums, self.drawn = np.concatenate(parts).T, drawn
        self.second, self.first = int(labels.sum()), int((~labels).sum())
        self.total = (float(values.sum()), float((values**2).sum()))

    def p(self, shift: float) -> float:
        """Return p of the hypothesis that the second condition adds `shift`."""
        t = np.abs(self._t(shift))
        return float(np.count_nonzero(t[: self.drawn] >= t[-1] * (1 - 1e-9) - 1e-12) / self.drawn)

    def _t(self, shift: float) -> Array:
        """Compute Welch's t of each split with the shift taken off.

        It is infinite if both sides are constant and differ, 0 if they are alike.
        """
        moved, sums, squares, own = self.sums
        total = self.total[1] - 2 * shift * own[-1] + shift**2 * self.second
        sums, squares = sums - shift * moved, squares - 2 * shift * own + shift**2 * moved
        rest, rest_squares = self.total[0] - shift * self.second - sums, total - squares
        difference = sums / self.second - rest / self.first
        variance = _variance_of_mean(sums, squares, self.second)
        variance += _variance_of_mean(rest, rest_squares, self.first)
        size = 1 + shift**2  # of the squares, whose last digits are noise
        difference = np.where(np.abs(difference) < 1e-12 * size**0.5, 0.0, difference)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = difference / np.sqrt(np.where(variance < 1e-14 * size, 0.0, variance))
        return np.where(difference == 0, 0.0, t)


@lru_cache(maxsize=4)
def _list_splits(total: int, second: int) -> NDArray[np.bool_]:
    """List every choice of `second` participants; splits × participants."""
    chosen = np.array(list(combinations(range(total), second)))
    splits = np.zeros((len(chosen), total), dtype=bool)
    np.put_along_axis(splits, chosen, True, axis=1)
    return splits


def _draw_splits(
    labels: NDArray[np.bool_], rng: np.random.Generator, permutations: int
) -> Iterator[NDArray[np.bool_]]:
    """Draw splits, in parts that fit into memory."""
    for rows in split_into_chunks(permutations, CELLS_PER_CHUNK // len(labels)):
        yield rng.permuted(np.tile(labels, (rows.stop - rows.start, 1)), axis=1)


def _variance_of_mean(sums: Array, squares: Array, count: int) -> Array:
    return np.asarray((squares - sums**2 / count) / (count - 1) / count)
