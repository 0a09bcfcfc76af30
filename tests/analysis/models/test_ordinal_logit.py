"""The cumulative logit with clusters agrees with R and keeps its level.

The naive p of the released study takes trials as independent. The model refuses separated answers.
"""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.miscmodels.ordinal_model import OrderedModel

from analysis.models.ordinal_logit import ordinal_logit
from analysis.models.trial_model import read_trials
from tests.analysis.trials import NAMES, crossed_trials, released_trials


def fit(rows, conditions=("a", "b"), **more):
    return ordinal_logit(read_trials(rows, "rating", conditions=conditions), **more)


def test_it_works():
    model = fit(crossed_trials(np.random.default_rng(1), effect=1.5))
    contrast = model.contrast("a", "b")
    assert 0.4 < contrast.estimate < 3
    assert contrast.interval[0] < contrast.estimate < contrast.interval[1]
    assert contrast.p < 0.05
    assert model.details["points of the scale in use"] == 5


def test_the_released_study_against_r(tmp_path):
    """Estimates on the released study are those of R's ordinal.

    R 4.2.2, ordinal 2022.11-16, helpfulness `h` over the 957 retained trials.

    clm(h ~ c): ground truth 0.531782371 (0.17334033), regularized 0.406764367 (0.17244213),
    Select & Forget -0.033820388 (0.16933527); the errors in brackets take trials as independent.
    """
    model = ordinal_logit(read_trials(released_trials(tmp_path), "helpfulness", conditions=NAMES))
    contrasts = [model.contrast("Qi-2019", name) for name in NAMES[1:]]
    assert [c.estimate for c in contrasts] == pytest.approx(
        [-0.033820388, 0.406764367, 0.531782371], abs=1e-4
    )
    naive = np.array([0.16933527, 0.17244213, 0.17334033])
    errors = np.array([c.standard_error for c in contrasts])
    assert (errors > 2 * naive).all()
    assert ((errors / naive) ** 2).max() == pytest.approx(
        model.details["largest inflation of a variance by clustering"], rel=1e-3
    )


def test_the_naive_p_becomes_what_the_participants_support(tmp_path):
    """Clustering raises p of regularized against Qi-2019 from .019 to .36.

    The outcome is helpfulness of the three systems; the naive p is over trials.
    """
    trials = read_trials(released_trials(tmp_path), "helpfulness", conditions=NAMES[:3])
    exog = np.column_stack([trials.condition == 1, trials.condition == 2]).astype(float)
    naive = OrderedModel(trials.outcome.astype(int), exog, distr="logit").fit(method="bfgs", disp=0)
    assert round(float(naive.pvalues[1]), 3) == 0.019
    contrast = ordinal_logit(trials).contrast("Qi-2019", "regularized")
    assert contrast.estimate == pytest.approx(float(naive.params[1]), abs=1e-4)
    assert contrast.p == pytest.approx(0.36, abs=0.005)  # t with 27 degrees of freedom


def test_of_two_points_it_is_a_logistic_model():
    """With two points the model is statsmodels' GEE.

    It has an independence working correlation and its bias-reduced covariance.
    """
    rows = crossed_trials(np.random.default_rng(2))
    trials = read_trials(rows.assign(rating=1.0 + (rows["rating"] > 3)), "rating", conditions=("a", "b"))
    exog = sm.add_constant((trials.condition == 1).astype(float))
    order = np.argsort(trials.participant, kind="stable")
    reference = sm.GEE(
        trials.outcome[order] - 1, exog[order], groups=trials.participant[order],
        family=sm.families.Binomial(), cov_struct=sm.cov_struct.Independence(),
    ).fit(cov_type="bias_reduced", ctol=1e-10)  # fmt: skip
    contrast = ordinal_logit(trials).contrast("a", "b")
    assert contrast.estimate == pytest.approx(reference.params[1], rel=1e-6)
    assert contrast.standard_error == pytest.approx(reference.bse[1], rel=1e-6)


def test_type_one_error():
    """100 studies without a difference, trials clustered in people and items."""
    rng, studies, rejected = np.random.default_rng(3), 100, 0
    for _ in range(studies):
        model = fit(crossed_trials(rng, people=(12, 12), items=12))
        rejected += not model.reason and model.joint_p <= 0.05
    assert rejected <= stats.binom.ppf(0.99, studies, 0.06)


def test_metamorphic():
    rows = crossed_trials(np.random.default_rng(4), effect=0.7)
    base = fit(rows)
    assert fit(rows, conditions=("b", "a")).contrasts[0].estimate == pytest.approx(
        -base.contrasts[0].estimate, abs=1e-4
    )
    turned = fit(rows.assign(rating=6 - rows["rating"]))
    assert turned.contrasts[0].estimate == pytest.approx(-base.contrasts[0].estimate, abs=1e-4)
    assert turned.contrasts[0].p == pytest.approx(base.contrasts[0].p, rel=1e-2)
    other_numbers = fit(rows.assign(rating=10 * rows["rating"] ** 2))
    assert other_numbers.contrasts[0].estimate == pytest.approx(base.contrasts[0].estimate, abs=1e-6)
    renamed = rows.assign(participant_id="x" + rows["participant_id"].str[::-1]).sample(
        frac=1, random_state=1
    )
    assert fit(renamed).contrasts[0].p == pytest.approx(base.contrasts[0].p, rel=1e-2)


def test_refusals():
    rows = crossed_trials(np.random.default_rng(6))
    top = rows.assign(rating=np.where(rows["condition"] == "b", 5.0, rows["rating"]))
    assert fit(top).reason == (
        "all ratings in condition b are the same end of the scale, so its odds are infinite"
    )
    apart = rows.assign(rating=np.where(rows["condition"] == "b", 4.0, 1.0) + (rows["position"] % 2))
    model = fit(apart)
    assert (model.contrasts, model.joint_p) == ((), None)
    assert "infinite" in model.reason
    confounded = rows.assign(position=np.where(rows["condition"] == "b", 1.0, 0.0))
    assert fit(confounded, position=True).reason == "the likelihood has no single maximum"
    assert "same outcome" in fit(rows.assign(rating=3.0)).reason
    assert "at least 8" in fit(crossed_trials(np.random.default_rng(6), people=(12, 7))).reason
