"""Paired permutation test over examples: do two systems differ?

In each trial the two systems swap their scores of an example with probability
one half, and the difference of the systems' scores is computed again. Here the
test is two-sided and p is (b + 1)/(m + 1), never 0 [4].

The released script for boxes compares the size of the permuted difference with
the original one without taking its size, so that a first system that is worse
always gets p = 1; that for DROP computes a difference of 0 in every trial.
Neither is imitated.

References:
    1. Subramanian et al. (2020), appendix D.
    2. Yeh (2000). More accurate tests for the statistical significance of
       result differences.
    3. Noreen (1989). Computer-intensive Methods for Testing Hypotheses.
    4. Phipson and Smyth (2010).
"""

from dataclasses import dataclass

import numpy as np

from ..stats.arguments import check_count
from ..stats.arrays import Array, split_into_chunks
from ..stats.bootstrap_sums import Tally

CELLS_PER_CHUNK = 4_000_000  # trials by examples held at once
ROUNDING = 1e-9  # differences this close to the observed one, relative to the scores, count as equal


@dataclass(frozen=True)
class Comparison:
    """A first system against a second.

    Attributes:
        first: Score of the first system.
        second: Score of the second system.
        difference: First minus second.
        n: Number of examples that both were scored on.
        trials: Number of random swaps.
        as_extreme: Number of trials whose difference is at least as large, in either direction.
        p: Two-sided, never 0.
    """

    first: float
    second: float
    difference: float
    n: int
    trials: int
    as_extreme: int
    p: float


def permutation_test(
    first: Tally, second: Tally, *, trials: int = 100_000, rng: np.random.Generator
) -> Comparison:
    """Test whether two systems' scores differ, by swapping them at random.

    Examples count as independent. Swapping keeps the sum of both systems, so that a
    trial needs the sums of one side only.

    Args:
        first: A statistic as sums over examples; any function of the sums, such as
            an F1 over cumulative counts. A mean difference of paired values is the
            special case of `analysis.stats.mean_tally`.
        second: The same statistic of the second system, over the same examples in
            the same order.
        trials: Number of random swaps, at least 1.
        rng: Source of random swaps.

    Returns:
        Both scores, their difference and a two-sided p that is never 0.

    Raises:
        ValueError: The shapes differ, or a score is undefined.

    Examples:
        >>> from analysis.stats import mean_tally
        >>> scores = mean_tally([1.0, 1.0, 1.0]), mean_tally([0.0, 0.0, 0.0])
        >>> round(permutation_test(*scores, rng=np.random.default_rng(1)).p, 2)
        0.25
    """
    _permutation_iv(first, second, trials)
    score, second_score = first.value, second.value
    total = first.sums.sum(axis=0) + second.sums.sum(axis=0)
    moved = np.flatnonzero((first.sums != second.sums).any(axis=1))  # swapping the others changes nothing
    shifts = (second.sums - first.sums)[moved]
    start = first.sums.sum(axis=0)
    least = abs(score - second_score) - ROUNDING * max(abs(score), abs(second_score))
    as_extreme = 0
    for rows in split_into_chunks(trials, CELLS_PER_CHUNK // max(1, len(moved))):
        sums = start + _draw_swaps(rng, rows.stop - rows.start, len(moved)) @ shifts
        differences = first.formula(sums) - second.formula(total - sums)
        as_extreme += int(np.count_nonzero(np.abs(differences) >= least))
    p = (as_extreme + 1) / (trials + 1)
    return Comparison(score, second_score, score - second_score, len(first.sums), trials, as_extreme, p)


def _permutation_iv(first: Tally, second: Tally, trials: int) -> None:
    if first.sums.shape != second.sums.shape:
        raise ValueError(
            f"first and second must be sums over the same examples, not of shapes {first.sums.shape} "
            f"and {second.sums.shape}"
        )
    check_count(trials, 1, "trials")
    for name, tally in (("first", first), ("second", second)):
        if np.isnan(tally.value):
            raise ValueError(f"{name} has no score: {tally.reason}")


def _draw_swaps(rng: np.random.Generator, trials: int, examples: int) -> Array:
    """Draw 1 where a trial swaps an example, else 0; one random bit each."""
    drawn = np.frombuffer(rng.bytes(trials * -(-examples // 8)), dtype=np.uint8).reshape(trials, -1)
    return np.unpackbits(drawn, axis=1, count=examples).astype(float)
