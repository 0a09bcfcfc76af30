"""Preference: two conditions side by side for one item.

Participants say, on each criterion, which of the two is better, or that they are alike. A trial counts for
both of its conditions: the preferred one wins, a tie is half a win for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...io.table_columns import Column
from ...stats.arrays import Array
from ..measures import Measure, build_mean_formula
from ..study_version import Criterion, TaskOptions
from .task import Task

if TYPE_CHECKING:
    import pandas as pd

CHOICES = ("left", "right", "tie")
SIDES = ("left", "right")
OVERALL = "overall"  # the criterion of a study that names none
_WINS = {"left": {"left": 1.0, "right": 0.0, "tie": 0.5}, "right": {"left": 0.0, "right": 1.0, "tie": 0.5}}


def name_preference_column(criterion: Criterion) -> str:
    """Return the column of the answers on a criterion."""
    return f"preferred_{criterion.key}"


def name_win_rate(criterion: Criterion) -> str:
    """Return the key of a criterion's win rate."""
    return f"win_rate_{criterion.key}"


def split_sides(trials: pd.DataFrame) -> pd.DataFrame:
    """Return two rows per trial, one for the condition on each side.

    Columns ``preferred_…`` become 1 for a win of the row's condition, 0 for a loss and 0.5 for a tie.
    """
    import pandas as pd

    answers = _list_answer_columns(trials)
    sides = [
        trials.assign(
            condition=trials[f"{side}_condition"], **{name: trials[name].map(_WINS[side]) for name in answers}
        )
        for side in SIDES
    ]
    return pd.concat(sides, ignore_index=True)


def compute_win_values(trials: pd.DataFrame) -> dict[str, Array]:
    """Return the wins of the rows of `split_sides`, by column."""
    return {name: np.asarray(trials[name], dtype=np.float64) for name in _list_answer_columns(trials)}


def _list_answer_columns(trials: pd.DataFrame) -> list[str]:
    return [name for name in map(str, trials) if name.startswith("preferred_")]


def define_win_rates(options: TaskOptions) -> tuple[Measure, ...]:
    """Build the win rate on each criterion."""
    several = len(options.criteria) > 1
    return tuple(_define_win_rate(criterion, several=several) for criterion in options.criteria)


def _define_win_rate(criterion: Criterion, *, several: bool) -> Measure:
    return Measure(
        key=name_win_rate(criterion),
        label=f"Win rate, {criterion.key}" if several else "Win rate",
        unit="share",
        wanted="higher",
        needs=(name_preference_column(criterion),),
        counted=f"{name_preference_column(criterion)}_n",
        formula=build_mean_formula(name_preference_column(criterion)),
        definition=f"share of comparisons won, ties as halves: “{criterion.text}”",
    )


def find_win_rate(key: str) -> Measure | None:
    """Return the win rate with a key in any study; None for another key."""
    start = name_win_rate(Criterion(key="", text=""))
    name = key.removeprefix(start)
    if not name or name == key:
        return None
    return _define_win_rate(Criterion(key=name, text=name), several=name != OVERALL)


def list_preference_columns(options: TaskOptions) -> tuple[Column, ...]:
    """Return the columns that trials of the task have."""
    return (
        *(Column(f"{side}_condition", "text", required=True) for side in SIDES),
        *(
            Column(name_preference_column(criterion), "text", required=True, choices=CHOICES)
            for criterion in options.criteria
        ),
    )


@dataclass(frozen=True)
class Comparisons:
    """Answers on one criterion, per participant.

    Attributes:
        wins: participants × conditions × conditions; how often the first (row) was preferred.
        ties: The same for ties, symmetric.
        left: Share of decided answers that prefer the left side, per participant; NaN without one.
        tied: Share of ties, per participant; NaN without an answer.
    """

    wins: Array
    ties: Array
    left: Array
    tied: Array

    @property
    def count(self) -> int:
        """Number of answers."""
        return int(self.wins.sum() + self.ties.sum() / 2)


def count_preferences(trials: pd.DataFrame, column: str, conditions: Sequence[str]) -> Comparisons:
    """Count wins, ties and sides of each participant.

    Args:
        trials: Trials with both conditions, one row each.
        column: Column of the answers.
        conditions: Names, in the order of the counts.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"participant_id": "p", "left_condition": ["a", "b"],
        ...                      "right_condition": ["b", "a"], "preferred_x": ["left", "tie"]})
        >>> counted = count_preferences(rows, "preferred_x", ["a", "b"])
        >>> counted.wins[0].tolist(), counted.ties[0].tolist(), counted.left.tolist()
        ([[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [1.0])
    """
    import pandas as pd

    given = trials[trials[column].notna()]
    people, who = np.unique(given["participant_id"].to_numpy(str), return_inverse=True)
    index = pd.Index(conditions)
    left, right = (index.get_indexer(pd.Index(given[f"{side}_condition"])) for side in SIDES)
    answers = given[column].to_numpy(str)
    shape = (len(people), len(conditions), len(conditions))
    wins, ties = np.zeros(shape), np.zeros(shape)
    for answer, winner, loser in (("left", left, right), ("right", right, left)):
        own = answers == answer
        np.add.at(wins, (who[own], winner[own], loser[own]), 1.0)
    own = answers == "tie"
    np.add.at(ties, (who[own], left[own], right[own]), 1.0)
    np.add.at(ties, (who[own], right[own], left[own]), 1.0)
    frame = pd.DataFrame({"who": who, "left": np.where(own, np.nan, answers == "left"), "tied": own * 1.0})
    shares = frame.groupby("who").mean()
    return Comparisons(wins, ties, np.asarray(shares["left"], float), np.asarray(shares["tied"], float))


PREFERENCE = Task(
    kind="preference",
    columns=(),
    values=compute_win_values,
    measures=(),
    accuracy="",
    outcomes={},
    pairs=True,
    own_columns=list_preference_columns,
    own_measures=define_win_rates,
)
