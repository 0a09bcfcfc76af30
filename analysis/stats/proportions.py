"""Confidence intervals of shares. Source: Wilson 1927."""

import numpy as np
from scipy.special import ndtri

from .arrays import Array, ratio


def wilson_interval(hits: Array, n: Array, level: float = 0.95) -> Array:
    """Wilson's score interval of shares: 2 × the shape of hits; NaN where n is 0.

    >>> wilson_interval(np.array([0.0]), np.array([10.0])).round(3).tolist()
    [[0.0], [0.278]]
    """
    z = -ndtri((1 - level) / 2)
    share = ratio(hits, n)
    centre = share + ratio(np.full(n.shape, z**2 / 2), n)
    spread = z * np.sqrt(ratio(share * (1 - share), n) + ratio(np.full(n.shape, z**2 / 4), n**2))
    scale = 1 + ratio(np.full(n.shape, z**2), n)
    return np.clip(np.stack([centre - spread, centre + spread]) / scale, 0.0, 1.0)
