"""A task of studies, as the analysis reads its trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...io.table_columns import Column
from ...stats.arrays import Array
from ..measures import MEASURES, Measure
from ..study_version import TaskOptions

if TYPE_CHECKING:
    import pandas as pd

TrialValues: TypeAlias = "Callable[[pd.DataFrame], dict[str, Array]]"


@dataclass(frozen=True)
class Task:
    """A task of participants: its columns, values and measures.

    Attributes:
        kind: Name in definitions.
        columns: Columns of `trials` that only this task has.
        values: Computes the values of trials that measures sum up, by name; each has one number per row, NaN
            if the trial does not enter. The names are reserved, so that no question has them.
        measures: All measures beside those of a study's own questions.
        accuracy: Key of the measure that says how often people are right.
        outcomes: Values of trials, 1 or 0, that models of single trials explain, by label.
        item_shares: Values of trials, 1 or 0, whose shares are given for each item, with their meaning.
        pairs: A trial shows two conditions, on its left and its right side, and counts for both.
        own_columns: Returns the columns that depend on the options of a study's task.
        own_measures: Returns the measures that depend on them.
    """

    kind: str
    columns: tuple[Column, ...]
    values: TrialValues
    measures: tuple[Measure, ...]
    accuracy: str
    outcomes: dict[str, str]
    item_shares: dict[str, str] = field(default_factory=dict)
    pairs: bool = False
    own_columns: Callable[[TaskOptions], tuple[Column, ...]] = lambda options: ()
    own_measures: Callable[[TaskOptions], tuple[Measure, ...]] = lambda options: ()

    @property
    def given(self) -> frozenset[str]:
        """Names of what the task itself asks, which measures may need."""
        import pandas as pd

        return frozenset(self.values(pd.DataFrame()))


def select_common_measures() -> tuple[Measure, ...]:
    """Return the measures that need no rating of the system's answer."""
    judging = {"correctness_rating", "system_correct"}
    return tuple(measure for measure in MEASURES if not judging & set(measure.needs))


def read_numbers(trials: pd.DataFrame, *names: str) -> tuple[Array, ...]:
    """Return columns as floats, truth values as 1 and 0; NaN where missing."""
    return tuple(
        trials[name].to_numpy(dtype=float, na_value=np.nan)
        if name in trials
        else np.full(len(trials), np.nan)
        for name in names
    )


def keep_where(values: Array, where: NDArray[np.bool_]) -> Array:
    """Keep the values where the condition holds, NaN elsewhere."""
    return np.where(where, values, np.nan)
