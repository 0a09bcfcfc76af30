"""Strengths from paired comparisons, with ties.

Bradley and Terry's model says how likely each of two alternatives wins: by its share in the sum of their
strengths. Davidson's adds ties, whose chance grows with the geometric mean of the two strengths. Without a
tie both are the same.

References:
    1. Ford (1957). Solution of a ranking problem from binary comparisons: when the estimate exists.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import check_count, check_level, read_values
from .arrays import Array
from .bootstrap import percentile_interval, widen_level

MOST_STEPS = 100
LARGEST_STEP = 2.0  # of a logarithm at once
LARGEST_LOG = 12.0  # of a strength: beyond odds of 100,000, more comparisons than people make
MOST_HALVINGS = 40  # of a step
ROUNDING = 1e-14  # of a log likelihood
CLOSE_ENOUGH = 1e-10
AT_ONCE = 500  # replicates
NO_ESTIMATE = "the answers put no bound on some strengths"
NO_DECISION = "every comparison is a tie"


@dataclass(frozen=True)
class Strengths:
    """Strengths of alternatives.

    Attributes:
        logs: Natural logarithms of the strengths, their mean 0: one per alternative. NaN without an estimate.
        ties: Davidson's ν: a tie between equals has the chance ν / (2 + ν). 0 without ties.
        intervals: Of each log strength; None if too many replicates have no estimate.
        reason: Why there is no estimate; empty otherwise.
        replicates: Log strengths, replicates × alternatives.
    """

    logs: Array
    ties: float
    intervals: tuple[tuple[float, float] | None, ...]
    reason: str
    replicates: Array


def fit_strengths(
    wins: ArrayLike, ties: ArrayLike, *, rng: np.random.Generator, resamples: int = 0, level: float = 0.95
) -> Strengths:
    """Estimate strengths by maximum likelihood, resampling participants.

    The model is that of Bradley and Terry [1], with Davidson's ties [2].

    Args:
        wins: participants × k × k; how often the participant preferred the first (row) to the second.
        ties: participants × k × k, symmetric; how often they called the two alike.
        rng: Source of random numbers.
        resamples: Bootstrap replicates of participants; 0 gives no intervals.
        level: Of the percentile intervals, which are widened for few participants.

    Returns:
        Log strengths with their intervals; NaN, with the reason, where the answers put no bound on them.

    Raises:
        ValueError: The counts have other shapes, are negative or NaN, or compare an alternative with itself,
            the ties are not symmetric, or `resamples` or `level` is out of range.

    References:
        1. Bradley and Terry (1952). Rank analysis of incomplete block designs. Biometrika 39.
        2. Davidson (1970). On extending the Bradley-Terry model to accommodate ties in paired comparison
           experiments. Journal of the American Statistical Association 65: the likelihood, its section 2.

    Examples:
        >>> wins = [[[0, 3], [1, 0]]]
        >>> found = fit_strengths(wins, np.zeros((1, 2, 2)), rng=np.random.default_rng(1))
        >>> round(float(np.exp(found.logs[0] - found.logs[1])), 6)
        3.0
    """
    w, t = _strengths_iv(wins, ties)
    check_count(resamples, 0, "resamples")
    check_level(level)
    total_wins, total_ties = w.sum(axis=0, keepdims=True), t.sum(axis=0, keepdims=True)
    logs, nu = _maximise(total_wins, total_ties)
    people = len(w)
    drawn = []
    for start in range(0, resamples, AT_ONCE):
        counts = rng.multinomial(people, np.full(people, 1 / people), min(AT_ONCE, resamples - start))
        drawn.append(_maximise(*(np.tensordot(counts.astype(float), tally, axes=1) for tally in (w, t)))[0])
    replicates = np.concatenate(drawn) if drawn else np.empty((0, w.shape[1]))
    wide = widen_level(level, people) if people > 1 else level
    has_interval = people > 1 and not np.isnan(logs).any()
    intervals = [percentile_interval(own, wide) if has_interval else None for own in replicates.T]
    reason = ""
    if np.isnan(logs).any():
        reason = NO_ESTIMATE if total_wins.any() else NO_DECISION
    return Strengths(logs[0], float(nu[0]), tuple(intervals), reason, replicates)


def _strengths_iv(wins: ArrayLike, ties: ArrayLike) -> tuple[Array, Array]:
    axes = ("participant", "alternative", "alternative")
    w, t = read_values(wins, "wins", *axes), read_values(ties, "ties", *axes)
    if w.shape != t.shape or w.shape[1] != w.shape[2] or w.shape[0] < 1 or w.shape[1] < 2:
        raise ValueError(
            "wins and ties must both be participants × alternatives × alternatives, at least one participant "
            f"and two alternatives, not {w.shape} and {t.shape}"
        )
    for name, counts in (("wins", w), ("ties", t)):
        if not (counts >= 0).all():
            raise ValueError(f"{name} must not be negative or NaN, as {counts[~(counts >= 0)][0]} is")
    if (t != t.transpose(0, 2, 1)).any():
        raise ValueError("ties must be symmetric")
    if np.diagonal(w + t, axis1=1, axis2=2).any():
        raise ValueError("wins and ties must be 0 where an alternative meets itself")
    return w, t


def _maximise(wins: Array, ties: Array) -> tuple[Array, Array]:
    """Maximise the likelihood of each set of counts by Newton's method.

    In the logarithms of strengths and ν it is concave: linear terms minus logarithms of sums of exponentials.

    Args:
        wins: sets × k × k.
        ties: The same, symmetric.

    Returns:
        Log strengths, sets × k, and ν of each set; NaN where there is no estimate.
    """
    sets, k = wins.shape[:2]
    logs, nu = np.full((sets, k), np.nan), np.full(sets, np.nan)
    given = _has_estimate(wins, ties)
    if not given.any():
        return logs, nu
    first, second = np.triu_indices(k, 1)
    w, t = wins[given], ties[given]
    # Outcomes, sets, pairs.
    counts = np.stack([w[:, first, second], w[:, second, first], t[:, first, second]])
    has_ties = counts[2].any(axis=1)
    design, at = _build_design(k), np.zeros((len(w), k + 1))
    unbounded = np.zeros(len(w), dtype=bool)
    for _ in range(MOST_STEPS):
        step = _compute_newton_step(at, counts, design, has_ties)
        longest = np.abs(step).max(axis=1, keepdims=True)
        if longest[~unbounded].max(initial=0.0) < CLOSE_ENOUGH:
            break
        step *= np.minimum(1.0, LARGEST_STEP / np.maximum(longest, LARGEST_STEP))
        at += _shorten_steps(step, at, counts, design, has_ties)
        unbounded |= np.abs(at).max(axis=1) > LARGEST_LOG
        at[unbounded] = 0.0
    at[unbounded | (longest[:, 0] > CLOSE_ENOUGH)] = np.nan
    logs[given] = at[:, :k] - at[:, :k].mean(axis=1, keepdims=True)
    nu[given] = np.where(has_ties, np.exp(at[:, k]), 0.0)
    return logs, nu


def _build_design(k: int) -> Array:
    """Return what adds up to the logarithm of each outcome's weight.

    Outcomes (first wins, second wins, tie) by pairs by parameters: k log strengths, and the logarithm of ν.
    """
    first, second = np.triu_indices(k, 1)
    rows = np.arange(len(first))
    design = np.zeros((3, len(first), k + 1))
    design[0, rows, first] = design[1, rows, second] = 1.0
    design[2, rows, first] = design[2, rows, second] = 0.5
    design[2, :, k] = 1.0
    return design


def _compute_newton_step(at: Array, counts: Array, design: Array, has_ties: NDArray[np.bool_]) -> Array:
    """Return the step to the top of the quadratic approximation.

    Sets by parameters, as `at`.
    """
    k = at.shape[1] - 1
    chances, played = np.exp(_log_chances(at, design, has_ties)), counts.sum(axis=0)
    gradient = np.einsum("osp,opc->sc", counts - chances * played, design)
    mean = np.einsum("osp,opc->spc", chances, design)
    square = np.einsum("osp,opc,opd->spcd", chances, design, design)
    information = np.einsum("sp,spcd->scd", played, square - mean[..., None] * mean[..., None, :])
    # Strengths are known up to a factor, and the parameter of ties not at all without one. Steps in these two
    # directions are 0 because the gradient is.
    information[:, :k, :k] += 1.0
    information[~has_ties, k, k] += 1.0
    return np.asarray(np.linalg.solve(information, gradient[..., None])[..., 0])


def _shorten_steps(
    step: Array, at: Array, counts: Array, design: Array, has_ties: NDArray[np.bool_]
) -> Array:
    """Halve the steps until the likelihood falls in no set.

    Whole Newton steps overshoot if one outcome is rare.
    """
    before = _log_likelihood(at, counts, design, has_ties)
    size = np.ones((len(at), 1))
    for _ in range(MOST_HALVINGS):
        falls = _log_likelihood(at + size * step, counts, design, has_ties) < before - ROUNDING * np.abs(
            before
        )
        if not falls.any():
            break
        size[falls] /= 2
    return size * step


def _log_likelihood(at: Array, counts: Array, design: Array, has_ties: NDArray[np.bool_]) -> Array:
    """Compute the log likelihood of each set."""
    logs = _log_chances(at, design, has_ties)
    return np.asarray((counts * np.where(counts > 0, logs, 0.0)).sum(axis=(0, 2)))


def _log_chances(at: Array, design: Array, has_ties: NDArray[np.bool_]) -> Array:
    """Compute the logarithms of the outcomes' chances: outcomes, sets, pairs."""
    logs = np.einsum("opc,sc->osp", design, at)
    logs[2, ~has_ties] = -np.inf
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=0))


def _has_estimate(wins: Array, ties: Array) -> NDArray[np.bool_]:
    """Test that everybody can be reached from everybody by wins and ties.

    Else some strengths grow without bound. Ties alone do not bound ν. With both, the two may still grow
    together, which is seen on the way.
    """
    k = wins.shape[1]
    reach = (wins + ties > 0) | np.eye(k, dtype=bool)
    for _ in range(k.bit_length()):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    return np.asarray(reach.all(axis=(1, 2)) & (wins > 0).any(axis=(1, 2)))
