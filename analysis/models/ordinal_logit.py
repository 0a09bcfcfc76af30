"""Cumulative logit of ordinal ratings, clustered by participant.

The likelihood is maximised here and not by statsmodels' OrderedModel, whose
numerical derivatives are slow and give no covariance corrected for few clusters
(ADR 18); tests compare both.

References:
    1. McCullagh (1980): proportional odds.
    2. Liang and Zeger (1986): sandwich covariance over clusters.
    3. Mancl and DeRouen (2001): bias-reduced covariance, for few clusters.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

from ..stats.arguments import check_level
from ..stats.arrays import Array
from ..stats.results import INDEPENDENT, SAME_ITEMS
from .trial_model import (
    SEPARATED,
    Codes,
    Model,
    Trials,
    build_design_matrix,
    build_model,
    build_refused_model,
    count_participant_freedom,
    explain_unsupported,
)

METHOD = "cumulative logit, participants as clusters, bias-reduced covariance"
SCALE = "cumulative log odds"
MOST_STEPS = 100
CONVERGED = 1e-9  # Newton decrement per trial


def ordinal_logit(trials: Trials, *, position: bool = False, level: float = 0.95) -> Model:
    """Estimate the log odds of a higher rating by condition.

    The odds shift alike at every point of the scale (proportional odds). The
    covariance is the bias-reduced sandwich over participants, whatever conditions
    they saw.

    Args:
        trials: Outcomes are any numbers in the order of the scale.
        position: Adjust for the item's position.
        level: Of the confidence intervals.

    Returns:
        Contrasts in log odds, t and F with the degrees of freedom of
        `count_participant_freedom`. Refused for fewer than 8
        participants in a condition, without a finite estimate and without convergence.

    Raises:
        ValueError: `level` does not lie between 0 and 1.
    """
    check_level(level)
    reason = explain_unsupported(trials, position=position) or _explain_extreme_condition(trials)
    refuse = partial(build_refused_model, trials, METHOD, SCALE, level=level)
    if reason:
        return refuse(reason)
    exog = build_design_matrix(trials, intercept=False, position=position)
    ratings = np.unique(trials.outcome, return_inverse=True)[1]
    fit = _fit(ratings, exog)
    if isinstance(fit, str):
        return refuse(fit)
    effects = exog.shape[1]
    try:
        covariance = fit.clustered(trials.participant)[-effects:, -effects:]
    except np.linalg.LinAlgError:
        return refuse("one participant alone decides an effect, so nothing says how participants differ")
    inflation = np.diag(covariance) / np.diag(np.linalg.inv(fit.information))[-effects:]
    return build_model(
        trials,
        fit.parameters[-effects:],
        covariance,
        method=METHOD,
        scale=SCALE,
        freedom=count_participant_freedom(trials),
        level=level,
        position=position,
        sandwich=True,
        details={
            "points of the scale in use": float(ratings.max() + 1),
            "largest inflation of a variance by clustering": float(inflation.max()),
        },
        assumptions=(
            INDEPENDENT,
            SAME_ITEMS,
            "A condition shifts the odds of a higher rating alike at every point of the scale.",
        ),
    )


@dataclass(frozen=True)
class _Likelihood:
    """Log-likelihood with derivatives at parameters: thresholds, then effects.

    upper, lower: trials × parameters, the derivatives of the ends a and b of a
    trial's rating, P(rating) = F(a) − F(b). slopes: of the log-likelihood over a
    and b; curves: the negative second derivatives (aa, bb, ab).
    """

    parameters: Array
    value: float
    upper: Array
    lower: Array
    slopes: tuple[Array, Array]
    curves: tuple[Array, Array, Array]

    @property
    def scores(self) -> Array:
        """Gradient of each trial, trials × parameters."""
        return np.asarray(self.slopes[0][:, None] * self.upper + self.slopes[1][:, None] * self.lower)

    @property
    def information(self) -> Array:
        """Negative second derivatives of the log-likelihood."""
        return self._information(slice(None))

    def _information(self, rows: slice | Codes) -> Array:
        upper, lower = self.upper[rows], self.lower[rows]
        aa, bb, ab = (curve[rows, None] for curve in self.curves)
        crossed = upper.T @ (ab * lower)
        return np.asarray(upper.T @ (aa * upper) + lower.T @ (bb * lower) + crossed + crossed.T)

    def clustered(self, cluster: Codes) -> Array:
        """Return the bias-reduced sandwich [3]; its leverage is that of a cluster."""
        inverse = np.linalg.inv(self.information)
        order = np.argsort(cluster, kind="stable")
        meat, scores = np.zeros_like(inverse), self.scores
        for rows in np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1):
            left = np.eye(len(inverse)) - self._information(rows) @ inverse
            own = np.linalg.solve(left, scores[rows].sum(axis=0))
            meat += np.outer(own, own)
        return np.asarray(inverse @ meat @ inverse)


def _compute_likelihood(parameters: Array, ratings: Codes, exog: Array) -> _Likelihood:
    cuts = len(parameters) - exog.shape[1]
    cut_indices = np.arange(cuts)
    upper = np.column_stack([(ratings[:, None] == cut_indices).astype(float), -exog])
    lower = np.column_stack([(ratings[:, None] == cut_indices + 1).astype(float), -exog])
    linear = exog @ parameters[cuts:]
    ends = np.concatenate([[-np.inf], parameters[:cuts], [np.inf]])
    top, bottom = expit(ends[ratings + 1] - linear), expit(ends[ratings] - linear)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = top - bottom
        above, below = top * (1 - top), bottom * (1 - bottom)  # densities, 0 at an infinite end
        slopes = (above / chance, -below / chance)
        curves = (
            slopes[0] ** 2 - above * (1 - 2 * top) / chance,
            slopes[1] ** 2 + below * (1 - 2 * bottom) / chance,
            slopes[0] * slopes[1],
        )
        value = float(np.log(chance).sum()) if (chance > 0).all() else -np.inf
    return _Likelihood(parameters, value, upper, lower, slopes, curves)


def _fit(ratings: Codes, exog: Array) -> _Likelihood | str:
    """Maximise the likelihood, which is concave, by damped Newton steps."""
    shares = np.cumsum(np.bincount(ratings))[:-1] / len(ratings)
    start = np.concatenate([np.log(shares / (1 - shares)), np.zeros(exog.shape[1])])
    fit = _compute_likelihood(start, ratings, exog)
    for _ in range(MOST_STEPS):
        gradient = fit.scores.sum(axis=0)
        try:
            step = np.linalg.solve(fit.information, gradient)
        except np.linalg.LinAlgError:
            return "the likelihood has no single maximum"
        decrement = float(gradient @ step)
        if decrement <= CONVERGED * len(ratings):
            return fit if np.linalg.cond(fit.information) < 1e12 else "the likelihood has no single maximum"
        size, following = 1.0, _compute_likelihood(fit.parameters + step, ratings, exog)
        while not following.value > fit.value and size > 1e-6:
            size /= 2
            following = _compute_likelihood(fit.parameters + size * step, ratings, exog)
        fit = following
        if np.abs(fit.parameters[-exog.shape[1] :]).max() > SEPARATED:
            return "the ratings are separated: an odds ratio is infinite"
    return "the fit did not converge"


def _explain_extreme_condition(trials: Trials) -> str:
    """Name a condition with ratings at one end of the scale, "" without one."""
    ends = (trials.outcome.min(), trials.outcome.max())
    for index, name in enumerate(trials.conditions):
        own = trials.outcome[trials.condition == index]
        if np.ptp(own) == 0 and own[0] in ends:
            return f"all ratings in condition {name} are the same end of the scale, so its odds are infinite"
    return ""
