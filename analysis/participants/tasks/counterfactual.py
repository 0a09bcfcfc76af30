"""Counterfactual: predict the answer to a changed item.

Participants see an answer, with or without its explanation, then a changed question or context, and predict
what the system answers now, or say that they cannot tell. Measures are of one participant; without a
prediction precision is undefined.

References:
    1. Chen et al. (2024), Do Models Explain Themselves? Counterfactual Simulatability of Natural Language
       Explanations, ICML: precision, over the changed items whose answer an explanation lets people predict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...io.table_columns import Column
from ...stats.arrays import Array
from ..measures import Measure, build_mean_formula
from .predicting import ABOVE_CHANCE, ACCURACY, CHANCE, COLUMNS, compute_prediction_values
from .task import Task, read_numbers, select_common_measures

if TYPE_CHECKING:
    import pandas as pd


def compute_trial_values(trials: pd.DataFrame) -> dict[str, Array]:
    """Compute what coverage, precision and accuracy sum up.

    predicted_made: 1 if a prediction was made, 0 for "cannot tell". The others: see
        `compute_prediction_values`.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"cannot_tell": [0.0, 1.0], "prediction_right": [1.0, None],
        ...                      "options": [2.0, 2.0]}, dtype=float)
        >>> {name: values.tolist() for name, values in compute_trial_values(rows).items()}["predicted_right"]
        [1.0, 0.0]
    """
    declined, right = read_numbers(trials, "cannot_tell", "prediction_right")
    predicted = np.where(np.isnan(declined), np.where(np.isnan(right), np.nan, 1.0), 1 - declined)
    return {"predicted_made": predicted, **compute_prediction_values(trials, predicted)}


MEASURES: tuple[Measure, ...] = (
    Measure(
        "coverage", "Coverage", "share", "higher", ("predicted_made",), "predicted_made_n",
        build_mean_formula("predicted_made"), "share of answers that are not “cannot tell”",
    ),
    # It needs that a prediction was possible, not that one was made: without one it is undefined.
    Measure(
        "precision", "Precision of predictions", "share", "higher", ("predicted_made",),
        "prediction_right_n", build_mean_formula("prediction_right"),
        "share of right predictions, “cannot tell” left out", conditional=True,
    ),
    ACCURACY,
    ABOVE_CHANCE,
    CHANCE,
)  # fmt: skip

COUNTERFACTUAL = Task(
    kind="counterfactual",
    columns=(Column("cannot_tell", "boolean", required=True), *COLUMNS),
    values=compute_trial_values,
    measures=(*MEASURES, *select_common_measures()),
    accuracy=ACCURACY.key,
    outcomes={"Prediction made": "predicted_made", "Right prediction": "prediction_right"},
    item_shares={
        "predicted_made": "share of answers that are not “cannot tell”",
        "prediction_right": "share of right predictions, “cannot tell” left out",
    },
)
