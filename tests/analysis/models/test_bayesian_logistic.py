"""Bayesian logistic model: calibration under its priors, beside lme4, and why not statsmodels."""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

from analysis.models.bayesian_logistic import _Likelihood, bayes_logistic
from analysis.models.trial_model import design, read_trials
from tests.analysis.trials import NAMES, crossed_trials, released_trials


def fit(rows, conditions=("a", "b"), **more):
    return bayes_logistic(read_trials(rows, "answer", conditions=conditions), **more)


def test_it_works():
    model = fit(crossed_trials(np.random.default_rng(1), people=(20, 20), effect=1.5))
    found = model.contrasts[0]
    assert found.interval[0] < 1.5 < found.interval[1]
    assert found.interval[0] < found.mean < found.interval[1]
    assert 0.95 < found.above <= 1
    assert 0.3 < model.participant_sd < 1.2
    assert 0.5 < model.item_sd < 1.8


def test_calibration_under_the_priors():
    """Where truth is drawn from the priors, 90 % intervals hold it in 90 of 100 studies, exactly so."""
    rng, studies, covered = np.random.default_rng(2), 100, 0
    who, what = np.repeat(np.arange(12), 8), np.tile(np.arange(8), 12)
    for _ in range(studies):
        intercept, own = rng.normal(0, 2), rng.normal(0, np.sqrt(2), 2)
        effect = own[1] - own[0]
        sds = np.exp(rng.normal(0, 1, 2))
        logit = intercept + own[(who >= 6).astype(int)] + rng.normal(0, sds[0], 12)[who]
        logit = logit + rng.normal(0, sds[1], 8)[what]
        rows = pd.DataFrame({
            "participant_id": who, "item_id": what, "condition": np.where(who >= 6, "b", "a"),
            "answer": (rng.random(96) < 1 / (1 + np.exp(-logit))).astype(float),
        })  # fmt: skip
        model = fit(rows, level=0.9)
        if model.reason:
            assert "same outcome" in model.reason
            studies -= 1
            continue
        low, high = model.contrasts[0].interval
        covered += low <= effect <= high
    assert stats.binom.ppf(0.005, studies, 0.9) <= covered <= stats.binom.ppf(0.995, studies, 0.9)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return read_trials(
        released_trials(tmp_path_factory.mktemp("released")), "rated_correct", conditions=NAMES
    )


def test_the_released_study_beside_lme4(released):
    """The fit without priors: those here pull a little, and what is unknown of the spreads widens a little.

    R 4.2.2, lme4 1.1-31: glmer(rated_correct ~ c + (1 | p) + (1 | item), d, family = binomial)
      ground truth 1.448979078 (0.37540300), regularized 0.038546425 (0.33505775), Select & Forget
      0.014508329 (0.33668547); standard deviations participant 0.52072424, item 1.30959582
    """
    model = bayes_logistic(released)
    truth = {
        "Select & Forget": (0.0145, 0.3367),
        "regularized": (0.0385, 0.3351),
        "ground truth": (1.449, 0.3754),
    }
    for found in model.contrasts[:3]:
        estimate, error = truth[found.second]
        assert found.mean == pytest.approx(estimate, abs=error / 2)
        assert found.sd == pytest.approx(error, rel=0.1)
    assert model.participant_sd == pytest.approx(0.5207, rel=0.15)
    assert model.item_sd == pytest.approx(1.3096, rel=0.1)


def test_why_statsmodels_fits_are_not_used(released):
    """Its variational errors are about half of lme4's; its maximum has no variance of participants left."""
    exog = design(released, intercept=True, position=False)
    blocks = [np.eye(code.max() + 1)[code] for code in (released.participant, released.item)]
    kinds = np.repeat([0, 1], [block.shape[1] for block in blocks])
    model = BinomialBayesMixedGLM(released.outcome, exog, sparse.csr_matrix(np.hstack(blocks)), kinds)
    variational = model.fit_vb(rng=np.random.default_rng(1))
    assert (variational.fe_sd[1:] < 0.7 * np.array([0.3367, 0.3351, 0.3754])).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maximum = model.fit_map(rng=np.random.default_rng(1))
    assert np.exp(maximum.vcp_mean[0]) < 0.01


def test_the_eliminated_equations_are_the_full_ones():
    """Curvature's determinant and the effects' covariance against the dense matrix."""
    rows = crossed_trials(np.random.default_rng(3), people=(4, 5), items=6)
    trials = read_trials(rows, "answer", conditions=["a", "b"])
    log_sds = np.array([-0.3, 0.4])
    point = _Likelihood(trials, position=False).at(log_sds)
    conditions = np.eye(2)[trials.condition]
    full = np.hstack([np.eye(9)[trials.participant], np.ones((54, 1)), conditions, np.eye(6)[trials.item]])
    precision = np.repeat([np.exp(0.6), 0.25, 0.5, np.exp(-0.8)], [9, 1, 2, 6])
    chance = 1 / (1 + np.exp(-full @ point.state))
    assert full.T @ (trials.outcome - chance) - precision * point.state == pytest.approx(0, abs=1e-4)
    curvature = full.T @ ((chance * (1 - chance))[:, None] * full) + np.diag(precision)
    assert point.covariance == pytest.approx(np.linalg.inv(curvature)[9:12, 9:12])
    likelihood = np.log(np.where(trials.outcome == 1, chance, 1 - chance)).sum()
    expected = likelihood - 0.5 * (precision * point.state**2).sum() + 0.5 * np.log(precision).sum()
    expected += -0.5 * np.linalg.slogdet(curvature)[1] - 0.5 * (log_sds**2).sum()
    assert point.log_density == pytest.approx(expected)


def test_metamorphic():
    rows = crossed_trials(np.random.default_rng(4), people=(6, 6), items=8, effect=0.7)
    base, swapped = fit(rows).contrasts[0], fit(rows, conditions=("b", "a")).contrasts[0]
    assert swapped.mean == pytest.approx(-base.mean, abs=1e-3)
    flipped = fit(rows.assign(answer=1 - rows["answer"])).contrasts[0]
    assert flipped.mean == pytest.approx(-base.mean, abs=1e-3)
    assert flipped.above == pytest.approx(1 - base.above, abs=1e-3)
    renamed = rows.assign(participant_id="x" + rows["participant_id"].str[::-1]).sample(
        frac=1, random_state=1
    )
    assert fit(renamed).contrasts[0].interval == pytest.approx(base.interval, abs=1e-3)


def test_separated_answers_get_a_finite_interval():
    rows = crossed_trials(np.random.default_rng(5))
    rows.loc[rows["condition"] == "b", "answer"] = 1.0
    found = fit(rows).contrasts[0]
    assert found.above > 0.99
    assert np.isfinite(found.interval).all()


def test_refusals():
    rows = crossed_trials(np.random.default_rng(6), people=(1, 5))
    model = fit(rows)
    assert model.contrasts == ()
    assert "at least 2 are needed" in model.reason
    assert "same outcome" in fit(crossed_trials(np.random.default_rng(6)).assign(answer=0.0)).reason
    with pytest.raises(ValueError, match="outcome must be 0 or 1"):
        bayes_logistic(read_trials(rows, "rating", conditions=["a", "b"]))
