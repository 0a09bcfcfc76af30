"""Completion time against the certainty of the rating (Schuff et al. 2020, Figure 2d)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.estimates import over_participants
from analysis.grid import Array, Grid
from analysis.measures import ratio
from analysis.resampling import percentile_interval, resample


@dataclass(frozen=True)
class TimeAtCertainty:
    """Mean time at one level of certainty, participants first, over all conditions.

    seconds: mean over participants of their own mean time at the level; None where nobody chose it.
    by_condition: the same within each condition.
    """

    level: int
    seconds: float | None
    interval: tuple[float, float] | None
    participants: int
    trials: int
    by_condition: dict[str, float | None]


def time_at_certainty(
    grids: Sequence[Grid], levels: int, *, rng: np.random.Generator, resamples: int
) -> list[TimeAtCertainty]:
    """Mean completion time at each level 1..levels, with two-way bootstrap intervals.

    Empty where certainty was not asked or no time is known.
    """
    known = [grid for grid in grids if "certainty" in grid.answers and grid.participants]
    if not any((~np.isnan(grid.seconds + grid.answers["certainty"])).any() for grid in known):
        return []
    replicates = np.full((resamples, levels), np.nan)
    done = 0
    for weights in resample(rng, [len(g.participants) for g in known], len(known[0].items), resamples):
        people = np.concatenate(weights.participants)
        for level in range(1, levels + 1):
            times = np.concatenate([_mean_times(grid, level, weights.items) for grid in known])
            rows = slice(done, done + weights.replicates)
            replicates[rows, level - 1] = over_participants(times, people)
        done += weights.replicates
    return [_at_level(known, level, replicates[:, level - 1]) for level in range(1, levels + 1)]


def _mean_times(grid: Grid, level: int, item_weights: Array) -> Array:
    """Each participant's mean time at the level: participants × replicates, NaN without such a trial."""
    chosen = (grid.answers["certainty"] == level) & ~np.isnan(grid.seconds)
    return ratio(np.where(chosen, grid.seconds, 0.0) @ item_weights, chosen.astype(float) @ item_weights)


def _at_level(grids: Sequence[Grid], level: int, replicates: Array) -> TimeAtCertainty:
    ones = np.ones((len(grids[0].items), 1))
    times = {grid.condition: _mean_times(grid, level, ones)[:, 0] for grid in grids}
    everybody = np.concatenate(list(times.values()))
    participants = int(np.count_nonzero(~np.isnan(everybody)))
    return TimeAtCertainty(
        level=level,
        seconds=_mean(everybody),
        interval=percentile_interval(replicates) if participants > 1 else None,
        participants=participants,
        trials=sum(
            int(((grid.answers["certainty"] == level) & ~np.isnan(grid.seconds)).sum()) for grid in grids
        ),
        by_condition={condition: _mean(values) for condition, values in times.items()},
    )


def _mean(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
