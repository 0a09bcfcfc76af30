"""Accuracy of systems on all, balanced and unbalanced examples.

Examples of one image pair depend on each other: a system that goes by the images is right about both or,
if labels differ, about one. The bootstrap and the permutations therefore take pairs, and a pair's examples
stay together. Pairs also share sentences, which is not taken into account.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..io.errors import AnalysisError
from ..stats.arguments import check_count
from ..stats.arrays import Array, ratio
from ..stats.bootstrap_sums import Quantity, Tally, compute_mean, quantities
from .pairs import PARTS, Index, Part, Truth, VisualBias

CONTRASTS: tuple[tuple[Part, Part], ...] = (
    ("balanced", "all"),
    ("unbalanced", "all"),
    ("balanced", "unbalanced"),
)
ROUNDING = 1e-9  # statistics this close to the observed one count as equal


@dataclass(frozen=True)
class Delta:
    """Accuracy on a first part minus that on a second.

    Attributes:
        first: The first part, such as "balanced".
        second: The second part.
        difference: Shares, with interval; without a value if a part has no example.
        p: Two-sided, from permutations; None if there is no difference, or nothing to permute.
    """

    first: Part
    second: Part
    difference: Quantity
    p: float | None


@dataclass(frozen=True)
class SystemScores:
    """Accuracy on each part as a share, and the deltas.

    Attributes:
        accuracy: Part to the share of right predictions.
        deltas: Differences between parts.
    """

    accuracy: dict[Part, Quantity]
    deltas: tuple[Delta, ...]


def score_system(
    bias: VisualBias,
    predictions: Mapping[str, bool],
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    trials: int = 100_000,
) -> SystemScores:
    """Score a system on all, balanced and unbalanced examples.

    The differences are those of Suhr and Artzi 2019, last table.

    Args:
        bias: The examples.
        predictions: One for every example, by identifier; others are ignored.
        rng: Draws the bootstrap and the permutations.
        resamples: Bootstrap replicates of image pairs for BCa intervals; 0 for none.
        trials: Permutations for `permutation_p`; 0 for none.

    Returns:
        Accuracy of each part, with intervals, and the differences with their p.

    Raises:
        AnalysisError: An example has no prediction.
        ValueError: `resamples` or `trials` is negative.
    """
    check_count(trials, 0, "trials")
    right = _count_right(bias, predictions)
    members = {part: bias.pairs_of(part) for part in PARTS}
    accuracies = {part: _tally_accuracy(bias.sizes, right, members[part], part) for part in PARTS}
    differences = {pair: _tally_difference(accuracies[pair[0]], accuracies[pair[1]]) for pair in CONTRASTS}
    estimates = quantities({**accuracies, **differences}, rng=rng, resamples=resamples)
    deltas = []
    for first, second in CONTRASTS:
        pool = members[first] | members[second]
        tested = trials > 0 and estimates[first, second].value is not None
        counts = np.stack([right, bias.sizes], axis=1)[pool]
        p = permutation_p(counts, members[first][pool], trials=trials, rng=rng) if tested else None
        deltas.append(Delta(first, second, estimates[first, second], p))
    return SystemScores({part: estimates[part] for part in PARTS}, tuple(deltas))


def permutation_p(counts: Index, first: Truth, *, trials: int, rng: np.random.Generator) -> float | None:
    """Test if the accuracy on some pairs differs from that on the others.

    counts: pairs × (right, examples). first: which pairs are chosen. That accuracy on a part equals that on
    all examples is the same as that it equals that on the rest, which is what is tested.

    The statistic is the difference of accuracies over its standard error, clusters being pairs. Divided by
    it, the permutation test keeps its level even if pairs of both parts differ in how much they vary
    (Janssen 1997; Chung and Romano 2013), as they do here: a system that goes by images is right about
    exactly half of each balanced pair. p is (b + 1)/(trials + 1), never 0 (Phipson and Smyth 2010).

    Pairs with equal counts are interchangeable. The number of each kind that a permutation moves to the
    first part is multivariate hypergeometric, so that no single permutation need be made.

    Returns:
        The two-sided p; None if all pairs or none are chosen.
    """
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    kinds, kind = np.unique(counts, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    available = np.bincount(kind, minlength=len(kinds))
    chosen = np.bincount(kind[first], minlength=len(kinds))
    if chosen.sum() in (0, len(counts)):
        return None
    observed = _compute_statistic(kinds, available, chosen[None])[0]
    drawn = rng.multivariate_hypergeometric(available, int(chosen.sum()), size=trials)
    as_extreme = np.count_nonzero(_compute_statistic(kinds, available, drawn) >= observed * (1 - ROUNDING))
    return (as_extreme + 1) / (trials + 1)


def _compute_statistic(kinds: Index, available: Index, chosen: Index) -> Array:
    """|difference of accuracies| / standard error of trials × kinds chosen.

    Without error, 0 if there is no difference either, else infinite.
    """
    right, examples = kinds.T.astype(float)
    columns = np.stack([right, examples, right**2, right * examples, examples**2], axis=1)
    first, second = chosen @ columns, (available - chosen) @ columns
    difference = np.abs(first[:, 0] / first[:, 1] - second[:, 0] / second[:, 1])
    error = np.sqrt(_variance(first) + _variance(second))
    exact = error < ROUNDING
    without = np.where(difference < ROUNDING, 0.0, np.inf)
    return np.where(exact, without, difference / np.where(exact, 1.0, error))


def _variance(sums: Array) -> Array:
    """Linearise the variance of a ratio of sums over pairs.

    Σ (right − accuracy · examples)² / n².
    """
    right, n, squares, products, sizes = sums.T
    accuracy = right / n
    return np.maximum(squares - 2 * accuracy * products + accuracy**2 * sizes, 0) / n**2


def _count_right(bias: VisualBias, predictions: Mapping[str, bool]) -> Index:
    """Count the examples of each pair that the system is right about."""
    missing = [name for name in bias.ids if name not in predictions]
    if missing:
        raise AnalysisError(
            f"{len(missing)} of {len(bias.ids)} examples have no prediction, the first is {missing[0]!r}"
        )
    predicted = np.array([predictions[name] for name in bias.ids], dtype=bool)
    return np.bincount(bias.pair[predicted == bias.labels], minlength=len(bias.sizes))


def _tally_accuracy(sizes: Index, right: Index, members: Truth, part: Part) -> Tally:
    sums = np.stack([right * members, sizes * members], axis=1).astype(float)
    return Tally(sums, compute_mean, int(sums[:, 1].sum()), f"no example is {part}")


def _tally_difference(first: Tally, second: Tally) -> Tally:
    sums = np.concatenate([first.sums, second.sums], axis=1)
    reason = first.reason if np.isnan(first.value) else second.reason
    return Tally(sums, _compute_difference, first.n, reason)


def _compute_difference(sums: Array) -> Array:
    return ratio(sums[..., 0], sums[..., 1]) - ratio(sums[..., 2], sums[..., 3])
