"""Bayesian logistic model of binary answers with crossed random effects.

Participants and items are crossed. The two fits of statsmodels'
BinomialBayesMixedGLM are not used: the variational one takes effects and
participants as independent a posteriori, which makes the interval of a
difference between groups of participants far too short, and the other
maximises over the standard deviations together with the effects, which sends
them to zero. Tests show both.

References:
    1. Tierney and Kadane (1986): Laplace approximation.
    2. Rue, Martino and Chopin (2009), sections 3.1 and 3.2: grid over the
       hyperparameters, a Gaussian for the rest at each point.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import optimize
from scipy.special import expit, log_expit, logsumexp, ndtr

from ..stats.arrays import Array
from ..stats.results import INDEPENDENT, check_level
from .trial_model import Fit, Trials, design, unsupported

METHOD = "Bayesian logistic model, crossed participants and items, nested Laplace approximation"
EFFECT_SD = 2.0  # prior of intercept, of the difference of any two conditions, of the slope: normal around 0
LOG_SD_SD = 1.0  # prior of the log standard deviations of participants and items: normal around 0
STEPS = np.linspace(-3.0, 3.0, 9)  # grid over the log standard deviations, in posterior standard deviations
MOST_LEVELS = 2_000
OWN_EFFECTS = (
    "participants saw several conditions, and the model has no effects of conditions that differ by person; "
    "without them the interval would be too short"
)


@dataclass(frozen=True)
class Posterior:
    """Posterior of a second condition minus a first, in log odds.

    It is for a participant with an average item. mean, sd: of the posterior.
    interval: equal-tailed, credible at `level`. above: probability that the
    difference is above 0.
    """

    first: str
    second: str
    mean: float
    sd: float
    interval: tuple[float, float]
    above: float


@dataclass(frozen=True)
class BayesModel(Fit):
    """Posteriors of all pairs of conditions, or the reason why there is none.

    participant_sd, item_sd: posterior means of the standard deviations on the
    logit scale.
    """

    contrasts: tuple[Posterior, ...] = ()
    participant_sd: float | None = None
    item_sd: float | None = None


@dataclass(frozen=True)
class _Point:
    """The Laplace approximation at one pair of log standard deviations."""

    log_density: float
    mean: Array
    covariance: Array
    state: Array


def bayes_logistic(trials: Trials, *, position: bool = False, level: float = 0.95) -> BayesModel:
    """Compute the posterior of condition effects on the log odds of 1.

    Logit = intercept + condition (+ slope · position) + participant + item. Priors: intercept and slope
    normal with standard deviation 2; each condition's effect with √2, so that any two differ with 2 and none
    is a reference; log standard deviations of participants and items standard normal. Effects hold for one
    participant and item; those of a GEE, averaged over participants, are nearer to 0.

    trials: outcome 0 or 1. Separated answers are no trouble: the prior keeps the effects finite, and the
    interval then leans on it. Limits: the Laplace approximation pulls standard deviations towards 0 where
    participants have only a few trials.

    Refused where a condition has fewer than two participants, where all outcomes are alike and where
    participants saw several conditions. Raises ValueError.
    """
    check_level(level)
    if not np.isin(trials.outcome, (0.0, 1.0)).all():
        raise ValueError("outcome must be 0 or 1")
    reason = unsupported(trials, position=position) or (OWN_EFFECTS if trials.repeated else "")
    if not reason and trials.items > MOST_LEVELS:
        reason = f"there are more than {MOST_LEVELS} items"
    if reason:
        return BayesModel(METHOD, *trials.counts, level=level, reason=reason)
    likelihood = _Likelihood(trials, position=position)
    points = _grid(likelihood)
    if points is None:
        return BayesModel(METHOD, *trials.counts, level=level, reason="the posterior has no clear maximum")
    logs = np.array([point.log_density for _, point in points])
    weights = np.exp(logs - logsumexp(logs))
    sds = weights @ np.exp([at for at, _ in points])
    contrasts = tuple(
        _posterior(trials.conditions, pair, [point for _, point in points], weights, level)
        for pair in combinations(range(len(trials.conditions)), 2)
    )
    return BayesModel(
        METHOD,
        *trials.counts,
        contrasts=contrasts,
        participant_sd=float(sds[0]),
        item_sd=float(sds[1]),
        level=level,
        assumptions=(
            INDEPENDENT,
            "Participants and items are normal draws on the logit scale.",
            "A condition shifts the log odds alike on all items.",
            f"Before the data, effects beyond ±{2 * EFFECT_SD:g} log odds were held unlikely.",
        ),
    )


class _Likelihood:
    """Likelihood of effects, participants and items at fixed deviations.

    It finds the mode and its curvature. Participants are eliminated first, as each
    trial has one: their block of the curvature is diagonal.
    """

    def __init__(self, trials: Trials, *, position: bool) -> None:
        plain = design(trials, intercept=True, position=position)
        self.exog = np.insert(plain, 1, trials.condition == 0, axis=1)  # a column for every condition
        self.y, self.participant, self.item = trials.outcome, trials.participant, trials.item
        self.people, self.items, self.columns = trials.participants, trials.items, self.exog.shape[1]
        self.precision = np.full(self.columns, EFFECT_SD**-2)
        self.precision[1 : 1 + len(trials.conditions)] = 2 * EFFECT_SD**-2

    def at(self, log_sds: Array, start: Array | None = None) -> _Point:
        """Approximate at log standard deviations of participants and items."""
        own = np.exp(-2 * log_sds[0])
        items = np.full(self.items, np.exp(-2 * log_sds[1]))
        precision = np.concatenate([np.full(self.people, own), self.precision, items])
        state = np.zeros(len(precision)) if start is None else start
        value = self._log_joint(state, precision)
        for _ in range(100):
            step, _, _ = self._newton(state, precision)
            scale = 1.0
            while (following := self._log_joint(state + scale * step, precision)) < value and scale > 1e-6:
                scale /= 2
            state = state + scale * step
            gain, value = following - value, following
            if abs(gain) < 1e-9:
                break
        _, log_determinant, covariance = self._newton(state, precision)
        prior = -0.5 * float((log_sds**2).sum()) / LOG_SD_SD**2
        density = value + 0.5 * float(np.log(precision).sum()) - 0.5 * log_determinant + prior
        effects = slice(self.people, self.people + self.columns)
        return _Point(density, state[effects], covariance[: self.columns, : self.columns], state)

    def _linear(self, state: Array) -> Array:
        items = state[self.people + self.columns :]
        effects = state[self.people : self.people + self.columns]
        return np.asarray(self.exog @ effects + state[: self.people][self.participant] + items[self.item])

    def _log_joint(self, state: Array, precision: Array) -> float:
        eta = self._linear(state)
        signed = np.where(self.y == 1, eta, -eta)
        return float(log_expit(signed).sum() - 0.5 * (precision * state**2).sum())

    def _newton(self, state: Array, precision: Array) -> tuple[Array, float, Array]:
        """Return Newton's step, the log determinant and the covariance.

        The log determinant is that of the curvature, the covariance that of effects
        and items.
        """
        chance = expit(self._linear(state))
        residual, weight = self.y - chance, chance * (1 - chance)
        people, columns = self.people, self.columns
        gradient = -precision * state
        gradient[:people] += np.bincount(self.participant, residual, people)
        gradient[people : people + columns] += self.exog.T @ residual
        gradient[people + columns :] += np.bincount(self.item, residual, self.items)
        diagonal = np.bincount(self.participant, weight, people) + precision[:people]
        weighted = weight[:, None] * self.exog
        crossed = np.zeros((people, columns + self.items))
        np.add.at(crossed[:, :columns], self.participant, weighted)
        np.add.at(crossed, (self.participant, columns + self.item), weight)
        other = np.diag(precision[people:])
        other[:columns, :columns] += self.exog.T @ weighted
        by_item = np.zeros((self.items, columns))
        np.add.at(by_item, self.item, weighted)
        other[columns:, :columns] += by_item
        other[:columns, columns:] += by_item.T
        other[columns:, columns:] += np.diag(np.bincount(self.item, weight, self.items))
        schur = other - crossed.T @ (crossed / diagonal[:, None])
        covariance = np.asarray(np.linalg.inv(schur), dtype=float)
        rest = covariance @ (gradient[people:] - crossed.T @ (gradient[:people] / diagonal))
        step = np.concatenate([(gradient[:people] - crossed @ rest) / diagonal, rest])
        return step, float(np.log(diagonal).sum() + np.linalg.slogdet(schur)[1]), covariance


def _grid(likelihood: _Likelihood) -> list[tuple[Array, _Point]] | None:
    """Return grid points around the mode along the axes of the curvature.

    They are log standard deviations.
    """
    start = likelihood.at(np.zeros(2)).state
    best = optimize.minimize(
        lambda at: -likelihood.at(at, start).log_density,
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 1e-4},
    )
    start = likelihood.at(best.x, start).state
    curvature = _curvature(lambda at: -likelihood.at(at, start).log_density, best.x)
    values, vectors = np.linalg.eigh(curvature)
    if not best.success or values.min() <= 0:
        return None
    axes = vectors / np.sqrt(values)
    places = [best.x + axes @ np.array(steps) for steps in product(STEPS, STEPS)]
    return [(place, likelihood.at(place, start)) for place in places]


def _curvature(function: Callable[[Array], float], at: Array, step: float = 0.1) -> Array:
    """Compute second derivatives in two numbers by central differences."""
    moves = np.eye(2) * step
    here = function(at)
    second = np.empty((2, 2))
    for i, j in product(range(2), range(2)):
        if i == j:
            second[i, i] = function(at + moves[i]) - 2 * here + function(at - moves[i])
        else:
            mixed = function(at + moves[i] + moves[j]) + function(at - moves[i] - moves[j])
            second[i, j] = (
                mixed - function(at + moves[i] - moves[j]) - function(at - moves[i] + moves[j])
            ) / 4
    return second / step**2


def _posterior(
    conditions: tuple[str, ...], pair: tuple[int, int], points: list[_Point], weights: Array, level: float
) -> Posterior:
    """Mix the grid points' normal distributions of one difference."""
    vector = np.zeros(len(points[0].mean))
    vector[1 + pair[1]], vector[1 + pair[0]] = 1.0, -1.0
    means = np.array([vector @ point.mean for point in points])
    sds = np.array([np.sqrt(vector @ point.covariance @ vector) for point in points])
    mean = float(weights @ means)

    def below(value: float) -> float:
        return float(weights @ ndtr((value - means) / sds))

    low, high = (
        float(optimize.brentq(lambda value, share=share: below(value) - share, *_reach(means, sds)))
        for share in ((1 - level) / 2, (1 + level) / 2)
    )
    return Posterior(
        first=conditions[pair[0]],
        second=conditions[pair[1]],
        mean=mean,
        sd=float(np.sqrt(weights @ (sds**2 + (means - mean) ** 2))),
        interval=(low, high),
        above=1 - below(0.0),
    )


def _reach(means: Array, sds: Array) -> tuple[float, float]:
    return float((means - 12 * sds).min()), float((means + 12 * sds).max())
