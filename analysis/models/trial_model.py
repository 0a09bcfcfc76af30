"""Trials and fitted models that keep participants and items apart.

The models are `analysis.models.gee_logistic` (binary answers), `.linear_mixed`
(times), `.ordinal_logit` (ratings), `.logit_mixed` (binary answers and ratings)
and `.bayesian_logistic` (binary answers, Bayesian). None treats trials as independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ..stats.arguments import check_columns, check_finite
from ..stats.arrays import Array
from ..stats.effect_sizes import keep_positive

Codes = NDArray[np.intp]
# Participants per condition from which simulations show that the tests keep their level
# (docs/reference/coverage.md).
LEAST_FOR_LEVEL = 8
KEEPS_LEVEL = ", the fewest for which simulations show that its tests keep their level"
TOO_MANY_CONDITIONS = "there are too few participants for a joint test of so many conditions"
SEPARATED = 10.0  # log odds beyond this, odds of 22,000 to 1, come from fits that drift to infinity


@dataclass(frozen=True)
class Trials:
    """Trials with a known outcome.

    Attributes:
        outcome: Shape (trials,), without NaN.
        participant: Code of the participant, from 0, shape (trials,).
        item: Code of the item, from 0, shape (trials,).
        condition: Index into `conditions`, shape (trials,).
        position: Place in the participant's order, shape (trials,); None if it is not known.
        conditions: Names; the first is the reference.
        dropped: Number of rows without an outcome.
    """

    outcome: Array
    participant: Codes
    item: Codes
    condition: Codes
    position: Array | None
    conditions: tuple[str, ...]
    dropped: int = 0

    @property
    def participants(self) -> int:
        """Number of participants."""
        return int(self.participant.max(initial=-1)) + 1

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.item.max(initial=-1)) + 1

    @property
    def repeated(self) -> bool:
        """True if any participant has trials in several conditions."""
        seen = np.unique(self.participant * len(self.conditions) + self.condition)
        return len(seen) > len(np.unique(self.participant))

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of trials, participants and items."""
        return len(self.outcome), self.participants, self.items


@dataclass(frozen=True)
class Contrast:
    """A second condition minus a first on the model's scale.

    The confidence interval and two-sided p have the model's `freedom`.

    Attributes:
        first: Name of the condition to compare with.
        second: Name of the condition whose difference from the first is estimated.
        estimate: Second minus first, on the model's scale.
        standard_error: Of the estimate.
        interval: Confidence interval of the estimate.
        p: Two-sided.
    """

    first: str
    second: str
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Fit:
    """Common fields of the models of trials.

    Attributes:
        method: Name of the method.
        trials: Number of trials.
        participants: Number of participants.
        items: Number of items.
        level: Of the confidence intervals.
        assumptions: A sentence each.
        notes: Cautions about this fit.
        reason: Why the fit was refused; there are then no numbers.
    """

    method: str
    trials: int
    participants: int
    items: int
    level: float = 0.95
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Model(Fit):
    """A fitted model, or why there is none.

    Attributes:
        method: Name of the method.
        trials: Number of trials.
        participants: Number of participants.
        items: Number of items.
        level: Of the confidence intervals.
        assumptions: A sentence each.
        notes: Cautions about this fit.
        reason: Why the fit was refused; there are then no numbers.
        scale: Of the contrasts, such as "log odds".
        contrasts: All pairs of conditions.
        position: Change per place in the order; None if the model does not adjust for it.
        joint_p: Of the hypothesis that all conditions are alike; None if it is not tested.
        freedom: Degrees of freedom of the t distribution.
        details: Other estimates by name.
    """

    scale: str = ""
    contrasts: tuple[Contrast, ...] = ()
    position: Contrast | None = None
    joint_p: float | None = None
    freedom: int | None = None
    details: dict[str, float] = field(default_factory=dict)

    def contrast(self, first: str, second: str) -> Contrast:
        """Return the contrast of two conditions.

        Args:
            first: The condition to compare with.
            second: The condition whose difference from the first is estimated.

        Returns:
            The contrast, second minus first.

        Raises:
            ValueError: The model has no contrast of the two.
        """
        for contrast in self.contrasts:
            if (contrast.first, contrast.second) == (first, second):
                return contrast
            if (contrast.second, contrast.first) == (first, second):
                low, high = contrast.interval
                estimate, interval = -contrast.estimate, (-high, -low)
                return replace(contrast, first=first, second=second, estimate=estimate, interval=interval)
        raise ValueError(f"there is no contrast of {first!r} and {second!r}")


def read_trials(
    frame: pd.DataFrame, outcome: str, *, conditions: Sequence[str], scale: float = 1.0
) -> Trials:
    """Select the trials of these conditions that have the outcome.

    A participant may have trials in several conditions.

    Args:
        frame: One row per trial with `participant_id`, `item_id`, `condition`, the outcome's column and, if
            it is known, `position`; a bundle's retained trials, for one.
        outcome: Name of the outcome's column; a trial without a value there is dropped and counted.
        conditions: Names in order, the reference first.
        scale: The outcome is multiplied by it, such as 0.001 for milliseconds.

    Returns:
        Trials with codes for participants, items and conditions, in the order of the rows.

    Raises:
        ValueError: A column is missing, a condition is named twice, or `scale` is not finite.
    """
    check_columns(frame.columns, ("participant_id", "item_id", "condition", outcome), "frame")
    check_finite(scale, "scale")
    if len(set(conditions)) < len(conditions):
        raise ValueError("conditions holds a name twice")
    chosen = frame[frame["condition"].isin(list(conditions))]
    answered = chosen[chosen[outcome].notna()]
    position = None
    if "position" in frame.columns and answered["position"].notna().all():
        position = answered["position"].to_numpy(float)
    return Trials(
        outcome=answered[outcome].to_numpy(float) * scale,
        participant=pd.factorize(answered["participant_id"])[0],
        item=np.unique(answered["item_id"], return_inverse=True)[1],
        condition=pd.Index(conditions).get_indexer(pd.Index(answered["condition"])),
        position=position,
        conditions=tuple(conditions),
        dropped=len(chosen) - len(answered),
    )


def explain_unsupported(trials: Trials, *, position: bool, least: int = LEAST_FOR_LEVEL) -> str:
    """Explain why no model fits the trials, "" if one can be tried.

    Args:
        trials: The answered trials.
        position: If the model has a term for the position.
        least: Participants that each condition needs.
    """
    if len(trials.conditions) < 2:
        return "there are fewer than two conditions"
    for name, people in zip(trials.conditions, count_participants(trials), strict=True):
        if people < least:
            needed = f"condition {name} has {people} participants with a trial; at least {least} are needed"
            return needed + (KEEPS_LEVEL if least == LEAST_FOR_LEVEL else "")
    if (trials.outcome == trials.outcome[0]).all():
        return "every trial has the same outcome"
    if not position:
        return ""
    if trials.position is None:
        return "the position of some trial is not known"
    if (trials.position == trials.position[0]).all():
        return "every trial has the same position"
    return ""


def count_participants(trials: Trials) -> list[int]:
    """Count the participants with a trial, per condition."""
    return [
        len(np.unique(trials.participant[trials.condition == index]))
        for index in range(len(trials.conditions))
    ]


def build_design_matrix(trials: Trials, *, intercept: bool, position: bool) -> Array:
    """Build the design matrix: intercept, conditions, position.

    Intercept and centred position are optional; the reference condition has no
    column.
    """
    columns = [np.ones(len(trials.outcome))] if intercept else []
    columns += [trials.condition == index for index in range(1, len(trials.conditions))]
    if position:
        assert trials.position is not None
        columns.append(trials.position - trials.position.mean())
    return np.column_stack(columns).astype(float)


def build_model(
    trials: Trials,
    estimates: Array,
    covariance: Array,
    *,
    method: str,
    scale: str,
    freedom: int,
    level: float,
    position: bool,
    sandwich: bool = False,
    **more: Any,
) -> Model:
    """Build a model's contrasts and tests from its condition effects.

    estimates: the effects of the conditions but the reference, then the slope over position if `position`.
    covariance: theirs. sandwich: it is estimated from as many participants as `freedom` says, so that the
    joint test is Hotelling's (1931): F = W (f − q + 1)/(q f) of q effects. more: fields of `Model`.
    """
    effects = len(trials.conditions) - 1
    if not _is_regular(estimates, covariance):
        return build_refused_model(
            trials, method, scale, "the fit gives no finite standard errors", level=level
        )
    contrasts = []
    for first, second in combinations(range(effects + 1), 2):
        weights = np.zeros(len(estimates))
        weights[second - 1] = 1.0
        if first:
            weights[first - 1] = -1.0
        names = (trials.conditions[first], trials.conditions[second])
        contrasts.append(_estimate_contrast(*names, weights, estimates, covariance, freedom, level))
    slope = None
    if position:
        weights = np.eye(len(estimates))[-1]
        slope = _estimate_contrast(
            "any place", "the next place", weights, estimates, covariance, freedom, level
        )
    own, block = estimates[:effects], covariance[:effects, :effects]
    wald = float(own @ np.linalg.solve(block, own))
    lost = effects - 1 if sandwich else 0
    if freedom <= lost:
        return build_refused_model(trials, method, scale, TOO_MANY_CONDITIONS, level=level)
    joint = stats.f.sf(wald / effects * (freedom - lost) / freedom, effects, freedom - lost)
    return Model(
        method,
        *trials.counts,
        scale=scale,
        contrasts=tuple(contrasts),
        position=slope,
        joint_p=keep_positive(float(joint)),
        freedom=freedom,
        level=level,
        **more,
    )


def _is_regular(estimates: Array, covariance: Array) -> bool:
    """Test if all is finite and each combination of effects has a variance."""
    if not (np.isfinite(estimates).all() and np.isfinite(covariance).all()):
        return False
    variances = np.linalg.eigvalsh(covariance)
    return bool(variances[0] > 1e-12 * variances[-1])


def build_refused_model(trials: Trials, method: str, scale: str, reason: str, *, level: float) -> Model:
    """Build a model without estimates, with the reason."""
    return Model(method, *trials.counts, scale=scale, level=level, reason=reason)


def count_participant_freedom(trials: Trials) -> int:
    """Count the degrees of freedom of a difference of conditions.

    Participants minus conditions if each saw one; if some saw several, one less than the participants
    of the smallest condition, as in a paired t test: fewer than some of the differences have, never more.
    """
    if trials.repeated:
        return min(count_participants(trials)) - 1
    return trials.participants - len(trials.conditions)


def _estimate_contrast(
    first: str, second: str, weights: Array, estimates: Array, covariance: Array, freedom: int, level: float
) -> Contrast:
    estimate = float(weights @ estimates)
    error = float(np.sqrt(weights @ covariance @ weights))
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    p = keep_positive(2 * float(stats.t.sf(abs(estimate) / error, freedom)))
    return Contrast(first, second, estimate, error, (estimate - half, estimate + half), p)
