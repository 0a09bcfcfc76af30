"""Agreement beyond chance, as functions of sums over items.

Cohen's kappa of two people, Fleiss' kappa, and Krippendorff's alpha of any
metric: each depends on an item only through numbers that add up, so that a
bootstrap over items is a sum with other weights.

References:
    1. Cohen (1960). A Coefficient of Agreement for Nominal Scales.
    2. Fleiss (1971). Measuring Nominal Scale Agreement Among Many Raters.
       Ratings of a unit need not be equally many here: its agreement is over
       the pairs there are, and chance is that of all ratings.
    3. Light (1971). Measures of Response Agreement: Cohen's kappa of several
       people is the mean over pairs of them.
    4. Krippendorff (2004). Content Analysis, chapter 11.
"""

import numpy as np

from ..faithfulness.overlap import Index
from ..stats.arrays import Array, ratio
from ..stats.bootstrap_sums import Tally
from ..stats.coincidences import Metric, alphas

MOST_LEVELS = 30  # different values; a matrix of them is summed for each item
MOST_PAIRS = 50  # pairs of people; a table of each is summed for each item
TOO_MANY = f"there are more than {MOST_LEVELS} different values"


def cohen(tables: Array, item: Index, pair: Index, items: int, reason: str) -> Tally:
    """Build the sums of Cohen's kappa [1], the mean over pairs of people [3].

    Of more than `MOST_PAIRS` those with the most comparisons count; pairs whose kappa is undefined do not.

    Args:
        tables: Comparisons × 4: both yes, only the first, only the second, both no.
        item: Of each comparison.
        pair: Of people, of each comparison.
        items: Number of items.
        reason: Given if no pair of people has a kappa.
    """
    names, counts = np.unique(pair, return_counts=True)
    kept = np.sort(names[np.argsort(-counts, kind="stable")][:MOST_PAIRS])
    chosen = np.isin(pair, kept)
    position = np.searchsorted(kept, pair[chosen])
    cells = max(len(kept), 1) * 4
    key = (item[chosen] * cells + 4 * position)[:, None] + np.arange(4)
    sums = np.bincount(key.ravel(), tables[chosen].ravel(), minlength=items * cells).astype(float)
    return Tally(sums.reshape(items, cells), _light, int(chosen.sum()), reason)


def _light(sums: Array) -> Array:
    both, first, second, neither = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 4), -1, 0)
    n = both + first + second + neither
    observed = (both + neither) * n
    chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    kappas = ratio(observed - chance, n * n - chance)
    defined = ~np.isnan(kappas)
    return ratio(np.where(defined, kappas, 0.0).sum(axis=-1), defined.sum(axis=-1).astype(float))


def fleiss(agreeing: Array, units: Array, yes: Array, no: Array, n: int, reason: str) -> Tally:
    """Build the sums of Fleiss' kappa [2] of yes and no, one row an item.

    agreeing: sum over units of the share of agreeing pairs. yes, no: numbers of ratings.
    """
    return Tally(np.stack([agreeing, units, yes, no], axis=1), _fleiss, n, reason)


def _fleiss(sums: Array) -> Array:
    agreeing, units, yes, no = np.moveaxis(sums, -1, 0)
    share = ratio(yes, yes + no)
    chance = share**2 + (1 - share) ** 2
    return ratio(ratio(agreeing, units) - chance, 1 - chance)


def alpha(values: Array, unit: Index, unit_item: Index, items: int, metric: Metric, reason: str) -> Tally:
    """Build the sums of Krippendorff's alpha [4]: coincidences of each item.

    Args:
        values: One of each rating, not NaN.
        unit: Of each rating; units with one rating do not count.
        unit_item: Item of each unit.
        items: Number of items.
        metric: Distance of two values; "ratio" needs values of 0 and more.
        reason: Given if alpha is undefined.

    Raises:
        ValueError: The metric is unknown.
    """
    raters = np.bincount(unit, minlength=len(unit_item))
    kept = raters[unit] >= 2
    levels, level = np.unique(values[kept], return_inverse=True)
    paired = int((raters >= 2).sum())
    if not 0 < len(levels) <= MOST_LEVELS:
        why = TOO_MANY if len(levels) else reason
        return Tally(np.zeros((items, 1)), lambda sums: np.full(sums.shape[:-1], np.nan), paired, why)
    size = len(levels)
    counts = np.bincount(unit[kept] * size + level, minlength=len(unit_item) * size).reshape(-1, size)
    weights = np.where(raters >= 2, 1 / np.maximum(raters - 1, 1), 0.0)
    sums = np.zeros((items, size, size))
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(size)
    np.add.at(sums, unit_item, pairs * weights[:, None, None])

    def formula(of_units: Array) -> Array:
        return alphas(of_units.reshape(*of_units.shape[:-1], size, size), levels, metric)

    return Tally(sums.reshape(items, size * size), formula, paired, reason)
