"""The logistic GEE agrees with R's geepack and keeps its level.

It finds planted effects and refuses separated answers.
"""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from analysis.models.gee_logistic import gee_logistic
from analysis.models.trial_model import read_trials
from tests.analysis.trials import NAMES, crossed_trials, released_trials


def fit(rows, conditions=("a", "b"), **more):
    return gee_logistic(read_trials(rows, "answer", conditions=conditions), **more)


def test_it_works():
    model = fit(crossed_trials(np.random.default_rng(1), effect=1.5))
    contrast = model.contrast("a", "b")
    assert 0.5 < contrast.estimate < 3
    assert contrast.interval[0] < contrast.estimate < contrast.interval[1]
    assert contrast.p < 0.05
    assert model.joint_p == pytest.approx(contrast.p)
    assert (model.trials, model.participants, model.items, model.reason) == (400, 20, 20, "")


def test_the_released_study_against_geepack(tmp_path):
    """Estimates on the released study are those of R's geepack.

    R 4.2.2, geepack 1.3.9, on the 957 retained trials sorted by participant (`id`).

    geeglm(y ~ c, id = id, data = d, family = binomial, corstr = "exchangeable")
      ground truth    1.172744573   regularized 0.071362198   Select & Forget 0.018434374   alpha 0.0209149
    The bias-reduced covariance, which geepack lacks, is statsmodels'.
    """
    trials = read_trials(released_trials(tmp_path), "rated_correct", conditions=NAMES)
    model = gee_logistic(trials)
    contrasts = [model.contrast("Qi-2019", name) for name in NAMES[1:]]
    assert [c.estimate for c in contrasts] == pytest.approx([0.018434374, 0.071362198, 1.172744573], abs=5e-5)
    assert model.details["correlation within participants"] == pytest.approx(0.0209, abs=2e-4)
    exog = sm.add_constant(np.column_stack([trials.condition == i for i in (1, 2, 3)]).astype(float))
    independent = sm.Logit(trials.outcome, exog).fit(disp=0)
    assert all(c.standard_error > e for c, e in zip(contrasts, independent.bse[1:], strict=True))


def bias_reduced_by_hand(outcome, exog, groups, parameters, correlation):
    """Compute the corrected covariance cluster by cluster.

    Source: Mancl and DeRouen 2001, equation for the corrected covariance.
    """
    pieces = []
    for group in np.unique(groups):
        x, y = exog[groups == group], outcome[groups == group]
        mean = 1 / (1 + np.exp(-x @ parameters))
        spread = mean * (1 - mean)
        working = correlation + (1 - correlation) * np.eye(len(y))
        v = np.sqrt(spread)[:, None] * working * np.sqrt(spread)
        pieces.append((spread[:, None] * x, np.linalg.inv(v), y - mean))
    bread = np.linalg.inv(sum(d.T @ v @ d for d, v, _ in pieces))
    meat = np.zeros_like(bread)
    for d, v, residual in pieces:
        leverage = d @ bread @ d.T @ v
        score = d.T @ v @ np.linalg.solve(np.eye(len(residual)) - leverage, residual)
        meat = meat + np.outer(score, score)
    return bread @ meat @ bread


def test_the_covariance_is_that_of_mancl_and_derouen():
    rows = crossed_trials(np.random.default_rng(2), people=(9, 8), effect=0.5)
    rows = rows.drop(index=[3, 50, 51])  # clusters of unlike size
    trials = read_trials(rows, "answer", conditions=["a", "b"])
    model = gee_logistic(trials)
    exog = np.column_stack([np.ones(len(trials.outcome)), trials.condition])
    correlation = model.details["correlation within participants"]
    reference = sm.GEE(
        trials.outcome, exog, groups=trials.participant, family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    ).fit()  # fmt: skip
    by_hand = bias_reduced_by_hand(
        trials.outcome, exog, trials.participant, np.asarray(reference.params), correlation
    )
    assert model.contrasts[0].standard_error == pytest.approx(np.sqrt(by_hand[1, 1]), rel=1e-3)


@pytest.mark.parametrize("people", [8, 12])
def test_type_one_error(people):
    """150 studies without a difference, trials clustered in people and items."""
    rng, studies, rejected = np.random.default_rng(3), 150, 0
    for _ in range(studies):
        model = fit(crossed_trials(rng, people=(people, people), items=15))
        rejected += not model.reason and model.joint_p <= 0.05
    assert rejected <= stats.binom.ppf(0.99, studies, 0.05)


def test_ignoring_the_clusters_would_reject_far_too_often():
    rng, studies, naive = np.random.default_rng(4), 60, 0
    for _ in range(studies):
        rows = crossed_trials(rng, people=(8, 8), items=25, person_sd=1.0)
        exog = sm.add_constant((rows["condition"] == "b").to_numpy(float))
        naive += sm.Logit(rows["answer"].to_numpy(), exog).fit(disp=0).pvalues[1] <= 0.05
    assert naive > stats.binom.ppf(0.999, studies, 0.10)


def test_metamorphic():
    rows = crossed_trials(np.random.default_rng(5), effect=0.7)
    base = fit(rows)
    swapped = fit(rows, conditions=("b", "a"))
    assert swapped.contrasts[0].estimate == pytest.approx(-base.contrasts[0].estimate, abs=1e-5)
    assert swapped.joint_p == pytest.approx(base.joint_p, rel=1e-3)
    renamed = rows.assign(participant_id="x" + rows["participant_id"].str[::-1]).sample(
        frac=1, random_state=1
    )
    assert fit(renamed).contrasts[0].estimate == pytest.approx(base.contrasts[0].estimate, abs=1e-5)
    flipped = fit(rows.assign(answer=1 - rows["answer"]))
    assert flipped.contrasts[0].estimate == pytest.approx(-base.contrasts[0].estimate, abs=1e-5)
    assert fit(rows, position=True).position.p > 0


def test_refusals():
    rows = crossed_trials(np.random.default_rng(6))
    rows.loc[rows["condition"] == "b", "answer"] = 1.0
    model = fit(rows)
    assert model.contrasts == ()
    assert model.joint_p is None
    assert model.reason == "all answers in condition b are alike, so its odds are zero or infinite"
    assert "same outcome" in fit(rows.assign(answer=1.0)).reason
    assert "at least 8 are needed" in fit(crossed_trials(np.random.default_rng(6), people=(7, 9))).reason
    separated = rows.assign(answer=(rows["position"] > 10).astype(float))
    assert fit(separated, position=True).reason
    with pytest.raises(ValueError, match="outcome must be 0 or 1"):
        gee_logistic(read_trials(rows, "rating", conditions=["a", "b"]))
