"""Linear mixed model of log time with crossed participants and items.

The likelihood is computed here and not by statsmodels' MixedLM, which builds
trials × trials matrices and often does not converge if a variance is estimated
as zero (ADR 18); tests compare both, and lme4.

References:
    1. Baayen, Davidson and Bates (2008): crossed random effects of subjects
       and items.
    2. Barr, Levy, Scheepers and Tily (2013): a condition's effect may differ
       by subject and by item.
    3. Bates, Mächler, Bolker and Walker (2015), section 3.4: restricted
       likelihood as a function of relative standard deviations.
"""

from dataclasses import dataclass
from math import log, pi

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..stats.arguments import check_level
from ..stats.arrays import Array
from ..stats.results import INDEPENDENT, SAME_ITEMS, SAMPLED_ITEMS
from .trial_model import (
    Model,
    Trials,
    build_design_matrix,
    build_model,
    build_refused_model,
    count_participant_freedom,
    explain_unsupported,
)

METHOD = "linear mixed model of log time, crossed participants and items, REML"
SCALE = "log seconds"
MOST_LEVELS = 2_000  # items, and items within conditions: their square is a matrix
MOST_RELATIVE = 1_000.0
ZERO = 1e-3  # relative standard deviations below this are estimates of zero
TOO_MANY_LEVELS = (
    f"more than {MOST_LEVELS} items and items within conditions; refit with lme4 (`analysis.report.r_script`)"
)
NO_PARTICIPANT_VARIANCE = (
    "the participants' variance is estimated as zero, so the model would count trials as independent"
)


def mixed_log_time(
    trials: Trials, *, position: bool = True, item_by_condition: bool = True, level: float = 0.95
) -> Model:
    """Estimate differences of mean log time between conditions.

    The exponential of a difference is a ratio of times. Log time = condition +
    slope · position + participant (+ participant within condition) + item (+ item
    within condition) + residual, random effects normal. If participants saw
    several conditions, they may differ in a condition's effect on them. t has the
    degrees of freedom of `count_participant_freedom`, or items − 1 if that is less and
    `item_by_condition`.

    Args:
        trials: Outcomes in seconds.
        position: Adjust for the item's position in the order.
        item_by_condition: Conditions may differ more on some items than on others;
            without it the statement is about these items only.
        level: Of the confidence intervals.

    Returns:
        Contrasts of log seconds. Refused for fewer than 8
        participants in a condition, if participants' variance is estimated as zero
        (trials would count as independent), and if the likelihood has no maximum.

    Raises:
        ValueError: A time is not positive, or `level` does not lie between 0 and 1.
    """
    check_level(level)
    if not (trials.outcome > 0).all():
        raise ValueError("outcome must be a positive time")
    reason = explain_unsupported(trials, position=position) or _explain_too_thin(trials)
    fit = reason or _fit(trials, position=position, item_by_condition=item_by_condition)
    if isinstance(fit, str):
        return build_refused_model(trials, METHOD, SCALE, fit, level=level)
    people = ["participant", *(["participant within condition"] if trials.repeated else [])]
    names = [*people, "item", *(["item within condition"] if item_by_condition else [])]
    freedom = count_participant_freedom(trials)
    spreads = dict(zip(names, fit.relative * fit.residual, strict=True))
    return build_model(
        trials,
        fit.effects[1:],
        fit.covariance[1:, 1:],
        method=METHOD,
        scale=SCALE,
        freedom=min(freedom, trials.items - 1) if item_by_condition else freedom,
        level=level,
        position=position,
        details={f"standard deviation, {name}": float(value) for name, value in spreads.items()}
        | {"standard deviation, residual": fit.residual, "REML log-likelihood": fit.log_likelihood},
        assumptions=(
            INDEPENDENT,
            "Log times are normal around their means, and participants and items are normal draws.",
            SAMPLED_ITEMS if item_by_condition else SAME_ITEMS,
            *(["Log time changes by the same amount from each place in the order to the next."] * position),
        ),
        notes=tuple(
            f"The standard deviation of {name} is estimated as zero."
            for name, value in zip(names, fit.relative, strict=True)
            if value < ZERO
        ),
    )


@dataclass(frozen=True)
class CrossedSums:
    """Sums for the likelihood: P participants, M other levels, k columns.

    A participant has s effects: one, or one and another per condition. people: P × s × s, trials of a
    participant that have both effects. crossed: P × s × M, trials of each pair. other: M × M, likewise.
    own, block: component (0, 1, …) of each of the s effects and of the M levels, participants' first.
    people_xy, other_xy: sums of the columns and, last, of the outcome by participant's effect and by level.
    xy: their products over trials. n: trials.
    """

    people: Array
    crossed: Array
    other: Array
    own: NDArray[np.intp]
    block: NDArray[np.intp]
    people_xy: Array
    other_xy: Array
    xy: Array
    n: int


@dataclass(frozen=True)
class CrossedFit:
    """Fixed effects with covariance, and standard deviations.

    The standard deviations of the random effects are relative to the residual's.
    """

    effects: Array
    covariance: Array
    relative: Array
    residual: float
    log_likelihood: float


def sum_crossed_trials(
    outcome: Array,
    exog: Array,
    participant: NDArray[np.intp],
    groups: list[NDArray[np.intp]],
    within: NDArray[np.intp] | None = None,
) -> CrossedSums:
    """Sum the trials for the likelihood.

    Args:
        outcome: Shape (n,).
        exog: n × k.
        participant: Codes, shape (n,).
        groups: Codes, shape (n,), one array per component.
        within: Condition of each trial, if participants have effects of their own
            in each.
    """
    slots = [np.zeros_like(participant)] + ([] if within is None else [1 + within])
    own = np.zeros(1, dtype=np.intp) if within is None else np.repeat([0, 1], [1, int(within.max()) + 1])
    codes, block, offset = [], [], 0
    for component, group in enumerate(groups):
        levels, dense = np.unique(group, return_inverse=True)
        codes.append(dense + offset)
        block.append(np.full(len(levels), own.max() + 1 + component))
        offset += len(levels)
    people = int(participant.max()) + 1
    both = np.column_stack([exog, outcome])
    of_people = np.zeros((people, len(own), len(own)))
    crossed, other = np.zeros((people, len(own), offset)), np.zeros((offset, offset))
    people_xy, other_xy = np.zeros((people, len(own), both.shape[1])), np.zeros((offset, both.shape[1]))
    for slot in slots:
        np.add.at(people_xy, (participant, slot), both)
        for second in slots:
            np.add.at(of_people, (participant, slot, second), 1.0)
        for code in codes:
            np.add.at(crossed, (participant, slot, code), 1.0)
    for code in codes:
        np.add.at(other_xy, code, both)
        for second in codes:
            np.add.at(other, (code, second), 1.0)
    return CrossedSums(
        people=of_people,
        crossed=crossed,
        other=other,
        own=own,
        block=np.concatenate(block),
        people_xy=people_xy,
        other_xy=other_xy,
        xy=both.T @ both,
        n=len(outcome),
    )


def fit_crossed(sums: CrossedSums) -> CrossedFit | str:
    """Maximise the restricted likelihood, or return the reason for a refusal.

    It runs over the relative standard deviations.
    """
    components = int(sums.block.max()) + 1
    fits = [
        optimize.minimize(
            # In the variances, not in their roots: at zero the slope over a root is zero whatever the data.
            lambda squares: _solve(sums, np.sqrt(squares))[0],
            np.full(components, start),
            method="L-BFGS-B",
            bounds=[(0.0, MOST_RELATIVE**2)] * components,
            options={"ftol": 1e-12, "gtol": 1e-5, "maxiter": 500},
        )
        for start in (1.0, 0.05)
    ]
    best = min(fits, key=lambda fit: float(fit.fun))
    if not np.isfinite(best.fun) or (best.x >= 0.99 * MOST_RELATIVE**2).any():
        return "the likelihood has no maximum"
    relative = np.sqrt(best.x)
    deviance, effects, information, variance = _solve(sums, relative)
    covariance = np.asarray(variance * np.linalg.inv(information), dtype=float)
    return CrossedFit(effects, covariance, relative, variance**0.5, -deviance / 2)


def _solve(sums: CrossedSums, relative: Array) -> tuple[float, Array, Array, float]:
    """Return REML deviance, fixed effects, information, residual variance.

    The information is multiplied by the residual variance. Participants are
    eliminated first: no equation has the effects of two of them.
    """
    own, rest = relative[sums.own], relative[sums.block]
    factors = np.linalg.cholesky(np.eye(len(own)) + own[:, None] * sums.people * own)
    crossed = np.linalg.solve(factors, own[:, None] * sums.crossed * rest).reshape(-1, len(rest))
    from_people = np.linalg.solve(factors, own[:, None] * sums.people_xy).reshape(len(crossed), -1)
    schur = np.eye(len(rest)) + rest[:, None] * sums.other * rest - crossed.T @ crossed
    cholesky = np.linalg.cholesky(schur)
    half = np.linalg.solve(cholesky, rest[:, None] * sums.other_xy - crossed.T @ from_people)
    products = sums.xy - from_people.T @ from_people - half.T @ half
    information, right, left = products[:-1, :-1], products[:-1, -1], products[-1, -1]
    effects = np.linalg.solve(information, right)
    freedom = sums.n - len(effects)
    variance = float(left - effects @ right) / freedom
    if not variance > 0:
        return float("inf"), effects, information, float("nan")
    determinants = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum() + np.log(np.diag(cholesky)).sum()
    logs = 2 * determinants + np.linalg.slogdet(information)[1]
    return float(logs + freedom * (1 + log(2 * pi * variance))), effects, information, variance


def _fit(trials: Trials, *, position: bool, item_by_condition: bool) -> CrossedFit | str:
    """Fit participants, items and, if asked for, items within conditions.

    Returns a reason in place of a fit that it refuses.
    """
    groups = [trials.item]
    if item_by_condition:
        groups.append(trials.item * len(trials.conditions) + trials.condition)
    exog = build_design_matrix(trials, intercept=True, position=position)
    within = trials.condition if trials.repeated else None
    sums = sum_crossed_trials(np.log(trials.outcome), exog, trials.participant, groups, within)
    if len(sums.other) > MOST_LEVELS:
        return TOO_MANY_LEVELS
    fit = fit_crossed(sums)
    if isinstance(fit, CrossedFit) and (fit.relative[: sums.own.max() + 1] < ZERO).all():
        return NO_PARTICIPANT_VARIANCE
    return fit


def _explain_too_thin(trials: Trials) -> str:
    """Explain why crossed effects cannot be separated, "" if they can."""
    if trials.items < 2:
        return "there are fewer than two items"
    if np.bincount(trials.participant).max() < 2:
        return "no participant has two trials, so people and chance cannot be separated"
    return ""
