"""Krippendorff's alpha per question and condition.

The confidence interval resamples items with all their ratings; Krippendorff's
own bootstrap resamples pairs of values as if they were independent.

References:
    1. Krippendorff (2004). Content Analysis, chapter 11.
    2. Krippendorff (2011). Computing Krippendorff's Alpha-Reliability:
       coincidence matrix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ..stats.arguments import check_choice, check_resamples, read_values
from ..stats.arrays import Array, ratio, split_into_chunks
from ..stats.bootstrap import percentile_interval
from ..stats.coincidences import Metric, alphas
from ..stats.streams import derive_stream
from .study_version import Points, Question
from .trial_grid import Grid

MOST_VALUES = 50  # different values of a scale; a matrix of them is held for every item and replicate
CELLS_PER_CHUNK = 2_000_000
ALL_ITEMS = "all items"
NO_PAIRS = "no item has two ratings"
NO_VARIATION = "all ratings that can be paired are the same, so chance agreement is complete"


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha: 1 is perfect agreement, 0 that of chance.

    Below 0 there is systematic disagreement.

    Attributes:
        metric: "nominal", "ordinal", "interval" or "ratio".
        value: None if undefined; `reason` then says why.
        interval: 95 % percentile interval of a bootstrap over items; None if more than one replicate in
            twenty is undefined, or for fewer than two items.
        raters: Number of raters with a rating that can be paired.
        items: Number of items with two ratings or more.
        ratings: Number of ratings of these items.
        replicates: Shape (resamples,), NaN where undefined.
        method: Name of the method.
        reason: Why alpha is undefined; empty otherwise.
    """

    metric: Metric
    value: float | None
    interval: tuple[float, float] | None
    raters: int
    items: int
    ratings: int
    replicates: Array
    method: str = "coincidence matrix, 95 % percentile interval of a bootstrap over items"
    reason: str = ""


@dataclass(frozen=True)
class Agreement:
    """Agreement on one question in one condition.

    Attributes:
        question: Role of the question, or its key.
        condition: Name of the condition.
        alpha: Krippendorff's alpha.
        by_item: Item to the share of pairs of participants who gave the same answer; None for fewer than two
            answers.
    """

    question: str
    condition: str
    alpha: Alpha
    by_item: dict[str, float | None]


def choose_metric(question: Question) -> Metric:
    """Choose the metric of a question's scale.

    Args:
        question: Question of a questionnaire.

    Returns:
        "ordinal" for points, "nominal" for yes and no.
    """
    return "ordinal" if isinstance(question.scale, Points) else "nominal"


def agreements(
    grids: Sequence[Grid], metrics: Mapping[str, Metric], *, rng: np.random.Generator, resamples: int
) -> list[Agreement]:
    """Measure agreement for every question and condition.

    Alpha is within a condition: other conditions saw other answers.

    Args:
        grids: One per condition.
        metrics: Role or key of the question, as in `Grid.answers`, to its metric.
        rng: Source of random numbers; each question and condition draws from its own stream.
        resamples: Of the bootstrap over items; 0 gives no confidence intervals.

    Returns:
        Every question in the order of `metrics`, each in the order of the grids.

    Raises:
        ValueError: A grid lacks a question, or `krippendorff_alpha` refuses its answers.
    """
    results = []
    for question, metric in metrics.items():
        for grid in grids:
            if question not in grid.answers:
                raise ValueError(f"metrics names the question {question!r}, which {grid.condition!r} lacks")
            ratings = grid.answers[question]
            stream = derive_stream(rng, question, grid.condition, ALL_ITEMS)
            alpha = krippendorff_alpha(ratings, metric, rng=stream, resamples=resamples)
            shares = [None if np.isnan(s) else float(s) for s in pair_agreement(ratings)]
            by_item = dict(zip(grid.items, shares, strict=True))
            results.append(Agreement(question, grid.condition, alpha, by_item))
    return results


def krippendorff_alpha(
    ratings: ArrayLike, metric: Metric, *, rng: np.random.Generator | None = None, resamples: int = 0
) -> Alpha:
    """Compute Krippendorff's alpha, 1 − observed / expected disagreement [1].

    Args:
        ratings: Raters × items, NaN without a rating.
        metric: Distance of two values: 0 or 1 (nominal), by the ratings between
            them (ordinal), by their squared difference (interval), and that by
            their sum (ratio).
        rng: Needed with `resamples`.
        resamples: Of the bootstrap over items; 0 gives no confidence interval.

    Returns:
        Alpha, at most 1; without a value, with the reason, if nothing can be paired or nothing varies.

    Raises:
        ValueError: The shape or metric is wrong, a rating is infinite, or there
            are more than 50 different values.

    References:
        1. Krippendorff (2004). Content Analysis, chapter 11.

    Examples:
        >>> krippendorff_alpha([[1, 2, 3, 3], [1, 2, 3, 1]], "nominal").value
        0.6666666666666667
    """
    values, resampled = _alpha_iv(ratings, metric, rng, resamples)
    levels = np.unique(values[~np.isnan(values)])
    counts = (values[:, :, None] == levels).sum(axis=0).astype(float)  # items by levels
    paired = counts.sum(axis=1) >= 2
    sizes = (
        int((~np.isnan(values[:, paired])).any(axis=1).sum()),
        int(paired.sum()),
        int(counts[paired].sum()),
    )
    nothing = np.full(resamples, np.nan)
    if not paired.any():
        return Alpha(metric, None, None, *sizes, nothing, reason=NO_PAIRS)
    coincidences = _compute_coincidences(counts[paired])
    value = float(alphas(coincidences.sum(axis=0), levels, metric))
    if np.isnan(value):
        return Alpha(metric, None, None, *sizes, nothing, reason=NO_VARIATION)
    draws = _bootstrap(coincidences, levels, metric, resampled, resamples)
    interval = percentile_interval(draws) if sizes[1] > 1 else None
    return Alpha(metric, value, interval, *sizes, draws)


def pair_agreement(ratings: ArrayLike) -> Array:
    """Compute the share of pairs of raters with the same rating, per item.

    Args:
        ratings: Raters × items, NaN without a rating.

    Returns:
        Shape (items,), from 0 to 1; NaN for fewer than two ratings.

    Raises:
        ValueError: `ratings` has another shape or an infinite value.
    """
    values = read_values(ratings, "ratings", "rater", "item")
    levels = np.unique(values[~np.isnan(values)])
    counts = (values[:, :, None] == levels).sum(axis=0).astype(float)
    n = counts.sum(axis=1)
    return ratio((counts * (counts - 1)).sum(axis=1), n * (n - 1))


def _alpha_iv(
    ratings: ArrayLike, metric: Metric, rng: np.random.Generator | None, resamples: int
) -> tuple[Array, np.random.Generator]:
    values = read_values(ratings, "ratings", "rater", "item")
    check_choice(metric, get_args(Metric), "metric")
    different = len(np.unique(values[~np.isnan(values)]))
    if different > MOST_VALUES:
        raise ValueError(f"ratings hold {different} different values; at most {MOST_VALUES} are taken")
    check_resamples(resamples, rng)
    return values, rng or np.random.default_rng(0)  # the default is never drawn from


def _compute_coincidences(counts: Array) -> Array:
    """Compute each item's coincidence matrix [2, step 2].

    The shape is items × levels × levels.
    """
    raters = counts.sum(axis=1)[:, None, None]
    pairs = counts[:, :, None] * counts[:, None, :]
    diagonal = np.arange(counts.shape[1])
    pairs[:, diagonal, diagonal] -= counts
    return pairs / (raters - 1)


def _bootstrap(
    coincidences: Array, levels: Array, metric: Metric, rng: np.random.Generator, resamples: int
) -> Array:
    items, values = coincidences.shape[:2]
    draws = np.full(resamples, np.nan)
    flat = coincidences.reshape(items, -1)
    for rows in split_into_chunks(resamples, CELLS_PER_CHUNK // (values * values)):
        weights = rng.multinomial(items, np.full(items, 1 / items), size=rows.stop - rows.start)
        draws[rows] = alphas((weights.astype(float) @ flat).reshape(-1, values, values), levels, metric)
    return draws
