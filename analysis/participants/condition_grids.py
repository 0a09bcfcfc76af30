"""Grids of trials per condition, of reports and of running estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..stats.streams import derive_stream
from .exclusion_rules import CLOCK_COLUMNS, Clock
from .study_version import Question, Version
from .tasks import TASKS
from .tasks.preference import split_sides
from .trial_grid import Grid, build_grids

if TYPE_CHECKING:
    import pandas as pd


def measure_stream(seed: int) -> np.random.Generator:
    """Return the generator of the bootstrap of measures."""
    return derive_stream(np.random.default_rng(seed), "measures")


def build_condition_grids(
    version: Version,
    trials: pd.DataFrame,
    members: pd.DataFrame,
    post_survey: pd.DataFrame | None = None,
    *,
    clock: Clock | None,
    items: Sequence[str],
    post_columns: dict[str, str] | None = None,
) -> list[Grid]:
    """Build the grids of a set of trials, one per condition of a version.

    Args:
        version: Names the conditions and the columns.
        trials: The retained trials.
        members: Participants with the conditions that they saw.
        post_survey: Answers after the trials.
        clock: The clock whose times count; None without one.
        items: The items to show if no trial is retained.
        post_columns: Columns of ``post_survey`` by key; those of the version if not given.
    """
    task, count = TASKS[version.task.kind], len(trials)
    trials = split_sides(trials) if task.pairs else trials
    values = task.values(trials)
    if post_columns is None and post_survey is not None:
        post_columns = _map_roles(version.post_survey) | _map_scores(version, "post_survey")
    return build_grids(
        trials.assign(**values),
        members,
        post_survey,
        conditions=[condition.name for condition in version.conditions],
        clock=CLOCK_COLUMNS[clock] if clock else None,
        item_columns=map_item_columns(version) | {name: name for name in values},
        post_columns=post_columns or {},
        items=None if count else items,
        unasked=version.list_unasked(),
    )


def map_item_columns(version: Version) -> dict[str, str]:
    """Return the columns of answers and scales of a trial, by role or key."""
    return _map_roles(version.item_questionnaire) | _map_scores(version, "trials")


def _map_roles(questions: Sequence[Question]) -> dict[str, str]:
    """Role (or key, if there is no role) of each question to its column."""
    return {question.role or question.key: question.key for question in questions}


def _map_scores(version: Version, table: str) -> dict[str, str]:
    """Columns of the scores of scales in a table, by themselves."""
    return {score.column: score.column for score in version.scale_scores if score.table == table}
