"""Krippendorff's alpha as a function of coincidences.

References:
    1. Krippendorff (2011). Computing Krippendorff's Alpha-Reliability:
       coincidence matrix, and the metrics.
"""

from typing import Literal, get_args

import numpy as np

from .arrays import Array, ratio

Metric = Literal["nominal", "ordinal", "interval", "ratio"]


def alphas(coincidences: Array, levels: Array, metric: Metric) -> Array:
    """Compute the alpha of each matrix, NaN where undefined.

    Args:
        coincidences: Matrices of shape (…, levels, levels).
        levels: The different values, ascending.
        metric: Distance of two values.

    Raises:
        ValueError: The metric is unknown.
    """
    totals = coincidences.sum(axis=-1)
    apart = _compute_distances(totals, levels, metric)
    observed = (coincidences * apart).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * apart).sum(axis=(-2, -1))
    return 1 - (totals.sum(axis=-1) - 1) * ratio(observed, expected)


def _compute_distances(totals: Array, levels: Array, metric: Metric) -> Array:
    """Compute squared distances of levels."""
    apart = levels[:, None] - levels
    if metric == "nominal":
        return (apart != 0).astype(float)
    if metric == "interval":
        return np.asarray(apart**2, dtype=float)
    if metric == "ratio":
        return np.where(apart == 0, 0.0, ratio(apart, levels[:, None] + levels)) ** 2
    if metric != "ordinal":
        raise ValueError(f"metric must be one of {', '.join(get_args(Metric))}, not {metric!r}")
    # Ratings between two levels, with half of those at either end, are a difference of mid-ranks.
    middle = np.cumsum(totals, axis=-1) - totals / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)
