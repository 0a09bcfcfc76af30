"""Logistic and proportional-odds mixed models with crossed random effects.

One likelihood serves both: a yes-no answer is a rating on a scale of two
points. statsmodels has no such model with crossed effects by maximum
likelihood; tests compare lme4's glmer and ordinal's clmm.

References:
    1. Bates, Mächler, Bolker and Walker (2015): spherical random effects,
       penalised iteratively reweighted least squares.
    2. Tierney and Kadane (1986): Laplace approximation.
    3. McCullagh (1980): proportional odds.
    4. Kristensen et al. (2016), section 2: gradient of a Laplace approximation.
    5. Baayen, Davidson and Bates (2008): crossed random effects of subjects
       and items.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse
from scipy.special import expit, log_expit

from ..stats.arguments import check_level
from ..stats.arrays import Array
from ..stats.results import INDEPENDENT, SAME_ITEMS, SAMPLED_ITEMS
from .linear_mixed import NO_PARTICIPANT_VARIANCE
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

LOGISTIC = "logistic mixed model, crossed participants and items, Laplace approximation"
ORDINAL = "proportional-odds mixed model, crossed participants and items, Laplace approximation"
MOST_LEVELS = 1_000  # items, and items within conditions: their square is a matrix
MOST_POINTS = 11  # of the scale: each has a threshold to estimate
ZERO = 1e-2  # standard deviations below this, in log odds, are estimates of zero
START = 0.5  # standard deviations where the search starts
FARTHEST = 30.0  # no parameter beyond this is tried
STEP = 1e-3  # of the differences of gradients that give the curvature
CONVERGED = 1e-6  # half of what one more of Newton's steps would add to the log-likelihood
TOO_MANY_LEVELS = (
    f"there are more than {MOST_LEVELS:,} items and items within conditions; refit.R fits the same model"
)


def mixed_logit(
    trials: Trials, *, position: bool = False, item_by_condition: bool = True, level: float = 0.95
) -> Model:
    """Estimate the log odds of a higher answer by condition.

    Logit = condition (+ slope · position) + participant (+ participant within
    condition) + item (+ item within condition), random effects normal. If
    participants saw several conditions, they may differ in a condition's effect
    on them. A component that has one trial per level is left out and noted, as is
    items within conditions if no item was seen in two.

    Args:
        trials: Outcomes are any numbers in the order of the scale: two make it
            the logistic model, more the proportional-odds model.
        position: Adjust for the item's position in the order.
        item_by_condition: Conditions may differ more on some items than on others;
            without it the statement is about these items only.
        level: Of the confidence intervals.

    Returns:
        Contrasts in log odds for one participant and item; those of a GEE,
        averaged over participants, are nearer to 0. t has the degrees of freedom
        of `count_participant_freedom`, or items − 1 if that is less and
        `item_by_condition`. Refused for fewer than 8
        participants in a condition, without a finite estimate, without convergence, and if the
        variance of participants is estimated as zero.
    """
    check_level(level)
    ratings = np.unique(trials.outcome, return_inverse=True)[1]
    ordinal = int(ratings.max(initial=0)) > 1
    scale = "cumulative log odds" if ordinal else "log odds"
    refuse = partial(build_refused_model, trials, ORDINAL if ordinal else LOGISTIC, scale, level=level)
    if reason := explain_unsupported(trials, position=position):
        return refuse(reason)
    if ratings.max() >= MOST_POINTS:
        return refuse(f"the outcome has more than {MOST_POINTS} values, so it is not a rating")
    components, notes = choose_random_effects(trials, item_by_condition=item_by_condition)
    if not {"participant", "item"} <= components.keys():
        return refuse("no participant, or no item, has two trials, so it cannot be separated from chance")
    exog = build_design_matrix(trials, intercept=False, position=position)
    fit = _fit(ratings, exog, components, trials)
    if isinstance(fit, str):
        return refuse(fit)
    by_item = "item within condition" in components
    freedom = count_participant_freedom(trials)
    return build_model(
        trials,
        fit.effects,
        fit.covariance,
        method=ORDINAL if ordinal else LOGISTIC,
        scale=scale,
        freedom=min(freedom, trials.items - 1) if by_item else freedom,
        level=level,
        position=position,
        details={f"standard deviation, {name}": value for name, value in fit.spreads.items()}
        | {"log-likelihood": fit.log_likelihood},
        assumptions=(
            INDEPENDENT,
            "Participants and items are normal draws on the logit scale.",
            SAMPLED_ITEMS if by_item else SAME_ITEMS,
            *(
                ["A condition shifts the odds of a higher rating alike at every point of the scale."]
                * ordinal
            ),
        ),
        notes=notes
        + tuple(
            f"Singular fit: the standard deviation of {name} is estimated as zero."
            for name, value in fit.spreads.items()
            if value == 0
        ),
    )


@dataclass(frozen=True)
class LogitFit:
    """Effects with covariance, and standard deviations of the components."""

    effects: Array
    covariance: Array
    spreads: dict[str, float]
    log_likelihood: float


def choose_random_effects(
    trials: Trials, *, item_by_condition: bool
) -> tuple[dict[str, Codes], tuple[str, ...]]:
    """Return the codes of each component that the data bear, and notes."""
    count = len(trials.conditions)
    wanted = {"participant": trials.participant}
    if trials.repeated:
        wanted["participant within condition"] = trials.participant * count + trials.condition
    wanted["item"] = trials.item
    crossed = trials.item * count + trials.condition
    if item_by_condition and len(np.unique(crossed)) > len(np.unique(trials.item)):
        wanted["item within condition"] = crossed
    borne = {name: code for name, code in wanted.items() if np.bincount(code).max() > 1}
    return borne, tuple(
        f"No random effect of {name}: each has one trial." for name in wanted if name not in borne
    )


def _fit(ratings: Codes, exog: Array, components: dict[str, Codes], trials: Trials) -> LogitFit | str:
    """Maximise the likelihood, or return the reason for a refusal."""
    others = [np.unique(code, return_inverse=True)[1] for name, code in components.items() if "item" in name]
    if sum(int(code.max()) + 1 for code in others) > MOST_LEVELS:
        return TOO_MANY_LEVELS
    within = trials.condition if "participant within condition" in components else None
    spread = exog.std(axis=0)
    if (spread == 0).any() or np.linalg.matrix_rank(np.insert(exog, 0, 1, axis=1)) <= exog.shape[1]:
        return "position and condition say the same"
    likelihood = Likelihood(ratings, exog / spread, trials.participant, others, within)
    maximum = maximise(likelihood)
    if isinstance(maximum, str):
        return maximum
    parameters, value, covariance = maximum
    chosen = slice(likelihood.points - 1, likelihood.points - 1 + len(spread))
    effects = parameters[chosen] / spread
    if np.abs(parameters[chosen]).max() > SEPARATED or np.abs(effects).max() > SEPARATED:
        return "the answers are separated: an odds ratio is infinite"
    spreads = {
        name: float(sd) if sd >= ZERO else 0.0
        for name, sd in zip(components, np.abs(parameters[chosen.stop :]), strict=True)
    }
    if all(sd == 0 for name, sd in spreads.items() if "participant" in name):
        return NO_PARTICIPANT_VARIANCE
    return LogitFit(effects, covariance[chosen, chosen] / np.outer(spread, spread), spreads, -value)


def maximise(likelihood: "Likelihood") -> tuple[Array, float, Array] | str:
    """Maximise the Laplace likelihood over all parameters together.

    Returns parameters, minus the log-likelihood, and the inverse of its curvature
    over all parameters (as lme4 and ordinal have it), or a reason.
    """
    search = optimize.minimize(
        likelihood.compute_negative_log,
        likelihood.start(),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-3, "maxiter": 300},
    )
    at = search.x
    for _ in range(4):
        value, gradient = likelihood.compute_negative_log(at)
        moves = STEP * np.eye(len(at))
        slopes = [
            likelihood.compute_negative_log(at + move)[1] - likelihood.compute_negative_log(at - move)[1]
            for move in moves
        ]
        curvature = np.array(slopes) / (2 * STEP)
        curvature = (curvature + curvature.T) / 2
        if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
            return "the likelihood has no single maximum"
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < 2 * CONVERGED:
            return at, value, np.asarray(np.linalg.inv(curvature), dtype=float)
        at = at - step
    return "the fit did not converge"


@dataclass(frozen=True)
class _Terms:
    """A trial's log probability and derivatives; each has shape (n,).

    score, weight, bend: first derivative by the mean, minus the second, and minus
    the third. upper, lower: probabilities up to the thresholds around the rating.
    odds: derivative of the logarithm of the distance between the thresholds.
    """

    log: Array
    upper: Array
    lower: Array
    odds: Array

    @cached_property
    def score(self) -> Array:
        return self.upper + self.lower - 1

    @cached_property
    def densities(self) -> tuple[Array, Array]:
        return self.upper * (1 - self.upper), self.lower * (1 - self.lower)

    @cached_property
    def slopes(self) -> tuple[Array, Array]:
        upper, lower = self.densities
        return upper * (1 - 2 * self.upper), lower * (1 - 2 * self.lower)

    @cached_property
    def weight(self) -> Array:
        return self.densities[0] + self.densities[1]

    @cached_property
    def bend(self) -> Array:
        return -self.slopes[0] - self.slopes[1]


class Likelihood:
    """Laplace approximation of the likelihood: n trials, P participants.

    A participant has s effects (one, or one and another per condition), and M
    other levels (items, items within conditions) have one each. All effects are
    standard normal and multiplied by their component's standard deviation.
    Participants are eliminated first, because no equation has two of them.

    Parameters: the first threshold, logarithms of the distances to the next ones,
    effects, standard deviations (a negative one counts as positive).
    """

    def __init__(
        self, ratings: Codes, exog: Array, participant: Codes, others: list[Codes], within: Codes | None
    ) -> None:
        """Index the trials.

        Args:
            ratings: Codes from 0, shape (n,).
            exog: n × k, without an intercept.
            participant: Codes, shape (n,).
            others: Codes of each further component, shape (n,).
            within: Condition of each trial, if participants have effects of their
                own in each.
        """
        self.ratings, self.exog = ratings, exog
        self.points, self.people = int(ratings.max()) + 1, int(participant.max()) + 1
        slots = [np.zeros_like(participant)] + ([] if within is None else [1 + within])
        self.own = np.zeros(1, dtype=np.intp)
        if within is not None:
            self.own = np.repeat([0, 1], [1, int(within.max()) + 1])
        self.slots, self.first = len(self.own), int(self.own.max()) + 1
        sizes = [int(code.max()) + 1 for code in others]
        self.block = np.repeat(np.arange(len(others)) + self.first, sizes)
        self.levels, self.components = sum(sizes), self.first + len(others)
        mine = np.column_stack([participant * self.slots + slot for slot in slots])
        rest = np.column_stack([code + sum(sizes[:index]) for index, code in enumerate(others)])
        slot_codes = np.column_stack(slots)
        self.effects = _build_indicator(np.column_stack([mine, rest + self.people * self.slots]), self.states)
        self._people = _build_pair_indicator(mine, slot_codes, self.people * self.slots, self.slots)
        self._crossed = _build_pair_indicator(mine, rest, self.people * self.slots, self.levels)
        self._other = _build_pair_indicator(rest, rest, self.levels, self.levels)
        self.component = np.concatenate([np.tile(self.own, self.people), self.block])
        self._state = np.zeros(self.states)

    @property
    def states(self) -> int:
        """Return the number of random effects."""
        return self.people * self.slots + self.levels

    def start(self) -> Array:
        """Return where a search begins: no effects, thresholds of all trials."""
        shares = np.cumsum(np.bincount(self.ratings))[:-1] / len(self.ratings)
        cuts = np.log(shares / (1 - shares))
        return np.concatenate([
            cuts[:1], np.log(np.diff(cuts)), np.zeros(self.exog.shape[1]), np.full(self.components, START)
        ])  # fmt: skip

    def compute_negative_log(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log-likelihood and its gradient."""
        if not np.abs(parameters).max() < FARTHEST:
            return float("inf"), np.zeros(len(parameters))
        last = self.points - 1 + self.exog.shape[1]
        widths = np.exp(parameters[1 : self.points - 1])
        cuts = np.concatenate([[-np.inf], parameters[0] + np.append(0, np.cumsum(widths)), [np.inf]])
        relative = parameters[last:]
        fixed = self.exog @ parameters[self.points - 1 : last]
        state, value, terms, curvature = self._mode(cuts, fixed, relative)
        inverse = curvature.inverse()
        scales = relative[self.component]
        leverage = self._leverage(inverse, relative)
        bent = 0.5 * leverage * terms.bend
        lagged = curvature.solve(scales * (self.effects.T @ bent))
        moved = self.effects @ (scales * lagged)
        along = bent - terms.score - terms.weight * moved  # derivative by the mean of each trial
        upper, lower = (
            0.5 * leverage * slope + moved * density
            for slope, density in zip(terms.slopes, terms.densities, strict=True)
        )
        upper, lower = upper - (1 - terms.upper) - terms.odds, lower + terms.lower + terms.odds
        by_cut = np.bincount(self.ratings + 1, upper, self.points + 1)
        by_cut = (by_cut + np.bincount(self.ratings, lower, self.points + 1))[1:-1]
        of_state = state * (self.effects.T @ along) + lagged * (self.effects.T @ terms.score)
        gradient = np.concatenate([
            [by_cut.sum()],
            widths * np.cumsum(by_cut[::-1])[::-1][1:],
            self.exog.T @ along,
            np.bincount(self.component, of_state) + curvature.traces(inverse, self.component),
        ])  # fmt: skip
        return value + 0.5 * curvature.log_determinant, gradient

    def _terms(self, cuts: Array, mean: Array) -> _Terms:
        above, below = cuts[self.ratings + 1] - mean, cuts[self.ratings] - mean
        width = above - below
        log = log_expit(above) + log_expit(-below) + np.log(-np.expm1(-width))
        return _Terms(log, expit(above), expit(below), np.exp(-width) / -np.expm1(-width))

    def _mode(self, cuts: Array, fixed: Array, relative: Array) -> tuple[Array, float, _Terms, "_Curvature"]:
        """Find the random effects' mode by Newton's steps, halved if need be.

        Returns them, the penalised minus log-likelihood, terms and curvature.
        """
        scales = relative[self.component]
        state, step, value = self._state, np.zeros(self.states), np.inf
        for _ in range(200):
            trial = state + step
            terms = self._terms(cuts, fixed + self.effects @ (scales * trial))
            following = 0.5 * float(trial @ trial) - float(terms.log.sum())
            if following > value + 1e-9 * abs(value):
                step = step / 2
                continue
            state, value = trial, following
            gradient = scales * (self.effects.T @ terms.score) - state
            curvature = _Curvature(self, terms.weight, relative)
            step = curvature.solve(gradient)
            if gradient @ step < 1e-16:
                break
        self._state = state
        return state, value, terms, curvature

    def _leverage(self, inverse: tuple[Array, Array, Array], relative: Array) -> Array:
        """Return the posterior variance of each trial's mean, effects given."""
        own, rest = relative[self.own], relative[self.block]
        people, crossed, other = inverse
        return np.asarray(
            self._people @ (own[:, None] * people * own).ravel()
            + 2 * (self._crossed @ (own[:, None] * crossed * rest).ravel())
            + self._other @ (rest[:, None] * other * rest).ravel()
        )


class _Curvature:
    """Curvature of the penalised likelihood: identity plus scaled sums."""

    def __init__(self, model: Likelihood, weight: Array, relative: Array) -> None:
        people, slots, levels = model.people, model.slots, model.levels
        self.own, self.rest = relative[model.own], relative[model.block]
        self.people = (model._people.T @ weight).reshape(people, slots, slots)
        self.crossed = (model._crossed.T @ weight).reshape(people, slots, levels)
        self.other = (model._other.T @ weight).reshape(levels, levels)
        block = np.eye(slots) + self.own[:, None] * self.people * self.own
        self.within = np.linalg.inv(block)
        cross = self.own[:, None] * self.crossed * self.rest
        self.ratio = (self.within @ cross).reshape(-1, levels)
        schur = np.eye(levels) + self.rest[:, None] * self.other * self.rest
        self.cholesky = linalg.cho_factor(schur - cross.reshape(-1, levels).T @ self.ratio)
        roots = np.log(np.diag(self.cholesky[0])).sum()
        self.log_determinant = float(np.linalg.slogdet(block)[1].sum() + 2 * roots)

    def solve(self, right: Array) -> Array:
        """Solve for one right side, participants' effects first."""
        count = len(self.ratio)
        rest = linalg.cho_solve(self.cholesky, right[count:] - self.ratio.T @ right[:count])
        own = (self.within @ right[:count].reshape(*self.people.shape[:2], 1)).ravel()
        return np.concatenate([own - self.ratio @ rest, rest])

    def inverse(self) -> tuple[Array, Array, Array]:
        """Return the blocks of the inverse: P × s × s, P × s × M, M × M."""
        other = linalg.cho_solve(self.cholesky, np.eye(len(self.rest)))
        crossed = -(self.ratio @ other).reshape(self.crossed.shape)
        people = self.within - crossed @ self.ratio.reshape(self.crossed.shape).transpose(0, 2, 1)
        return people, crossed, other

    def traces(self, inverse: tuple[Array, Array, Array], component: NDArray[np.intp]) -> Array:
        """Return half the log determinant's derivative by the deviations.

        The weights are held.
        """
        people, crossed, other = inverse
        own = (people @ (self.own[:, None] * self.people)).diagonal(axis1=1, axis2=2)
        both = crossed * self.crossed
        own = own + (both * self.rest).sum(axis=2)
        rest = (other * (self.rest[:, None] * self.other)).sum(axis=0) + (both * self.own[:, None]).sum(
            (0, 1)
        )
        return np.asarray(np.bincount(component, np.concatenate([own.ravel(), rest])), dtype=float)


def _build_indicator(codes: NDArray[np.intp], columns: int) -> sparse.csr_matrix:
    """Build the matrix of zeros and ones that has ones at each row's codes."""
    rows, per_row = codes.shape
    pointers = np.arange(0, rows * per_row + 1, per_row)
    return sparse.csr_matrix((np.ones(codes.size), codes.ravel(), pointers), shape=(rows, columns))


def _build_pair_indicator(
    first: NDArray[np.intp], second: NDArray[np.intp], rows: int, columns: int
) -> sparse.csr_matrix:
    """Indicate each trial's cells in a flattened matrix of pairs of codes."""
    cells = first[:, :, None] * columns + second[:, None, :]
    return _build_indicator(cells.reshape(len(first), -1), rows * columns)
