"""Retained trials of a condition as arrays of participants × items.

All participant-level measures are functions of a few sums over a participant's
trials. With items weighted, the same functions serve the estimate (weights 1)
and every bootstrap replicate, and the sums of all replicates are one matrix
product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..stats.arrays import Array
from .exclusion_rules import CLOCK_COLUMNS, Clock, MaxTime, MinTime, Rule

if TYPE_CHECKING:
    import pandas as pd

Sums = dict[str, Array]  # each (participants, replicates)
EVERY_ROW = slice(None)


@dataclass(frozen=True)
class Grid:
    """Trials of one condition.

    Arrays are participants × items, NaN without a value.

    Attributes:
        condition: Name of the condition.
        participants: IDs, in the order of the rows.
        items: IDs, in the order of the columns.
        present: True where there is a trial.
        seconds: Times in seconds.
        system_correct: 1 where the system's answer is right, 0 where it is wrong.
        answers: Answers to the item questionnaire by role, or by key if the question has no role.
        post: Answers to the post survey likewise, shape (participants,); empty if they saw other conditions
            too.
        shared: True if the same participants saw other conditions too; all grids of a group have the same
            ones.
        unasked: Names of the answers that the condition does not ask for.
    """

    condition: str
    participants: tuple[str, ...]
    items: tuple[str, ...]
    present: NDArray[np.bool_]
    seconds: Array
    system_correct: Array
    answers: dict[str, Array]
    post: dict[str, Array]
    shared: bool = False
    unasked: frozenset[str] = frozenset()

    @property
    def trials(self) -> int:
        """Number of trials."""
        return int(self.present.sum())

    @property
    def log_seconds(self) -> Array:
        """Natural logarithm of the times, NaN where unknown or not above 0.

        Participants × items.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.seconds > 0, np.log(self.seconds), np.nan)

    def answers_to(self, role: str) -> Array:
        """Return the answers to a question.

        Args:
            role: Role of the question, or its key if it has no role.

        Returns:
            Participants × items, NaN without an answer and throughout if the question was not asked.
        """
        return self.answers.get(role, np.full(self.present.shape, np.nan))


def build_grids(
    trials: pd.DataFrame,
    participants: pd.DataFrame,
    post_survey: pd.DataFrame | None,
    *,
    conditions: Sequence[str],
    clock: str | None,
    item_columns: dict[str, str],
    post_columns: dict[str, str],
    items: Sequence[str] | None = None,
    unasked: Mapping[str, frozenset[str]] | None = None,
) -> list[Grid]:
    """Build one grid per condition, over one common list of items.

    Args:
        trials: Retained trials, at most one per participant, condition and item.
        participants: Everybody who counts, with or without a retained trial: a row with `participant_id` and
            `condition` for each of their conditions, in the order of the grids.
        post_survey: One row per participant who answered it; None without a post survey. It counts for
            conditions whose participants saw no other one.
        conditions: Names of the conditions, in the order of the grids.
        clock: Column with the time in milliseconds; None leaves the times unknown.
        item_columns: Name of an answer in the item questionnaire to its column.
        post_columns: The same for the post survey.
        items: IDs in the order of the columns; those of the trials, sorted, if left out. Needed if there is
            no trial.
        unasked: Condition to the names of the answers that it does not ask for.

    Returns:
        Grids in the order of `conditions`, with times in seconds.
    """
    import pandas as pd

    items = tuple(sorted(trials["item_id"].unique()) if items is None else items)
    shared = set(participants.loc[participants["participant_id"].duplicated(keep=False), "condition"])
    grids = []
    for condition in conditions:
        people = tuple(participants.loc[participants["condition"] == condition, "participant_id"])
        own = trials[trials["condition"] == condition]
        rows = pd.Index(people).get_indexer(pd.Index(own["participant_id"]))
        columns = pd.Index(items).get_indexer(pd.Index(own["item_id"]))
        spread = partial(_spread, (len(people), len(items)), (rows, columns))
        post = {}
        # Questions asked once, after all conditions, are about none of them.
        if post_survey is not None and condition not in shared:
            answers = post_survey.set_index("participant_id").reindex(list(people))
            post = {name: answers[column].to_numpy(float) for name, column in post_columns.items()}
        grids.append(
            Grid(
                condition=condition,
                participants=people,
                items=items,
                present=~np.isnan(spread(1.0)),
                seconds=spread(own[clock] / 1000 if clock else np.nan),
                system_correct=spread(own["system_correct"]),
                answers={name: spread(own[column]) for name, column in item_columns.items()},
                post=post,
                shared=condition in shared,
                unasked=(unasked or {}).get(condition, frozenset()),
            )
        )
    return grids


def _spread(shape: tuple[int, int], cells: tuple[Any, Any], values: pd.Series | float) -> Array:
    """Put the values of trials into their cells, NaN elsewhere."""
    grid = np.full(shape, np.nan)
    grid[cells] = values
    return grid


def group_grids(grids: Sequence[Grid]) -> tuple[int, ...]:
    """Return for each grid the first grid with the same participants.

    A grid that shares nobody has its own index.

    Raises:
        ValueError: Two grids share some participants and not all.
    """
    firsts: list[int] = []
    for index, grid in enumerate(grids):
        first = index
        for other, earlier in enumerate(grids[:index]):
            if grid.shared and earlier.shared and not set(grid.participants).isdisjoint(earlier.participants):
                if grid.participants != earlier.participants:
                    names = f"{grid.condition!r} and {earlier.condition!r}"
                    raise ValueError(f"{names} must have the same participants, or none")
                first = other
                break
        firsts.append(first)
    return tuple(firsts)


def merge_shared(grids: Sequence[Grid], name: str) -> Grid:
    """Merge the trials of participants who saw these conditions.

    Each item is in one of the conditions.

    Raises:
        ValueError: The grids have other participants or items, or a participant
            saw an item twice.
    """
    first = grids[0]
    if any(g.participants != first.participants or g.items != first.items for g in grids):
        raise ValueError("grids must have the same participants and items")
    if (np.sum([grid.present for grid in grids], axis=0) > 1).any():
        raise ValueError("a participant saw an item in two conditions")

    def merge_arrays(arrays: Sequence[Array]) -> Array:
        merged = np.full(first.present.shape, np.nan)
        for grid, values in zip(grids, arrays, strict=True):
            merged[grid.present] = values[grid.present]
        return merged

    return Grid(
        condition=name,
        participants=first.participants,
        items=first.items,
        present=np.any([grid.present for grid in grids], axis=0),
        seconds=merge_arrays([grid.seconds for grid in grids]),
        system_correct=merge_arrays([grid.system_correct for grid in grids]),
        answers={key: merge_arrays([grid.answers[key] for grid in grids]) for key in first.answers},
        post={},
    )


def quantities(grid: Grid) -> dict[str, Array]:
    """Return the quantities to sum over a participant's trials.

    Each is participants × items, 0 where a trial does not count. A count of trials
    `X_n` goes with each sum `X`. tp, fp, fn, tn cross the rating "correct" with the
    system's correctness over the `judged_n` trials where both are known.
    """
    rated, correct, log_seconds = grid.answers_to("correctness_rating"), grid.system_correct, grid.log_seconds
    arrays = {
        "trials_n": grid.present,
        "judged_n": ~np.isnan(rated) & ~np.isnan(correct),
        "tp": (rated == 1) & (correct == 1),
        "fp": (rated == 1) & (correct == 0),
        "fn": (rated == 0) & (correct == 1),
        "tn": (rated == 0) & (correct == 0),
    }
    summed = {"seconds": grid.seconds, "log_seconds": log_seconds, **grid.answers}
    for name, values in summed.items():
        arrays |= {name: np.nan_to_num(values), f"{name}_n": ~np.isnan(values)}
    return {name: values.astype(float) for name, values in arrays.items()}


class Summed:
    """A condition laid out once for sums under many item weights."""

    def __init__(self, grid: Grid) -> None:
        self.post = grid.post
        self.arrays = quantities(grid)
        order = np.argsort(grid.seconds, axis=1)
        ordered = np.take_along_axis(grid.seconds, order, axis=1)
        # The last column is what the median of no trial finds.
        self.order, self.ordered = order, np.column_stack([ordered, np.full(len(ordered), np.nan)])

    def sums(self, item_weights: Array, rows: slice = EVERY_ROW, *, median: bool = True) -> Sums:
        """Sum over items of the participants in `rows`, in every replicate.

        item_weights: items × replicates, whole numbers; how often each item counts. median: whether to find
        the median times, which are no sums and take longest.
        """
        sums = {name: values[rows] @ item_weights for name, values in self.arrays.items()}
        if median:
            total = sums["seconds_n"]
            sums["median_seconds"] = _compute_weighted_median(
                self.ordered[rows], self.order[rows], total, item_weights
            )
        for name, values in self.post.items():
            own = values[rows]
            sums[name] = np.broadcast_to(own[:, None], (len(own), item_weights.shape[1]))
        return sums

    def sum_without_item(self, *, median: bool = True) -> Sums:
        """Sum over all items but one, participants × items left out."""
        sums = {name: values.sum(axis=1, keepdims=True) - values for name, values in self.arrays.items()}
        if median:
            count = self.ordered.shape[1] - 1
            kept = 1 - np.eye(count)
            sums["median_seconds"] = _compute_weighted_median(
                self.ordered, self.order, sums["seconds_n"], kept
            )
        for name, values in self.post.items():
            sums[name] = np.broadcast_to(values[:, None], next(iter(self.arrays.values())).shape)
        return sums


def pool_sums(grid: Grid) -> Sums:
    """Sum all trials of the condition as one participant's; 1 × 1 each."""
    sums = {name: values.sum(keepdims=True) for name, values in quantities(grid).items()}
    times = grid.seconds[~np.isnan(grid.seconds)]
    sums["median_seconds"] = np.array([[np.median(times) if times.size else np.nan]])
    for name, values in grid.post.items():
        answers = values[~np.isnan(values)]
        sums[name] = np.array([[answers.mean() if answers.size else np.nan]])
    return sums


def _compute_weighted_median(
    ordered: Array, order: NDArray[np.intp], total: Array, item_weights: Array
) -> Array:
    """Compute medians of rows with whole-number weights: rows × replicates.

    NaN if no value counts. ordered: each row's values, smallest first, then NaN
    for missing ones and one NaN more. order: the item of each. total: the weights
    of the known values, rows × replicates.

    As for plain numbers, an even total takes the mean of the two middle ones. All
    rows and replicates go through their sorted values together, in the smallest
    integers that hold the weights.
    """
    rows, items = order.shape
    kind = np.min_scalar_type(-1 - 2 * max(items, int(item_weights.sum(axis=0).max(initial=0))))
    weights, has_value = item_weights.astype(kind), ~np.isnan(ordered)
    counted = total.astype(kind)
    half, beyond = (counted + 1) // 2, counted // 2 + 1
    reached, lower, upper = (np.zeros(total.shape, kind) for _ in range(3))
    for rank in range(items):
        step = weights[order[:, rank]]
        reached += step if has_value[:, rank].all() else step * has_value[:, rank, None]
        lower += reached < half
        upper += reached < beyond
    start = (np.arange(rows) * (items + 1))[:, None]
    return np.asarray((ordered.ravel()[start + lower] + ordered.ravel()[start + upper]) / 2)


def choose_clock(rules: Sequence[Rule], trials: pd.DataFrame) -> Clock | None:
    """Choose the clock that the time rules name, else one with values.

    The server's clock comes before the browser's.
    """
    named = [rule.clock for rule in rules if isinstance(rule, MinTime | MaxTime)]
    for clock in (*named, *CLOCK_COLUMNS):
        if trials[CLOCK_COLUMNS[clock]].notna().any():
            return clock
    return None
