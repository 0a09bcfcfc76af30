"""Whether two systems differ in faithfulness: a paired permutation test over examples.

Source: Subramanian et al. 2020, appendix D, after Yeh 2000 and Noreen 1989: in each trial the two systems
swap their scores of an example with probability one half, and the difference of the systems' scores is
computed anew. Here the test is two-sided and p is (b + 1)/(m + 1), never 0 (Phipson and Smyth 2010).

The released script for boxes compares the size of the permuted difference with the original one without
taking its size, so that a first system that is worse always gets p = 1; that for DROP computes a
difference of 0 in every trial. Neither is imitated.
"""

from dataclasses import dataclass

import numpy as np

from ..stats.arrays import Array
from ..stats.bootstrap_sums import Tally

CELLS_PER_CHUNK = 4_000_000  # trials by examples held at once
ROUNDING = 1e-9  # differences this close to the observed one, relative to the scores, count as equal


@dataclass(frozen=True)
class Comparison:
    """A first system against a second.

    difference: first minus second. n: examples that both were scored on. as_extreme: trials whose difference
    is at least as large, in either direction. p: two-sided.
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
    """Tests whether two systems' scores differ by more than swapping them at random would make them.

    first, second: the same statistic of both, as sums over the same examples in the same order; the
    statistic may be any function of the sums, such as an F1 over cumulative counts. A mean difference of
    paired values is the special case of `analysis.stats.bootstrap_sums.mean_of`.

    Examples count as independent. Swapping keeps the sum of both systems, so that a trial needs the sums of
    one side only. Raises ValueError where the shapes differ, a score is undefined, or trials is below 1.

    >>> from analysis.stats.bootstrap_sums import mean_tally
    >>> scores = mean_tally([1.0, 1.0, 1.0]), mean_tally([0.0, 0.0, 0.0])
    >>> round(permutation_test(*scores, rng=np.random.default_rng(1)).p, 2)
    0.25
    """
    _permutation_iv(first, second, trials)
    one, other = first.value, second.value
    total = first.sums.sum(axis=0) + second.sums.sum(axis=0)
    moved = np.flatnonzero((first.sums != second.sums).any(axis=1))  # swapping the others changes nothing
    shifts = (second.sums - first.sums)[moved]
    start = first.sums.sum(axis=0)
    least = abs(one - other) - ROUNDING * max(abs(one), abs(other))
    as_extreme = done = 0
    while done < trials:
        rows = min(trials - done, max(1, CELLS_PER_CHUNK // max(1, len(moved))))
        sums = start + _swaps(rng, rows, len(moved)) @ shifts
        differences = first.formula(sums) - second.formula(total - sums)
        as_extreme += int(np.count_nonzero(np.abs(differences) >= least))
        done += rows
    p = (as_extreme + 1) / (trials + 1)
    return Comparison(one, other, one - other, len(first.sums), trials, as_extreme, p)


def _permutation_iv(first: Tally, second: Tally, trials: int) -> None:
    if first.sums.shape != second.sums.shape:
        raise ValueError(
            f"first and second must be sums over the same examples, not of shapes {first.sums.shape} "
            f"and {second.sums.shape}"
        )
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    for name, tally in (("first", first), ("second", second)):
        if np.isnan(tally.value):
            raise ValueError(f"{name} has no score: {tally.reason}")


def _swaps(rng: np.random.Generator, trials: int, examples: int) -> Array:
    """1 where a trial swaps an example, 0 where not; one random bit each."""
    drawn = np.frombuffer(rng.bytes(trials * -(-examples // 8)), dtype=np.uint8).reshape(trials, -1)
    return np.unpackbits(drawn, axis=1, count=examples).astype(float)
