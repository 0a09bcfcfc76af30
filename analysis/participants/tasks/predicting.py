"""Predictions of a system's answers: what two tasks have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...io.table_columns import Column
from ...stats.arrays import Array
from ..measures import Measure, build_mean_formula
from .task import keep_where, read_numbers

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    Column("prediction_right", "boolean", required=True),
    Column("options", "integer", required=True, low=2),
)


def compute_prediction_values(trials: pd.DataFrame, predicted: Array) -> dict[str, Array]:
    """Compute what measures of predictions sum up.

    A trial without a prediction counts as not right, and as neither above nor below chance: that is what a
    guess would reach on average.

    Args:
        trials: Trials with the columns `prediction_right` and `options`.
        predicted: 1 if a prediction was made, 0 if it was declined, NaN if there is no answer.

    Returns:
        prediction_right: 1 or 0, of the predictions that were made. predicted_right: 0 if it was declined,
        too. predicted_chance: share of right guesses, 1 / options. predicted_above_chance: right minus that.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"prediction_right": [1.0, None], "options": [4.0, 4.0]}, dtype=float)
        >>> compute_prediction_values(rows, np.array([1.0, 0.0]))["predicted_above_chance"].tolist()
        [0.75, 0.0]
    """
    given, options = read_numbers(trials, "prediction_right", "options")
    right = keep_where(given, predicted == 1)
    answered = ~np.isnan(right) | (predicted == 0)
    return {
        "prediction_right": right,
        "predicted_right": keep_where(np.nan_to_num(right), answered),
        "predicted_chance": keep_where(1 / options, answered),
        "predicted_above_chance": keep_where(np.where(predicted == 0, 0.0, right - 1 / options), answered),
    }


ACCURACY = Measure(
    "prediction_accuracy", "Accuracy of predictions", "share", "higher", ("predicted_right",),
    "predicted_right_n", build_mean_formula("predicted_right"), "share of right predictions, of all answers",
)  # fmt: skip
CHANCE = Measure(
    "chance_level", "Chance level", "share", None, ("predicted_chance",), "predicted_chance_n",
    build_mean_formula("predicted_chance"), "share of right guesses: mean of 1 / options", headline=False,
)  # fmt: skip
ABOVE_CHANCE = Measure(
    "above_chance", "Accuracy above chance", "share", "higher", ("predicted_above_chance",),
    "predicted_above_chance_n", build_mean_formula("predicted_above_chance"),
    "mean of right − 1 / options; 0 where no prediction was made",
)  # fmt: skip
