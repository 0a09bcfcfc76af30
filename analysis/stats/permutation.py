"""Permutation test: participants swap conditions with all their trials.

References:
    1. Phipson and Smyth (2010): p from random permutations is
       (b + 1)/(m + 1), never 0.
    2. Janssen (1997); Chung and Romano (2013): the standardised difference
       keeps its level when spreads differ.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import Array, chunks
from .results import EXCHANGEABLE, INDEPENDENT, Finding, constant, defined_values, too_few

MOST_FOR_ENUMERATION = 50_000  # 9 against 9 participants have 48,620 splits
CELLS_PER_CHUNK = 2_000_000  # splits by participants held at once


def permutation_test(
    first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, permutations: int = 9_999
) -> Finding:
    """Test whether the condition changes the participants' values.

    The statistic is Welch's t, the difference of means over its standard error.
    All splits of the participants are taken if there are at most
    `MOST_FOR_ENUMERATION`, otherwise `permutations` random ones. p, two-sided, is
    the share of splits with |t| at least as large as the observed one; of random
    ones (b + 1)/(m + 1).

    Args:
        first: One value per participant, NaN where undefined.
        second: The same for the second condition, of any length.
        rng: Source of random splits.
        permutations: Number of random splits, at least 1.

    Returns:
        A finding; refused for fewer than two participants in a condition and if
        all have the same value.

    Raises:
        ValueError: An argument is malformed.

    Examples:
        >>> permutation_test([1, 2, 3], [4, 5, 6], rng=np.random.default_rng(1)).p
        0.1
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, not {permutations}")
    groups = defined_values(first, second)
    sizes = (len(groups[0]), len(groups[1]))
    splits = comb(sum(sizes), sizes[1])
    exact = splits <= MOST_FOR_ENUMERATION
    method = f"permutation of participants, {'all' if exact else f'{permutations} random'} splits, Welch's t"
    result = Finding("difference of means", sizes, method)
    if refused := too_few(groups) or constant(groups):
        return replace(result, reason=refused)
    values = np.concatenate(groups)
    values = (values - values.mean()) / values.std()  # changes no t and keeps the sums of squares accurate
    observed = abs(_welch_t(values, np.arange(len(values))[None] >= sizes[0])[0])
    if exact:
        p = _as_extreme(values, _all_splits(len(values), sizes[1]), observed) / splits
    else:
        p = (_random_extreme(values, sizes, observed, rng, permutations) + 1) / (permutations + 1)
    estimate = float(groups[1].mean() - groups[0].mean())
    return replace(result, estimate=estimate, p=p, assumptions=(INDEPENDENT, EXCHANGEABLE))


def smallest_p(first: int, second: int) -> float:
    """Return the smallest p that so many participants could reach.

    Equal groups have mirrored splits.
    """
    return (2 if first == second else 1) / comb(first + second, second)


@lru_cache(maxsize=4)
def _all_splits(total: int, second: int) -> NDArray[np.bool_]:
    """List every choice of `second` participants; splits × participants."""
    chosen = np.array(list(combinations(range(total), second)))
    splits = np.zeros((len(chosen), total), dtype=bool)
    np.put_along_axis(splits, chosen, True, axis=1)
    return splits


def _random_extreme(
    values: Array, sizes: tuple[int, int], observed: float, rng: np.random.Generator, permutations: int
) -> int:
    labels = np.arange(len(values)) >= sizes[0]
    count = 0
    for rows in chunks(permutations, CELLS_PER_CHUNK // len(values)):
        splits = np.tile(labels, (rows.stop - rows.start, 1))
        count += _as_extreme(values, rng.permuted(splits, axis=1), observed)
    return count


def _as_extreme(values: Array, splits: NDArray[np.bool_], observed: float) -> int:
    """Count splits with |t| at least as large, last digits counting as equal."""
    return int(np.count_nonzero(np.abs(_welch_t(values, splits)) >= observed * (1 - 1e-9) - 1e-12))


def _welch_t(values: Array, splits: NDArray[np.bool_]) -> Array:
    """Compute Welch's t of each split (rows).

    It is infinite if both sides are constant and differ, 0 if they are alike.
    """
    in_second = splits.astype(float)
    second = int(in_second[0].sum())
    first = len(values) - second
    sums, squares = in_second @ values, in_second @ values**2
    rest, rest_squares = values.sum() - sums, (values**2).sum() - squares
    difference = sums / second - rest / first
    variance = _variance_of_mean(sums, squares, second) + _variance_of_mean(rest, rest_squares, first)
    difference = np.where(np.abs(difference) < 1e-12, 0.0, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / np.sqrt(np.where(variance < 1e-14, 0.0, variance))
    return np.where(difference == 0, 0.0, t)


def _variance_of_mean(sums: Array, squares: Array, count: int) -> Array:
    return np.asarray((squares - sums**2 / count) / (count - 1) / count)
