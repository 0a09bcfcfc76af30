"""Two-way bootstrap weights: participants within each condition, and items across the whole study.

Source: Owen 2007 (The pigeonhole bootstrap, Annals of Applied Statistics 1): rows and columns of a crossed
design are resampled independently, here participants and items. Its variance is not below the true one
under crossed random effects, and up to three times the residual's share above it: intervals err to the wide
side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.grid import Array

CELLS_PER_CHUNK = 200_000  # participants by replicates held at once, about 60 MB with all sums


@dataclass(frozen=True)
class Weights:
    """How often each item and participant counts in some replicates.

    items: items × replicates, common to all conditions. participants: one array per condition, participants
    × replicates.
    """

    items: Array
    participants: list[Array]

    @property
    def replicates(self) -> int:
        return self.items.shape[1]


def resample(
    rng: np.random.Generator, participants: Sequence[int], items: int, replicates: int
) -> Iterator[Weights]:
    """Weights for `replicates` replicates, in chunks of bounded memory.

    participants: number in each condition; a condition may have none. items: number in the study.
    """
    if items < 1:
        raise ValueError(f"items must be at least 1, not {items}")
    size = max(1, min(replicates, CELLS_PER_CHUNK // max(1, sum(participants))))
    for start in range(0, replicates, size):
        count = min(size, replicates - start)
        yield Weights(_draw(rng, items, count), [_draw(rng, people, count) for people in participants])


def percentile_interval(replicates: Array, level: float = 0.95) -> tuple[float, float] | None:
    """Percentile interval of a statistic's bootstrap replicates.

    None when more than one replicate in twenty is undefined (NaN): the rest would be a selection.
    """
    defined = replicates[~np.isnan(replicates)]
    if len(replicates) == 0 or len(defined) < 0.95 * len(replicates):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _draw(rng: np.random.Generator, count: int, replicates: int) -> Array:
    if count == 0:
        return np.zeros((0, replicates))
    return rng.multinomial(count, np.full(count, 1 / count), size=replicates).T.astype(float)
