"""Simulation: predict the system's answers before and after seeing some.

Items come in three blocks: before, learning, and after. In the learning block the answers are shown, with or
without explanations. The effect is measured within people, and compared with that of answers alone.

References:
    1. Hase and Bansal (2020), Evaluating Explainable AI: Which Algorithmic Explanations Help Users Predict
       Model Behavior?, ACL: the change of accuracy from the block before to the block after.
    2. Stanislaw and Todorov (1999), p. 143: d′, log-linear correction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ...io.table_columns import Column
from ...stats.arrays import Array
from ..measures import Formula, Measure, Wanted, build_mean_formula, d_prime
from ..trial_grid import Sums
from .predicting import CHANCE, COLUMNS, compute_prediction_values
from .task import Task, keep_where, read_numbers, select_common_measures

if TYPE_CHECKING:
    import pandas as pd

Block = Literal["before", "learning", "after"]
BLOCKS: dict[Block, str] = {
    "before": "before the learning block",
    "learning": "in the learning block",
    "after": "after the learning block",
}
TESTS: tuple[Block, Block] = ("before", "after")


def compute_trial_values(trials: pd.DataFrame) -> dict[str, Array]:
    """Compute what accuracy by block, its change and d′ sum up.

    predicted_<block>: 1 for a right prediction in the block, 0 for a wrong one; predicted_tested: in the
    blocks before and after. predicted_above_after: right minus 1 / options, after the learning block.
    predicted_hit_<block> and predicted_alarm_<block>: 1 if "yes" (or "it will be right") was predicted, of
    the items where the system did so, and of the others; known if there are these two options.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"block": ["before", "after"], "prediction_right": [0.0, 1.0],
        ...                      "options": [4.0, 4.0]})
        >>> compute_trial_values(rows)["predicted_after"].tolist()
        [nan, 1.0]
    """
    (right,) = read_numbers(trials, "prediction_right")
    values = compute_prediction_values(trials, np.where(np.isnan(right), np.nan, 1.0))
    said_yes = _mark_positive(trials)
    is_yes = np.where(right == 1, said_yes, 1 - said_yes)
    names = trials["block"].to_numpy(object) if "block" in trials else np.full(len(trials), "", object)
    for block in BLOCKS:
        values[f"predicted_{block}"] = keep_where(right, names == block)
    values["predicted_tested"] = keep_where(right, (names == "before") | (names == "after"))
    values["predicted_above_after"] = keep_where(values["predicted_above_chance"], names == "after")
    for block in TESTS:
        here = (names == block) & ~np.isnan(right)
        values[f"predicted_hit_{block}"] = keep_where(said_yes, here & (is_yes == 1))
        values[f"predicted_alarm_{block}"] = keep_where(said_yes, here & (is_yes == 0))
    return values


def _mark_positive(trials: pd.DataFrame) -> Array:
    """Return 1 for the prediction "yes" or "right", 0 for the other one.

    NaN if the options are others.
    """
    right, options = read_numbers(trials, "predicted_correct", "options")
    if "predicted_answer" not in trials:
        return right
    answers = np.asarray(trials["predicted_answer"].map({"yes": 1.0, "no": 0.0}), dtype=np.float64)
    return np.where(np.isnan(right), keep_where(answers, options == 2), right)


def effect(s: Sums) -> Array:
    """Compute accuracy after the learning block minus accuracy before it."""
    return build_mean_formula("predicted_after")(s) - build_mean_formula("predicted_before")(s)


def _build_d_prime(block: Block) -> Formula:
    """Build d′ of "yes" against "no" in a block."""

    def formula(s: Sums) -> Array:
        hits, alarms = s[f"predicted_hit_{block}"], s[f"predicted_alarm_{block}"]
        signal, noise = s[f"predicted_hit_{block}_n"], s[f"predicted_alarm_{block}_n"]
        return d_prime({"tp": hits, "fn": signal - hits, "fp": alarms, "tn": noise - alarms})

    return formula


def _define_accuracy(block: Block, *, wanted: Wanted = None, headline: bool = True) -> Measure:
    return Measure(
        f"{block}_accuracy", f"Accuracy {BLOCKS[block]}", "share", wanted, (f"predicted_{block}",),
        f"predicted_{block}_n", build_mean_formula(f"predicted_{block}"),
        "share of right predictions of the block",
        headline=headline, conditional=True,
    )  # fmt: skip


def _define_sensitivity(block: Block) -> Measure:
    return Measure(
        f"{block}_d_prime", f"Sensitivity d′ {BLOCKS[block]}", "number", "higher",
        (f"predicted_hit_{block}", f"predicted_alarm_{block}"), f"predicted_{block}_n", _build_d_prime(block),
        "z(hits) − z(false alarms), log-linear correction; for two options, yes or no", headline=False,
    )  # fmt: skip


MEASURES: tuple[Measure, ...] = (
    Measure(
        "simulation_effect", "Effect on predictions", "share", "higher",
        ("predicted_before", "predicted_after"), "predicted_tested_n", effect,
        "accuracy after the learning block − accuracy before it",
    ),
    _define_accuracy("before"),
    _define_accuracy("learning", headline=False),
    _define_accuracy("after", wanted="higher"),
    Measure(
        "after_above_chance", "Accuracy above chance after the learning block", "share", "higher",
        ("predicted_above_after",), "predicted_above_after_n", build_mean_formula("predicted_above_after"),
        "mean of right − 1 / options after the learning block", conditional=True,
    ),
    CHANCE,
    _define_sensitivity("before"),
    _define_sensitivity("after"),
)  # fmt: skip

SIMULATION = Task(
    kind="simulation",
    columns=(
        Column("block", "text", required=True, choices=tuple(BLOCKS)),
        Column("predicted_answer", "text"),
        Column("predicted_correct", "boolean"),
        *COLUMNS,
    ),
    values=compute_trial_values,
    measures=(*MEASURES, *select_common_measures()),
    accuracy="after_accuracy",
    outcomes={"Right prediction after the learning block": "predicted_after"},
    item_shares={
        f"predicted_{block}": f"share of right predictions {where}" for block, where in BLOCKS.items()
    },
)
