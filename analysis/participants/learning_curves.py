"""Learning over position: time, ratings and certainty along the items.

Each participant sees the items in an order of their own, so position and item
are not confounded. Per participant there are the mean in each block of
positions, the last block minus the first, and a least-squares slope per
position; participants are averaged (`participant_means`). Change and slope
have t intervals over participants: with orders of their own, an item moves
them as noise does. Participants who leave early have no last block and count
as undefined there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..stats.arguments import check_count
from ..stats.arrays import Array
from ..stats.streams import derive_stream
from .means_of_participants import (
    EVERYBODY,
    Part,
    ParticipantMean,
    ParticipantMeans,
    build_mean_statistic,
    build_slope_statistic,
    participant_means,
)
from .trial_grid import Grid

BLOCK = 5  # positions in a block


@dataclass(frozen=True)
class Trait:
    """A quantity followed over positions.

    One value per trial, participants × items, NaN where unknown.
    """

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
    """A trait over positions in one condition, or ("") over all participants.

    Attributes:
        trait: Name of the trait.
        label: Its name for readers.
        unit: Its unit.
        condition: Name of the condition; "" over all participants.
        blocks: Means over blocks of positions, in order.
        change: Last block minus first block, within participants; without a value if there is one block.
        slope: Per position, within participants; for `log_seconds`, exp(slope) − 1 is the relative change of
            time per position.
    """

    trait: str
    label: str
    unit: str
    condition: str
    blocks: tuple[Block, ...]
    change: ParticipantMean
    slope: ParticipantMean


def mark_right_ratings(grid: Grid) -> Array:
    """Mark ratings that match the system's correctness.

    1 if they do, 0 if not, NaN if either is unknown.
    """
    rated = grid.answers_to("correctness_rating")
    is_judged = ~np.isnan(rated) & ~np.isnan(grid.system_correct)
    return np.where(is_judged, rated == grid.system_correct, np.nan)


TRAITS: tuple[Trait, ...] = (
    Trait("seconds", "Completion time", "seconds", lambda grid: grid.seconds),
    Trait("log_seconds", "Completion time, log scale", "log seconds", lambda grid: grid.log_seconds),
    Trait("fraction_correct", "Fraction of correct ratings", "share", mark_right_ratings),
    Trait("agreement", "Agreement", "share", lambda grid: grid.answers_to("correctness_rating")),
    Trait("certainty", "Certainty", "points", lambda grid: grid.answers_to("certainty")),
    Trait(
        "final_accuracy", "Accuracy of final answers", "share", lambda grid: grid.answers_to("final_correct")
    ),
    Trait(
        "prediction_accuracy",
        "Accuracy of predictions",
        "share",
        lambda grid: grid.answers_to("predicted_right"),
    ),
)


def arrange_positions(grid: Grid, trials: pd.DataFrame) -> Array:
    """Arrange the positions of retained trials like the cells of a grid.

    Args:
        grid: Trials of one condition.
        trials: Columns participant_id, item_id and position (from 1); rows of other conditions are left out.

    Returns:
        Participants × items, NaN without a trial or a position.
    """
    own = trials[trials["participant_id"].isin(grid.participants) & trials["item_id"].isin(grid.items)]
    positions = np.full(grid.present.shape, np.nan)
    rows = pd.Index(grid.participants).get_indexer(pd.Index(own["participant_id"]))
    columns = pd.Index(grid.items).get_indexer(pd.Index(own["item_id"]))
    positions[rows, columns] = own["position"].to_numpy(float)
    return np.where(grid.present, positions, np.nan)


def learning(
    grids: Sequence[Grid],
    positions: Sequence[Array],
    *,
    rng: np.random.Generator,
    resamples: int,
    block: int = BLOCK,
) -> list[Learning]:
    """Estimate traits over positions, per condition and over all participants.

    Args:
        grids: One per condition, over common items.
        positions: For each, participants × items (`arrange_positions`).
        rng: Source of random numbers.
        block: Positions in a block; the last one may be shorter.
        resamples: Of the bootstrap; 0 gives no confidence intervals.

    Returns:
        Every trait with a value; empty if no position is known.

    Raises:
        ValueError: Grids and positions do not pair, a position is below 1 or infinite, or `block` is below 1.

    Examples:
        >>> learning([], [], rng=np.random.default_rng(1), resamples=0)
        []
    """
    last = _check(grids, positions, block)
    if not last:
        return []
    bounds = [(first, min(first + block - 1, last)) for first in range(1, last + 1, block)]
    conditions = (*(grid.condition for grid in grids), EVERYBODY)
    results = []
    for trait in TRAITS:  # one at a time: together their arrays would be many times the size of the trials
        if _has_positioned_value(trait, grids, positions):
            parts = [
                _build_part(g, p, trait.values(g), bounds) for g, p in zip(grids, positions, strict=True)
            ]
            means = participant_means(parts, rng=derive_stream(rng, trait.key), resamples=resamples)
            results += [_build_learning(trait, condition, means, bounds) for condition in conditions]
    return results


def _has_positioned_value(trait: Trait, grids: Sequence[Grid], positions: Sequence[Array]) -> bool:
    """Test whether any trial has both a value and a position."""
    return any(
        (~np.isnan(trait.values(g)) & ~np.isnan(p)).any() for g, p in zip(grids, positions, strict=True)
    )


def _check(grids: Sequence[Grid], positions: Sequence[Array], block: int) -> int:
    """Return the last position, 0 if none is known."""
    check_count(block, 1, "block")
    if [grid.present.shape for grid in grids] != [np.shape(p) for p in positions]:
        raise ValueError("positions must hold one array per grid, participants × items")
    for own in positions:
        if (wrong := (own < 1) | np.isinf(own)).any():
            raise ValueError(f"positions must be numbers from 1, or NaN, not {own[wrong][0]}")
    last_positions = [int(np.nanmax(p)) for p in positions if (~np.isnan(p)).any()]
    return max(last_positions, default=0)


def _build_part(grid: Grid, positions: Array, values: Array, bounds: Sequence[tuple[int, int]]) -> Part:
    """Build a trait's statistics: block means by number, change and slope."""
    blocks = [
        build_mean_statistic(np.where((positions >= first) & (positions <= last), values, np.nan))
        for first, last in bounds
    ]
    slope = build_slope_statistic(positions, values)

    def statistics(item_weights: Array, rows: slice) -> dict[str, Array]:
        means = [block(item_weights, rows) for block in blocks]
        named = {str(number): mean for number, mean in enumerate(means)}
        # A single block changes into nothing: 0 would look like a finding.
        change = means[-1] - means[0] if len(means) > 1 else np.full_like(means[0], np.nan)
        return named | {"change": change, "slope": slope(item_weights, rows)}

    size = len(grid.participants), len(grid.items)
    return Part(grid.condition, *size, statistics, within=frozenset({"change", "slope"}))


def _build_learning(
    trait: Trait, condition: str, means: ParticipantMeans, bounds: Sequence[tuple[int, int]]
) -> Learning:
    return Learning(
        trait=trait.key,
        label=trait.label,
        unit=trait.unit,
        condition=condition,
        blocks=tuple(
            Block(first, last, means.get(str(number), condition))
            for number, (first, last) in enumerate(bounds)
        ),
        change=means.get("change", condition),
        slope=means.get("slope", condition),
    )
