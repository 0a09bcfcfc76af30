"""Bayesian logistic model of binary answers with crossed random effects.

The mixed model of `logit_mixed` with priors, sampled by Hamiltonian Monte Carlo.
Approximations are not used: a nested Laplace approximation pulls effects towards
0 (by 6 % on the released study), and of the fits of statsmodels'
BinomialBayesMixedGLM the variational one takes effects and participants as
independent a posteriori and the other sends the standard deviations to zero.

References:
    1. Neal (2011): Hamiltonian Monte Carlo, sections 3 and 4.1 (preconditioning).
    2. Betancourt and Girolami (2015): non-centred random effects.
    3. Gelman et al. (2013), Bayesian Data Analysis, sections 11.4 and 11.5:
       split R-hat, effective number of draws.
    4. Kruschke (2018): region of practical equivalence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.special import expit, log_expit, logsumexp

from ..stats.arguments import check_level
from ..stats.arrays import Array
from ..stats.results import INDEPENDENT, LEAST, SAME_ITEMS, SAMPLED_ITEMS
from .logit_mixed import choose_random_effects
from .trial_model import Codes, Fit, Trials, build_design_matrix, explain_unsupported

METHOD = "Bayesian logistic mixed model, crossed participants and items, Hamiltonian Monte Carlo"
EFFECT_SD = 2.0  # prior of intercept, of the difference of any two conditions, of the slope: normal around 0
LOG_SD_SD = 1.0  # prior of the log standard deviations of random effects: normal around 0
PRIORS = (
    f"Priors: intercept and the difference of any two conditions normal around 0 with standard "
    f"deviation {EFFECT_SD:g} log odds; logarithms of the standard deviations of random effects "
    f"normal around 0 with {LOG_SD_SD:g}."
)
MOST_LEVELS = 2_000  # of all random effects: their square is a matrix
START_SD = 0.7  # of random effects, where the search for a start lies
CHAINS, WARM_UP, DRAWS = 4, 100, 1_000

ACCEPTED = 0.8  # share of proposals that the step size aims at
FEWEST_EFFECTIVE, MOST_R_HAT = 400, 1.01  # of contrasts, beyond which `fit` refuses the posterior
MOST_R_HAT_OF_SPREADS = 1.1  # standard deviations mix slowly, and contrasts hardly depend on them
PRIOR_FACTORS = (0.5, 2.0)  # of the prior's standard deviation of effects, to show how much it matters


@dataclass(frozen=True)
class Posterior:
    """Posterior of a second condition minus a first, in log odds.

    It is for one participant and item.

    Attributes:
        first: First condition.
        second: Second condition.
        mean: Of the posterior.
        sd: Of the posterior.
        error: Monte Carlo standard error of the mean.
        interval: Equal-tailed, credible at `level`.
        above: Probability that the difference is above 0.
        inside: Probability that it lies in the region of practical equivalence,
            None without a region.
        under_priors: Means under half and twice the prior standard deviation of effects.
    """

    first: str
    second: str
    mean: float
    sd: float
    error: float
    interval: tuple[float, float]
    above: float
    inside: float | None
    under_priors: tuple[float, ...]


@dataclass(frozen=True)
class BayesModel(Fit):
    """Posteriors of all pairs of conditions, or the reason why there is none.

    Attributes:
        method: Name of the method.
        trials: Number of trials.
        participants: Number of participants.
        items: Number of items.
        level: Of the credible intervals.
        assumptions: A sentence each.
        notes: Cautions about this fit.
        reason: Why the fit was refused; there are then no numbers.
        contrasts: All pairs of conditions.
        spreads: Name of each random effect and the posterior mean of its standard deviation, in log odds.
        draws: Number of draws over all chains.
        effective: The fewest independent draws that would say as much about a contrast.
        r_hat: The largest split R-hat of a contrast.
        rope: Region of practical equivalence, in log odds; None without one.
    """

    contrasts: tuple[Posterior, ...] = ()
    spreads: tuple[tuple[str, float], ...] = ()
    draws: int = 0
    effective: float = 0.0
    r_hat: float = 0.0
    rope: tuple[float, float] | None = None


def bayes_logistic(
    trials: Trials,
    *,
    rng: np.random.Generator,
    position: bool = False,
    item_by_condition: bool = True,
    level: float = 0.95,
    rope: tuple[float, float] | None = None,
) -> BayesModel:
    """Sample the posterior of condition effects on the log odds of 1.

    Logit = intercept + condition (+ slope · position) + the random effects of
    `mixed_logit`. Priors: intercept and slope normal with standard deviation 2;
    each condition's effect with √2, so that any two differ with 2 and none is a
    reference; log standard deviations of random effects standard normal.
    Separated answers are no trouble: the prior keeps the effects finite, and the
    means under other priors then show what they rest on.

    Args:
        trials: Outcomes are 0 or 1.
        rng: Of the draws.
        position: Adjust for the item's position in the order.
        item_by_condition: Conditions may differ more on some items than on others.
        level: Of the credible intervals.
        rope: Differences that count as none in practice, in log odds.

    Returns:
        Posteriors. Refused for fewer than two participants in a condition, if all
        outcomes are alike, and if the chains do not agree.

    Raises:
        ValueError: An outcome is neither 0 nor 1, `level` does not lie between 0 and 1, or `rope` is not a
            lower and an upper end.
    """
    check_level(level)
    if rope is not None and not (len(rope) == 2 and rope[0] < rope[1]):
        raise ValueError(f"rope must be a lower and an upper end, not {rope}")
    if not np.isin(trials.outcome, (0.0, 1.0)).all():
        raise ValueError("outcome must be 0 or 1")
    components, notes = choose_random_effects(trials, item_by_condition=item_by_condition)
    levels = sum(len(np.unique(code)) for code in components.values())
    reason = explain_unsupported(trials, position=position, least=LEAST)
    if not reason and levels > MOST_LEVELS:
        reason = f"there are more than {MOST_LEVELS:,} participants, items, and items within conditions"
    if reason:
        return BayesModel(METHOD, *trials.counts, level=level, reason=reason)
    target = _Target(trials, list(components.values()), position=position)
    draws = _sample(target, rng)
    count = len(trials.conditions)
    pairs = list(combinations(range(count), 2))
    contrasts = [draws[1 + second] - draws[1 + first] for first, second in pairs]
    spreads = draws[target.columns :]
    checked = [_diagnose(values) for values in contrasts]
    r_hat, effective = max(diagnosis[0] for diagnosis in checked), min(diagnosis[1] for diagnosis in checked)
    apart = max(_diagnose(values)[0] for values in spreads)
    if r_hat > MOST_R_HAT or apart > MOST_R_HAT_OF_SPREADS or effective < FEWEST_EFFECTIVE:
        reason = f"the chains do not agree (R-hat {r_hat:.3f}, {effective:.0f} effective draws)"
        return BayesModel(METHOD, *trials.counts, level=level, reason=reason)
    named = combinations(trials.conditions, 2)
    weights = [target.weights_under(draws[: target.columns], factor) for factor in PRIOR_FACTORS]
    return BayesModel(
        METHOD,
        *trials.counts,
        contrasts=tuple(
            _describe_posterior(pair, values, worth, weights, level=level, rope=rope)
            for pair, values, (_, worth) in zip(named, contrasts, checked, strict=True)
        ),
        spreads=tuple(
            (name, float(np.exp(own).mean())) for name, own in zip(components, spreads, strict=True)
        ),
        draws=draws[0].size,
        effective=effective,
        r_hat=r_hat,
        rope=rope,
        level=level,
        notes=notes,
        assumptions=(
            INDEPENDENT,
            "Participants and items are normal draws on the logit scale.",
            SAMPLED_ITEMS if "item within condition" in components else SAME_ITEMS,
            PRIORS,
        ),
    )


def _describe_posterior(
    pair: tuple[str, str],
    values: Array,
    effective: float,
    weights: Sequence[Array],
    *,
    level: float,
    rope: tuple[float, float] | None,
) -> Posterior:
    """Describe the draws of a contrast, and its mean under other priors."""
    return Posterior(
        *pair,
        mean=float(values.mean()),
        sd=float(values.std()),
        error=float(values.std() / effective**0.5),
        interval=_compute_quantiles(values, level),
        above=float((values > 0).mean()),
        inside=float(((values > rope[0]) & (values < rope[1])).mean()) if rope else None,
        under_priors=tuple(float((own * values).sum()) for own in weights),
    )


class _Target:
    """Log density of the posterior, for several chains at once.

    Parameters, a column per chain: k effects (intercept, conditions, slope), log
    standard deviations, and standard normal effects of each component in turn.
    """

    def __init__(self, trials: Trials, components: list[Codes], *, position: bool) -> None:
        plain = build_design_matrix(trials, intercept=True, position=position)
        exog = np.insert(plain, 1, trials.condition == 0, axis=1)  # a column for every condition
        self.outcome, self.columns = trials.outcome, exog.shape[1]
        self.precision = np.full(self.columns, EFFECT_SD**-2)
        self.precision[1 : 1 + len(trials.conditions)] = 2 * EFFECT_SD**-2
        dense = [np.unique(code, return_inverse=True)[1] for code in components]
        rows = np.arange(len(trials.outcome))
        members = [sparse.csr_array((np.ones(len(rows)), (rows, code))) for code in dense]
        self.loads = sparse.hstack([sparse.csr_array(exog), *members]).tocsr()
        self.transposed = self.loads.T.tocsr()  # once, because each of thousands of steps multiplies by it
        sizes = [matrix.shape[1] for matrix in members]
        self.component = np.repeat(np.arange(len(sizes)), sizes)  # of each random effect
        self.firsts = np.cumsum([0, *sizes[:-1]])
        self.spreads = slice(self.columns, self.columns + len(sizes))
        self.size = self.spreads.stop + sum(sizes)

    def slopes(self, at: Array) -> tuple[Array, Array]:
        """Return the gradient of the log density of each chain, and the logits."""
        effects, log_sds, units = at[: self.columns], at[self.spreads], at[self.spreads.stop :]
        sds = np.exp(log_sds)[self.component]
        logit = self.loads @ np.concatenate([effects, sds * units])
        sums = self.transposed @ (self.outcome[:, None] - expit(logit))
        own = sds * sums[self.columns :]
        gradient = [
            sums[: self.columns] - self.precision[:, None] * effects,
            np.add.reduceat(own * units, self.firsts) - log_sds / LOG_SD_SD**2,
            own - units,
        ]
        return np.concatenate(gradient), logit

    def log_density(self, at: Array, logit: Array) -> Array:
        """Return the log density of each chain."""
        prior = self.precision @ at[: self.columns] ** 2 + (at[self.spreads] ** 2).sum(axis=0) / LOG_SD_SD**2
        prior = prior + (at[self.spreads.stop :] ** 2).sum(axis=0)
        return log_expit((2 * self.outcome[:, None] - 1) * logit).sum(axis=0) - 0.5 * prior

    def start(self) -> Array:
        """Find the mode at standard deviations of `START_SD`.

        The mode over these too would lie far from the bulk of the posterior.
        """
        free = np.ones(self.size, dtype=bool)
        free[self.spreads] = False
        at = np.where(free, 0.0, np.log(START_SD))

        def compute_negative_log(values: Array) -> tuple[float, Array]:
            here = at.copy()
            here[free] = values
            gradient, logit = self.slopes(here[:, None])
            return -float(self.log_density(here[:, None], logit)[0]), -gradient[free, 0]

        at[free] = optimize.minimize(compute_negative_log, at[free], jac=True, method="L-BFGS-B").x
        return at

    def scale(self, at: Array) -> Array:
        """Return a matrix whose columns are nearly one posterior deviation each.

        It is the inverse root of the expected curvature at the point.
        """
        effects, units = at[: self.columns], at[self.spreads.stop :]
        sds = np.exp(at[self.spreads])[self.component]
        chance = expit(self.loads @ np.concatenate([effects, sds * units]))
        fixed, random = self.loads[:, : self.columns], self.loads[:, self.columns :] * sds
        by_component = units[:, None] * (self.component[:, None] == np.arange(len(self.firsts)))
        slopes = sparse.hstack([fixed, sparse.csr_array(random @ by_component), random]).tocsr()
        curvature = (slopes.T @ sparse.diags_array(chance * (1 - chance)) @ slopes).toarray()
        prior = np.ones(self.size)
        prior[: self.columns] = self.precision
        root = np.linalg.cholesky(curvature + np.diag(prior))
        # To 100 columns at least, any number of threads gives these bits; `solve_triangular` does not.
        return np.asarray(linalg.lapack.dtrtri(root, lower=1)[0].T)

    def weights_under(self, effects: Array, factor: float) -> Array:
        """Weigh draws as if the prior's deviations were multiplied."""
        logs = 0.5 * np.tensordot(self.precision, effects**2, axes=1) * (1 - factor**-2)
        return np.asarray(np.exp(logs - logsumexp(logs)))


def _sample(target: _Target, rng: np.random.Generator) -> Array:
    """Return effects and log standard deviations: parameters × draws × chains.

    The first warm-up finds the bulk of the posterior, where the second measures
    the scales.
    """
    centre = target.start()
    scale = target.scale(centre)
    start = centre[:, None] + scale @ rng.standard_normal((target.size, CHAINS))
    chain = _Chains(target, scale, start, rng)
    warm = np.array([chain.move(adapt=number) for number in range(WARM_UP)])[WARM_UP // 2 :]
    chain = _Chains(target, target.scale(warm.mean(axis=(0, 2))), warm[-1], rng)
    for number in range(WARM_UP):
        chain.move(adapt=number)
    kept = target.spreads.stop
    return np.array([chain.move()[:kept] for _ in range(DRAWS)]).transpose(1, 0, 2)


class _Chains:
    """Hamiltonian Monte Carlo of several chains with one step size."""

    def __init__(self, target: _Target, scale: Array, at: Array, rng: np.random.Generator) -> None:
        self.target, self.scale, self.at, self.rng = target, scale, at, rng
        self.log_step = np.log(0.3)
        self.gradient, logit = target.slopes(at)
        self.value = target.log_density(at, logit)

    def move(self, adapt: int | None = None) -> Array:
        """Move every chain once; `adapt` counts the moves of a warm-up.

        The length of the path is drawn, so that no period is repeated.
        """
        step = np.exp(self.log_step) * self.rng.uniform(0.8, 1.2)
        steps = int(np.ceil(self.rng.uniform(0.3, 1.7) * np.pi / 2 / step))
        momentum = self.rng.standard_normal(self.at.shape)
        at, gradient = self.at, self.gradient
        energy = self.value - 0.5 * (momentum**2).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # a path that runs away is rejected below
            push = 0.5 * step * (self.scale.T @ gradient)
            for _ in range(min(steps, 60)):
                momentum = momentum + push
                at = at + step * (self.scale @ momentum)
                gradient, logit = self.target.slopes(at)
                push = 0.5 * step * (self.scale.T @ gradient)
                momentum = momentum + push
            value = self.target.log_density(at, logit)
            gain = np.nan_to_num(value - 0.5 * (momentum**2).sum(axis=0) - energy, nan=-np.inf)
        chance = np.exp(np.minimum(gain, 0))
        taken = self.rng.random(len(chance)) < chance
        self.at, self.gradient = np.where(taken, at, self.at), np.where(taken, gradient, self.gradient)
        self.value = np.where(taken, value, self.value)
        if adapt is not None:
            self.log_step += (adapt + 1) ** -0.6 * (float(chance.mean()) - ACCEPTED)
        return self.at


def _compute_quantiles(values: Array, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _diagnose(values: Array) -> tuple[float, float]:
    """Compute split R-hat and the effective number of draws.

    values: draws × chains.
    """
    half = len(values) // 2
    chains = np.hstack([values[:half], values[half : 2 * half]]).T
    within = float(chains.var(axis=1, ddof=1).mean())
    total = within * (half - 1) / half + float(chains.mean(axis=1).var(ddof=1))
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), 2 * half, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :half].mean(axis=0) / half
    correlation = 1 - (within - covariance) / total
    correlation[0] = 1.0
    sums = correlation[: half // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = sums[: int(np.argmax(sums < 0)) if (sums < 0).any() else len(sums)]
    length = 2 * float(np.minimum.accumulate(positive).sum()) - 1
    return (total / within) ** 0.5, chains.size / max(length, 1 / np.log10(chains.size))
