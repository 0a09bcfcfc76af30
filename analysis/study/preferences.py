"""Preferences of a study: strengths of conditions, ties, and side bias."""

from dataclasses import dataclass

import numpy as np

from ..participants.means_of_participants import t_interval
from ..participants.study_version import Criterion
from ..participants.tasks.preference import Comparisons, count_preferences, name_preference_column
from ..stats.arrays import Array
from ..stats.bradley_terry import Strengths, fit_strengths
from ..stats.streams import derive_stream
from .analysis import Study


@dataclass(frozen=True)
class Share:
    """A mean over participants, with its 95 % t interval.

    value: None without participants who have one; interval: None for fewer than two.
    """

    value: float | None
    interval: tuple[float, float] | None
    participants: int


@dataclass(frozen=True)
class Preference:
    """Answers on one criterion.

    Attributes:
        conditions: Names of those that were compared, in the order of the counts and strengths.
        left: Share of decided answers for the left side; a half without a bias.
        tied: Share of ties.
    """

    criterion: Criterion
    conditions: tuple[str, ...]
    compared: Comparisons
    strengths: Strengths
    left: Share
    tied: Share


def fit_preferences(study: Study) -> list[Preference]:
    """Fit the strengths on each criterion that has answers."""
    fitted = []
    for criterion in study.version.task.criteria:
        column = name_preference_column(criterion)
        given = study.retained.trials.dropna(subset=[column])
        shown = {*given["left_condition"], *given["right_condition"]}
        names = tuple(condition.name for condition in study.conditions if condition.name in shown)
        if not names:
            continue
        compared = count_preferences(given, column, names)
        rng = derive_stream(np.random.default_rng(study.options.seed), "strengths", criterion.key)
        strengths = fit_strengths(compared.wins, compared.ties, rng=rng, resamples=study.options.resamples)
        left, tied = _estimate_share(compared.left), _estimate_share(compared.tied)
        fitted.append(Preference(criterion, names, compared, strengths, left, tied))
    return fitted


def _estimate_share(values: Array) -> Share:
    own = values[~np.isnan(values)]
    interval = None
    if len(own) > 1:
        low, high = t_interval(own)
        interval = max(0.0, low), min(1.0, high)  # with few participants it would exceed every share
    return Share(float(own.mean()) if len(own) else None, interval, len(own))
