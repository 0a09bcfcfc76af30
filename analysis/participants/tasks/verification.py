"""Verification: participants judge the system's answer.

Source: Schuff et al. 2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...stats.arrays import Array
from ..measures import MEASURES
from .task import Task

if TYPE_CHECKING:
    import pandas as pd


def _compute_no_values(trials: pd.DataFrame) -> dict[str, Array]:
    """Return nothing: the answers to the questions are the values."""
    return {}


VERIFICATION = Task(
    kind="verification",
    columns=(),
    values=_compute_no_values,
    measures=MEASURES,
    accuracy="fraction_correct",
    outcomes={"Rated correct": "rated_correct", "Right rating": "right"},
)
