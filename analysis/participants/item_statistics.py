"""Statistics per item, and the table of trials.

Per condition and item, every participant gives one trial at most, so the
trials of an item are independent: confidence intervals are those of
independent draws of participants, with the item fixed. Shares have Wilson's
(1927) interval, means Student's t, geometric means the same on the log scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from ..stats.arguments import check_columns
from ..stats.arrays import Array, ratio
from .krippendorff import pair_agreement
from .learning_curves import mark_right_ratings
from .trial_grid import Grid

WILSON = "share, 95 % Wilson interval over participants"
STUDENT = "mean, 95 % t interval over participants"
LOG_STUDENT = "geometric mean, 95 % t interval of the logs over participants"
PAIRS = "share of pairs of participants with the same rating, no interval"


@dataclass(frozen=True)
class ItemValue:
    """One measure of one item in one condition.

    Attributes:
        condition: Name of the condition.
        item: ID of the item.
        measure: Key of the measure.
        value: In the unit of the measure; None if undefined, `reason` then says why.
        interval: 95 %; None if `n` is below 2, or if values that should vary are all the same.
        n: Number of trials that enter.
        missing: Number of retained trials that could not enter.
        method: Name of the method.
        reason: Why the value is undefined; empty otherwise.
    """

    condition: str
    item: str
    measure: str
    value: float | None
    interval: tuple[float, float] | None
    n: int
    missing: int
    method: str
    reason: str = ""


ITEM_MEASURES: dict[str, str] = {
    "agreement": "share of ratings \"correct\"",
    "fraction_correct": "share of right ratings",
    "difficulty": "share of ratings that are not right",
    "fp": "rated correct, is wrong; of all judged ratings",
    "fn": "rated wrong, is correct; of all judged ratings",
    "pair_agreement": "share of pairs of participants with the same rating",
    "time_mean": "mean time in seconds",
    "time_geometric": "geometric mean time in seconds",
    "certainty": "mean rating",
    "helpfulness": "mean rating",
}  # fmt: skip


def item_measures(grids: Sequence[Grid], own: Mapping[str, str] | None = None) -> list[ItemValue]:
    """Compute the measures of single items for every condition and item.

    They are agreement, fraction_correct, difficulty, fp, fn, pair_agreement, time_mean, time_geometric,
    certainty and helpfulness. Undefined ones are included, with the reason.

    Args:
        grids: One per condition.
        own: Answers of 1 and 0 that only this study has, with their meaning: their shares come first.

    Returns:
        By grid, then by measure, then by item, in the order of the grids' items.
    """
    rows = []
    for grid in grids:
        for key in own or {}:
            values = grid.answers_to(key)
            rows += _build_rows(grid, key, values, WILSON, *_wilson(values))
        rated = grid.answers_to("correctness_rating")
        right = mark_right_ratings(grid)
        judged = ~np.isnan(right)
        shares = {
            "agreement": rated,
            "fraction_correct": right,
            "difficulty": 1 - right,
            "fp": np.where(judged, (rated == 1) & (right == 0), np.nan),
            "fn": np.where(judged, (rated == 0) & (right == 0), np.nan),
        }
        for key, values in shares.items():
            rows += _build_rows(grid, key, values, WILSON, *_wilson(values))
        nothing = np.full((2, len(grid.items)), np.nan)
        rows += _build_rows(grid, "pair_agreement", rated, PAIRS, pair_agreement(rated), nothing)
        rows += _build_rows(grid, "time_mean", grid.seconds, STUDENT, *_student(grid.seconds))
        mean, interval = _student(grid.log_seconds)
        rows += _build_rows(
            grid, "time_geometric", grid.log_seconds, LOG_STUDENT, np.exp(mean), np.exp(interval)
        )
        for key in ("certainty", "helpfulness"):
            values = grid.answers_to(key)
            rows += _build_rows(grid, key, values, STUDENT, *_student(values))
    return rows


def trial_table(
    trials: pd.DataFrame, excluded: Sequence[tuple[str, ...]], *, clock: str | None, rating: str | None
) -> pd.DataFrame:
    """Build a table with one row per submitted trial, in the order given.

    Args:
        trials: As in `Study.trials`.
        excluded: Names of the rules that hit each (`Exclusions.names`).
        clock: Column with milliseconds.
        rating: Column of the question with the role correctness_rating.

    Returns:
        Columns participant_id, item_id, condition, position, seconds, rated_correct, system_correct, tp, fp,
        fn, tn, right (all missing if the rating or the system's correctness is), over_estimation (1 for FP,
        −1 for FN, 0 else; its mean over a participant's retained trials is the measure), excluded_by (names
        joined by ;) and retained.

    Raises:
        ValueError: `excluded` has another length than `trials`, or a column is missing.
    """
    needed = ("participant_id", "item_id", "condition", "position", "system_correct")
    check_columns(trials.columns, (*needed, *filter(None, (clock, rating))), "trials")
    if len(excluded) != len(trials):
        raise ValueError(f"excluded has {len(excluded)} entries for {len(trials)} trials")
    rated = _convert_to_truth(trials[rating] if rating else pd.Series(np.nan, index=trials.index))
    correct = _convert_to_truth(trials["system_correct"])
    cells = {"tp": rated & correct, "fp": rated & ~correct, "fn": ~rated & correct, "tn": ~rated & ~correct}
    judged = rated.notna() & correct.notna()
    cells = {name: flags.where(judged) for name, flags in cells.items()}
    frame = trials[["participant_id", "item_id", "condition", "position"]].copy()
    frame["seconds"] = trials[clock] / 1000 if clock else np.nan
    frame["rated_correct"], frame["system_correct"] = rated, correct
    frame = frame.assign(**cells)
    frame["right"] = cells["tp"] | cells["tn"]
    frame["over_estimation"] = cells["fp"].astype("Int8") - cells["fn"].astype("Int8")
    frame["excluded_by"] = [";".join(names) for names in excluded]
    frame["retained"] = [not names for names in excluded]
    return frame


def _convert_to_truth(values: pd.Series) -> pd.Series:
    """Convert 1, 0 and NaN to truth values with missing ones."""
    return values.astype("Float64").eq(1).where(values.notna()).astype("boolean")


def _wilson(values: Array) -> tuple[Array, Array]:
    """Compute share and interval of each column's known values."""
    has_value = ~np.isnan(values)
    # The site imports this module and never gets here: statsmodels would take each web process 20 MB.
    from statsmodels.stats.proportion import proportion_confint

    n, hits = has_value.sum(axis=0).astype(float), np.nansum(values, axis=0)
    # Without a known value share and interval are NaN.
    with np.errstate(divide="ignore", invalid="ignore"):
        return ratio(hits, n), np.stack(proportion_confint(hits, n, method="wilson"))


def _student(values: Array) -> tuple[Array, Array]:
    """Compute mean and t interval of each column's known values.

    There is no interval for fewer than two values or without variation.
    """
    has_value = ~np.isnan(values)
    n = has_value.sum(axis=0).astype(float)
    mean = ratio(np.nansum(values, axis=0), n)
    squares = np.where(has_value, (values - mean) ** 2, 0.0).sum(axis=0)
    squares = np.where(squares > 1e-18 * np.maximum(mean**2, 1e-300) * n, squares, 0.0)
    freedom = np.maximum(n - 1, 1)
    error = np.sqrt(ratio(squares, np.where(n > 1, n * freedom, 0.0)))
    error = np.where(error > 0, error, np.nan)
    half = scipy.special.stdtrit(freedom, 0.975) * error
    return mean, np.stack([mean - half, mean + half])


def _build_rows(
    grid: Grid, measure: str, values: Array, method: str, estimates: Array, interval: Array
) -> list[ItemValue]:
    n = (~np.isnan(values)).sum(axis=0)
    retained = grid.present.sum(axis=0)
    return [
        ItemValue(
            condition=grid.condition,
            item=item,
            measure=measure,
            value=None if np.isnan(estimates[i]) else float(estimates[i]),
            interval=None
            if n[i] < 2 or np.isnan(interval[:, i]).any()
            else (float(interval[0, i]), float(interval[1, i])),
            n=int(n[i]),
            missing=int(retained[i] - n[i]),
            method=method,
            reason=_explain_undefined(int(retained[i]), int(n[i])) if np.isnan(estimates[i]) else "",
        )
        for i, item in enumerate(grid.items)
    ]


def _explain_undefined(retained: int, n: int) -> str:
    if not retained:
        return "no retained trial"
    return "fewer than two ratings" if n else "no trial has what the measure needs"
