"""The Bayesian logistic model agrees with NUTS and is calibrated.

Calibration is that under its priors. A test shows why the fits of statsmodels are not used.
"""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

from analysis.models import bayesian_logistic
from analysis.models.bayesian_logistic import _diagnose, _Target, bayes_logistic
from analysis.models.trial_model import build_design_matrix, read_trials
from scripts.sites.processes import ROOT
from tests.analysis.trials import NAMES, crossed_trials, released_trials

REFERENCE = json.loads((Path(__file__).parent / "reference" / "nuts.json").read_text("utf-8"))


def fit(rows, conditions=("a", "b"), seed=1, **more):
    rng = np.random.default_rng(seed)
    return bayes_logistic(read_trials(rows, "answer", conditions=conditions), rng=rng, **more)


@pytest.fixture
def few_draws(monkeypatch):
    """Enough for a rough interval."""
    for name, value in {
        "WARM_UP": 60,
        "DRAWS": 200,
        "FEWEST_EFFECTIVE": 50,
        "MOST_R_HAT": 1.2,
        "MOST_R_HAT_OF_SPREADS": 2.0,
    }.items():
        monkeypatch.setattr(bayesian_logistic, name, value)


def test_it_works():
    rows = crossed_trials(np.random.default_rng(1), people=(20, 20), effect=1.5)
    model = fit(rows, rope=(-0.2, 0.2))
    [contrast] = model.contrasts
    spreads = dict(model.spreads)
    assert contrast.interval[0] < 1.5 < contrast.interval[1]
    assert contrast.interval[0] < contrast.mean < contrast.interval[1]
    assert 0.95 < contrast.above <= 1
    assert contrast.inside < 0.05
    assert contrast.under_priors[0] < contrast.mean < contrast.under_priors[1]
    assert 0.3 < spreads["participant"] < 1.2
    assert 0.5 < spreads["item"] < 1.8
    assert model.r_hat < 1.01
    assert contrast.error < contrast.sd / 20


def test_calibration_under_the_priors(few_draws):
    """90 % intervals hold a truth drawn from the priors in 90 % of studies.

    Under the priors this is exact.
    """
    rng, studies, covered = np.random.default_rng(2), 24, 0
    participant, item = np.repeat(np.arange(12), 8), np.tile(np.arange(8), 12)
    condition = (participant >= 6).astype(int)
    for _ in range(studies):
        intercept, effects = rng.normal(0, 2), rng.normal(0, np.sqrt(2), 2)
        sds = np.exp(rng.normal(0, 1, 3))
        logit = (
            intercept
            + effects[condition]
            + rng.normal(0, sds[0], 12)[participant]
            + rng.normal(0, sds[1], 8)[item]
        )
        logit = logit + rng.normal(0, sds[2], (8, 2))[item, condition]
        rows = pd.DataFrame({
            "participant_id": participant, "item_id": item, "condition": np.where(condition, "b", "a"),
            "answer": (rng.random(96) < 1 / (1 + np.exp(-logit))).astype(float),
        })  # fmt: skip
        model = fit(rows, level=0.9)
        if model.reason:
            studies -= 1
            continue
        low, high = model.contrasts[0].interval
        covered += low <= effects[1] - effects[0] <= high
    assert studies >= 18
    assert stats.binom.ppf(0.005, studies, 0.9) <= covered


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return read_trials(
        released_trials(tmp_path_factory.mktemp("released")), "rated_correct", conditions=NAMES
    )


@pytest.mark.parametrize("item_by_condition", [False, True])
def test_the_released_study_beside_nuts(released, item_by_condition):
    """The posterior of the released study is that of NUTS.

    `reference/nuts.py.txt` made the figures: the same model and priors, sampled by numpyro.
    """
    expected = REFERENCE["items within conditions" if item_by_condition else "plain"]
    rng = np.random.default_rng(1)
    model = bayes_logistic(released, rng=rng, item_by_condition=item_by_condition)
    truth = model.contrasts[2]
    assert truth.mean == pytest.approx(expected["ground truth"]["mean"], rel=0.02)
    for contrast in model.contrasts[:3]:
        figures = expected[contrast.second]
        assert contrast.mean == pytest.approx(figures["mean"], abs=4 * contrast.error)
        assert contrast.sd == pytest.approx(figures["sd"], rel=0.08)
        assert contrast.interval == pytest.approx((figures["low"], figures["high"]), abs=0.2 * figures["sd"])
        assert contrast.above == pytest.approx(figures["above"], abs=0.04)
    assert [sd for _, sd in model.spreads] == pytest.approx(expected["sds"], rel=0.1)


def test_why_statsmodels_fits_are_not_used(released):
    """The fits of statsmodels understate the variance.

    The variational errors are about half of lme4's; the maximum has no variance of participants left.
    """
    exog = build_design_matrix(released, intercept=True, position=False)
    blocks = [np.eye(code.max() + 1)[code] for code in (released.participant, released.item)]
    kinds = np.repeat([0, 1], [block.shape[1] for block in blocks])
    model = BinomialBayesMixedGLM(released.outcome, exog, sparse.csr_matrix(np.hstack(blocks)), kinds)
    variational = model.fit_vb(rng=np.random.default_rng(1))
    assert (variational.fe_sd[1:] < 0.7 * np.array([0.3367, 0.3351, 0.3754])).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maximum = model.fit_map(rng=np.random.default_rng(1))
    assert np.exp(maximum.vcp_mean[0]) < 0.01


def test_the_gradient_is_that_of_the_density():
    rng = np.random.default_rng(3)
    trials = read_trials(crossed_trials(rng, people=(4, 5), items=6), "answer", conditions=["a", "b"])
    target = _Target(trials, [trials.participant, trials.item], position=True)
    at = rng.normal(0, 0.5, (target.size, 2))

    def value(here):
        return target.log_density(here, target.slopes(here)[1])

    moves = 1e-5 * np.eye(target.size)[:, :, None]
    slopes = [(value(at + move) - value(at - move)) / 2e-5 for move in moves]
    assert target.slopes(at)[0] == pytest.approx(np.array(slopes), abs=1e-5)


def test_diagnostics_of_chains_with_known_answers():
    rng = np.random.default_rng(4)
    r_hat, effective = _diagnose(rng.standard_normal((2000, 4)))
    assert r_hat == pytest.approx(1, abs=0.005)
    assert effective == pytest.approx(8000, rel=0.1)
    slow = np.zeros((4000, 4))
    for row in range(
        1, 4000
    ):  # each draw remembers 0.8 of the last: (1 - 0.8) / (1 + 0.8) of the draws count
        slow[row] = 0.8 * slow[row - 1] + rng.standard_normal(4)
    assert _diagnose(slow)[1] == pytest.approx(16000 / 9, rel=0.2)
    assert _diagnose(rng.normal([0, 0, 0, 2], 1, (500, 4)))[0] > 1.2


def test_another_prior_is_as_a_fit_with_it(monkeypatch):
    rows = crossed_trials(np.random.default_rng(5), people=(6, 6), items=8, effect=1.5)
    contrast = fit(rows).contrasts[0]
    monkeypatch.setattr(bayesian_logistic, "EFFECT_SD", 1.0)
    again = fit(rows, seed=2).contrasts[0]
    assert contrast.under_priors[0] == pytest.approx(again.mean, abs=5 * again.error)


def test_metamorphic():
    rows = crossed_trials(np.random.default_rng(4), people=(6, 6), items=8, effect=0.7)
    base, swapped = fit(rows).contrasts[0], fit(rows, conditions=("b", "a")).contrasts[0]
    near = 5 * base.error
    assert swapped.mean == pytest.approx(-base.mean, abs=near)
    flipped = fit(rows.assign(answer=1 - rows["answer"])).contrasts[0]
    assert flipped.mean == pytest.approx(-base.mean, abs=near)
    assert flipped.above == pytest.approx(1 - base.above, abs=0.04)
    assert fit(rows).contrasts[0] == base


def test_separated_answers_get_a_finite_interval_that_leans_on_the_prior():
    rows = crossed_trials(np.random.default_rng(5))
    rows.loc[rows["condition"] == "b", "answer"] = 1.0
    contrast = fit(rows).contrasts[0]
    assert contrast.above > 0.99
    assert np.isfinite(contrast.interval).all()
    assert contrast.under_priors[1] - contrast.under_priors[0] > 1


def test_refusals(monkeypatch):
    rows = crossed_trials(np.random.default_rng(6), people=(1, 5))
    model = fit(rows)
    assert model.contrasts == ()
    assert "at least 2 are needed" in model.reason
    assert "same outcome" in fit(crossed_trials(np.random.default_rng(6)).assign(answer=0.0)).reason
    with pytest.raises(ValueError, match="outcome must be 0 or 1"):
        bayes_logistic(read_trials(rows, "rating", conditions=["a", "b"]), rng=np.random.default_rng(1))
    monkeypatch.setattr(bayesian_logistic, "DRAWS", 20)
    assert "the chains do not agree" in fit(crossed_trials(np.random.default_rng(6))).reason


SCALES = """
import numpy as np
from analysis.models.bayesian_logistic import _Target
from analysis.models.trial_model import Trials
for people in (7, 8, 9, 10):
    person, item = np.repeat(np.arange(people), 4), np.tile(np.arange(4), people)
    trials = Trials((person + item) % 3 > 0, person, item, person % 2, None, ("a", "b"))
    target = _Target(trials, [person, item, 2 * item + person % 2], position=False)
    print(target.scale(np.linspace(-1, 1, target.size)).tobytes().hex())
"""


def test_the_number_of_threads_leaves_the_bits_alone():
    with_one_thread, with_two_threads = (
        subprocess.run(
            [sys.executable, "-c", SCALES], env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout
        for threads in "12"
    )  # fmt: skip
    assert with_one_thread == with_two_threads
