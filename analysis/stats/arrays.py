"""Numbers as all of the analysis holds them."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide, with NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)
