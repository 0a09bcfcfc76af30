"""Learning over position: how time, ratings and certainty change as a participant goes through the items.

Each participant sees the items in an order of their own, so position and item are not confounded. Per
participant: the mean in each block of positions, the last block minus the first, and a least-squares slope
per position; participants are averaged (`participant_means`). Change and slope have t intervals over
participants: with orders of their own, an item moves them as noise does. Participants who leave early have no
last block and are counted as undefined there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..stats.arrays import Array
from .participant_means import (
    EVERYBODY,
    Part,
    ParticipantMean,
    ParticipantMeans,
    mean_of,
    participant_means,
    slope_of,
)
from .trial_grid import Grid

BLOCK = 5  # positions in a block


@dataclass(frozen=True)
class Trait:
    """What is followed over positions: one value per trial, participants × items, NaN where unknown."""

    key: str
    label: str
    unit: str
    values: Callable[[Grid], Array]


@dataclass(frozen=True)
class Block:
    """A block of positions, first and last included, 1-based."""

    first: int
    last: int
    mean: ParticipantMean


@dataclass(frozen=True)
class Learning:
    """One trait over positions, in one condition or (condition "") over everybody.

    change: last block minus first block, within participants; without a value where there is one block.
    slope: per position, within participants; for `log_seconds`, exp(slope) − 1 is the relative change of time
    per position.
    """

    trait: str
    label: str
    unit: str
    condition: str
    blocks: tuple[Block, ...]
    change: ParticipantMean
    slope: ParticipantMean


def ratings_right(grid: Grid) -> Array:
    """1 where the rating matches the system's correctness, 0 where not, NaN where either is unknown."""
    rated = grid.answers_to("correctness_rating")
    known = ~np.isnan(rated) & ~np.isnan(grid.system_correct)
    return np.where(known, rated == grid.system_correct, np.nan)


TRAITS: tuple[Trait, ...] = (
    Trait("seconds", "Completion time", "seconds", lambda grid: grid.seconds),
    Trait("log_seconds", "Completion time, log scale", "log seconds", lambda grid: grid.log_seconds),
    Trait("fraction_correct", "Fraction of correct ratings", "share", ratings_right),
    Trait("agreement", "Agreement", "share", lambda grid: grid.answers_to("correctness_rating")),
    Trait("certainty", "Certainty", "points", lambda grid: grid.answers_to("certainty")),
)


def positions_of(grid: Grid, trials: pd.DataFrame) -> Array:
    """Position of each retained trial: participants × items, NaN where there is no trial or no position.

    trials: columns participant_id, item_id, position (1-based); rows of other conditions are left out.
    """
    own = trials[trials["participant_id"].isin(grid.participants) & trials["item_id"].isin(grid.items)]
    found = np.full(grid.present.shape, np.nan)
    rows = pd.Index(grid.participants).get_indexer(pd.Index(own["participant_id"]))
    columns = pd.Index(grid.items).get_indexer(pd.Index(own["item_id"]))
    found[rows, columns] = own["position"].to_numpy(float)
    return np.where(grid.present, found, np.nan)


def learning(
    grids: Sequence[Grid],
    positions: Sequence[Array],
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = BLOCK,
) -> list[Learning]:
    """Every trait with a value, over positions: per condition, then over everybody.

    grids: one per condition, over common items. positions: for each, participants × items (`positions_of`).
    block: positions in a block; the last one may be shorter. Empty where no position is known.

    Raises ValueError where grids and positions do not pair or block is below 1.

    >>> learning([], [], rng=np.random.default_rng(1), resamples=0)
    []
    """
    last = _check(grids, positions, block)
    if not last:
        return []
    bounds = [(first, min(first + block - 1, last)) for first in range(1, last + 1, block)]
    places = (*(grid.condition for grid in grids), EVERYBODY)
    found = []
    for trait in TRAITS:  # one at a time: together their arrays would be many times the size of the trials
        if _followed(trait, grids, positions):
            parts = [_part(g, p, trait.values(g), bounds) for g, p in zip(grids, positions, strict=True)]
            means = participant_means(parts, rng=rng, resamples=resamples)
            found += [_learning(trait, place, means, bounds) for place in places]
    return found


def _followed(trait: Trait, grids: Sequence[Grid], positions: Sequence[Array]) -> bool:
    """Whether any trial has both a value and a position."""
    return any(
        (~np.isnan(trait.values(g)) & ~np.isnan(p)).any() for g, p in zip(grids, positions, strict=True)
    )


def _check(grids: Sequence[Grid], positions: Sequence[Array], block: int) -> int:
    """The last position, 0 where none is known."""
    if block < 1:
        raise ValueError(f"block must be at least 1, not {block}")
    if [grid.present.shape for grid in grids] != [np.shape(p) for p in positions]:
        raise ValueError("positions must hold one array per grid, participants × items")
    known = [int(np.nanmax(p)) for p in positions if (~np.isnan(p)).any()]
    return max(known, default=0)


def _part(grid: Grid, positions: Array, values: Array, bounds: Sequence[tuple[int, int]]) -> Part:
    """One trait's statistics: each block's mean by its number, the change, and the slope."""
    blocks = [
        mean_of(np.where((positions >= first) & (positions <= last), values, np.nan))
        for first, last in bounds
    ]
    slope = slope_of(positions, values)

    def statistics(item_weights: Array, rows: slice) -> dict[str, Array]:
        means = [block(item_weights, rows) for block in blocks]
        named = {str(number): mean for number, mean in enumerate(means)}
        # A single block changes into nothing: 0 would look like a finding.
        change = means[-1] - means[0] if len(means) > 1 else np.full_like(means[0], np.nan)
        return named | {"change": change, "slope": slope(item_weights, rows)}

    size = len(grid.participants), len(grid.items)
    return Part(grid.condition, *size, statistics, within=frozenset({"change", "slope"}))


def _learning(
    trait: Trait, place: str, means: ParticipantMeans, bounds: Sequence[tuple[int, int]]
) -> Learning:
    return Learning(
        trait=trait.key,
        label=trait.label,
        unit=trait.unit,
        condition=place,
        blocks=tuple(
            Block(first, last, means.get(str(number), place)) for number, (first, last) in enumerate(bounds)
        ),
        change=means.get("change", place),
        slope=means.get("slope", place),
    )
