"""Numbers as all of the analysis holds them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def split_into_chunks(total: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows, or of one row if it is below 1."""
    size = max(1, size)
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide, with NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)
