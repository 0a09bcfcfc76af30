"""Completion time against the certainty of the rating.

References:
    1. Schuff et al. (2020), figure 2d.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..stats.arguments import check_count
from ..stats.arrays import Array
from .means_of_participants import Part, ParticipantMeans, build_mean_statistic, participant_means
from .trial_grid import Grid, group_grids


@dataclass(frozen=True)
class TimeAtCertainty:
    """Mean time at one level of certainty, over all conditions.

    Attributes:
        level: Level of certainty, from 1.
        seconds: Mean over participants of their own mean time at the level; None if no participant chose it.
        interval: 95 %, in seconds; None as that of `ParticipantMean`.
        participants: Number of participants who chose the level.
        trials: Number of trials at the level.
        by_condition: `seconds` within each condition.
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
    """Estimate mean completion time at each level 1..levels.

    Args:
        grids: One per condition.
        levels: Number of levels of the certainty scale.
        rng: Source of random numbers.
        resamples: Of the two-way bootstrap over participants and items, which gives
            the confidence intervals.

    Returns:
        One result per level, times in seconds; empty if certainty was not asked or
        no time is known.

    Raises:
        ValueError: `levels` is below 1, `resamples` is negative, or two grids share some participants and not
            all.
    """
    check_count(levels, 1, "levels")
    rated = [grid for grid in grids if "certainty" in grid.answers and grid.participants]
    if not any((~np.isnan(grid.seconds + grid.answers["certainty"])).any() for grid in rated):
        return []
    parts = [_build_part(grid, group, levels) for grid, group in zip(rated, group_grids(rated), strict=True)]
    means = participant_means(parts, rng=rng, resamples=resamples)
    return [_build_time_at_level(rated, level, means) for level in range(1, levels + 1)]


def _build_part(grid: Grid, group: int, levels: int) -> Part:
    """Average each participant's time at each level."""
    certainty = grid.answers["certainty"]
    at = {
        str(level): build_mean_statistic(np.where(certainty == level, grid.seconds, np.nan))
        for level in range(1, levels + 1)
    }

    def statistics(item_weights: Array, rows: slice) -> dict[str, Array]:
        return {level: mean(item_weights, rows) for level, mean in at.items()}

    return Part(grid.condition, len(grid.participants), len(grid.items), statistics, group)


def _build_time_at_level(grids: Sequence[Grid], level: int, means: ParticipantMeans) -> TimeAtCertainty:
    everybody = means.get(str(level))
    return TimeAtCertainty(
        level=level,
        seconds=everybody.value,
        interval=everybody.interval,
        participants=everybody.participants,
        trials=sum(
            int(((grid.answers["certainty"] == level) & ~np.isnan(grid.seconds)).sum()) for grid in grids
        ),
        by_condition={grid.condition: means.get(str(level), grid.condition).value for grid in grids},
    )
