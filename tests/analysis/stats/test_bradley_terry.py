"""Strengths from paired comparisons agree with choix.

They also agree with cases by hand and with scipy's maximum of Davidson's likelihood.
"""

import choix
import numpy as np
import pytest
from scipy.optimize import minimize

from analysis.stats.bradley_terry import NO_DECISION, NO_ESTIMATE, fit_strengths

RNG = np.random.default_rng(7)
NO_TIES = np.zeros((1, 2, 2))


def random_counts(seed, k=4, people=30, ties=True):
    """Return wins and ties of participants who compare each pair five times."""
    rng = np.random.default_rng(seed)
    strengths, nu = np.exp(rng.normal(0, 0.7, k)), 0.8 if ties else 0.0
    wins, drawn = np.zeros((people, k, k)), np.zeros((people, k, k))
    for i in range(k):
        for j in range(i):
            weights = np.array([strengths[i], strengths[j], nu * np.sqrt(strengths[i] * strengths[j])])
            counts = rng.multinomial(5, weights / weights.sum(), people)
            wins[:, i, j], wins[:, j, i] = counts[:, 0], counts[:, 1]
            drawn[:, i, j] = drawn[:, j, i] = counts[:, 2]
    return wins, drawn


def log_likelihood(logs, log_nu, wins, ties):
    """Return the log likelihood of Davidson (1970), section 2.

    It is written out for the three outcomes of each pair.
    """
    total = 0.0
    for i in range(len(logs)):
        for j in range(i):
            a, b, alike = np.exp(logs[i]), np.exp(logs[j]), np.exp(log_nu + (logs[i] + logs[j]) / 2)
            for count, weight in ((wins[i, j], a), (wins[j, i], b), (ties[i, j], alike)):
                total += count * np.log(weight / (a + b + alike))
    return total


def test_two_alternatives_by_hand():
    """Two strengths have the ratio of their wins (Bradley and Terry 1952)."""
    strengths = fit_strengths([[[0, 3], [1, 0]]], NO_TIES, rng=RNG)
    assert strengths.logs == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    assert (strengths.ties, strengths.reason) == (0.0, "")


def test_two_alternatives_with_ties_by_hand():
    """Davidson's model (1970) fits two alternatives with ties exactly.

    4 wins, 1 loss and 3 ties give π₁/π₂ = 4 and ν = 3 / √(4 · 1).
    """
    strengths = fit_strengths([[[0, 4], [1, 0]]], [[[0, 3], [3, 0]]], rng=RNG)
    assert strengths.logs[0] - strengths.logs[1] == pytest.approx(np.log(4))
    assert strengths.ties == pytest.approx(3 / 2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choix_finds_the_same_without_ties(seed):
    wins, ties = random_counts(seed, k=5, ties=False)
    pairs = [
        (i, j) for i, j in np.ndindex(5, 5) for _ in range(int(wins.sum(axis=0)[i, j]))
    ]  # the first beat the second
    reference = choix.ilsr_pairwise(5, pairs, max_iter=1000, tol=1e-12)
    strengths = fit_strengths(wins, ties, rng=RNG)
    assert strengths.logs == pytest.approx(reference - reference.mean(), abs=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_optimiser_finds_the_same_with_ties(seed):
    wins, ties = random_counts(seed)
    strengths = fit_strengths(wins, ties, rng=RNG)
    total = wins.sum(axis=0), ties.sum(axis=0)
    reference = minimize(
        lambda at: -log_likelihood(np.append(at[:3], -at[:3].sum()), at[3], *total),
        np.zeros(4),
        method="BFGS",
        options={"gtol": 1e-7},
    ).x
    assert strengths.logs[:3] == pytest.approx(reference[:3], abs=1e-5)
    assert strengths.ties == pytest.approx(np.exp(reference[3]), abs=1e-5)


def test_rare_outcomes_do_not_overshoot():
    """The likelihood is flat at the estimate, whatever the counts.

    The counts are 400 odd tables of three alternatives.
    """
    rng, fits = np.random.default_rng(5), 0
    for _ in range(400):
        wins = rng.poisson(rng.choice([0.3, 3, 60], (1, 3, 3))) * (1 - np.eye(3))
        ties = np.triu(rng.poisson(rng.choice([0, 0.3, 40], (1, 3, 3))), 1)
        ties = ties + ties.transpose(0, 2, 1)
        strengths = fit_strengths(wins, ties, rng=rng)
        if strengths.reason or not ties.any():
            continue
        fits += 1
        at = np.append(strengths.logs, np.log(strengths.ties))
        best = log_likelihood(at[:3], at[3], wins[0], ties[0])
        for moved in np.concatenate([np.eye(4), -np.eye(4)]) * 1e-3:
            assert log_likelihood((at + moved)[:3], (at + moved)[3], wins[0], ties[0]) < best + 1e-9
    assert fits > 100


def test_names_do_not_matter():
    wins, ties = random_counts(4)
    order = [2, 0, 3, 1]
    swapped = fit_strengths(wins[:, order][:, :, order], ties[:, order][:, :, order], rng=RNG)
    assert swapped.logs == pytest.approx(fit_strengths(wins, ties, rng=RNG).logs[order])


def test_ties_as_half_wins_keep_the_order_of_two():
    """Davidson (1970): the order is that of wins plus half the ties."""
    strengths = fit_strengths([[[0, 2], [1, 0]]], [[[0, 90], [90, 0]]], rng=RNG)
    assert strengths.logs[0] > strengths.logs[1]


def test_strengths_without_a_bound():
    never_lost = fit_strengths([[[0, 3], [0, 0]]], NO_TIES, rng=RNG, resamples=20)
    assert np.isnan(never_lost.logs).all()
    assert (never_lost.reason, never_lost.intervals) == (NO_ESTIMATE, (None, None))
    tied = fit_strengths(NO_TIES, [[[0, 3], [3, 0]]], rng=RNG)
    assert tied.reason == NO_DECISION
    # One beat two, and both tied with three: the strengths and the share of ties grow together.
    together = fit_strengths(
        [[[0, 3, 0], [0, 0, 0], [0, 0, 0]]], [[[0, 0, 2], [0, 0, 2], [2, 2, 0]]], rng=RNG
    )
    assert together.reason == NO_ESTIMATE
    apart = np.zeros((1, 4, 4))
    apart[0, [0, 1, 2, 3], [1, 0, 3, 2]] = 5
    assert fit_strengths(apart, np.zeros((1, 4, 4)), rng=RNG).reason == NO_ESTIMATE


def test_intervals_cover_as_often_as_they_say():
    """Intervals hold the truth in 95 % of 200 studies of 25 participants.

    The bound is 3 standard errors lower.
    """
    logs, inside = np.array([0.5, 0.0, -0.5]), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        wins, ties = np.zeros((25, 3, 3)), np.zeros((25, 3, 3))
        person_logs = logs + rng.normal(0, 0.5, (25, 3))  # participants differ
        for i, j in ((0, 1), (0, 2), (1, 2)):
            weights = np.stack(
                [
                    np.exp(person_logs[:, i]),
                    np.exp(person_logs[:, j]),
                    0.5 * np.exp((person_logs[:, i] + person_logs[:, j]) / 2),
                ],
                axis=1,
            )
            counts = rng.multinomial(4, weights / weights.sum(axis=1, keepdims=True))
            wins[:, i, j], wins[:, j, i] = counts[:, 0], counts[:, 1]
            ties[:, i, j] = ties[:, j, i] = counts[:, 2]
        low, high = fit_strengths(wins, ties, rng=rng, resamples=200).intervals[1]
        inside += low <= 0 <= high
    assert inside / 200 > 0.95 - 3 * 0.0154


@pytest.mark.parametrize(
    ("wins", "ties", "problem"),
    [
        (np.zeros((2, 2)), np.zeros((2, 2)), "must be participants × alternatives × alternatives"),
        (-np.ones((1, 2, 2)), np.zeros((1, 2, 2)), "negative"),
        (np.ones((1, 2, 2)), [[[0, 1], [0, 0]]], "symmetric"),
    ],
)
def test_impossible_counts_are_refused(wins, ties, problem):
    with pytest.raises(ValueError, match=problem):
        fit_strengths(wins, ties, rng=RNG)
