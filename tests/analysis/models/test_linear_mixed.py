"""The mixed model of log time agrees with lme4 and statsmodels.

Intervals cover the truth, and planted effects are found. A zero variance of items is noted, and one of
participants refused.
"""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import warnings

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from analysis.models.linear_mixed import mixed_log_time
from analysis.models.trial_model import read_trials
from tests.analysis.trials import NAMES, crossed_trials, released_trials


def fit(rows, conditions=("a", "b"), **more):
    return mixed_log_time(read_trials(rows, "seconds", conditions=conditions), **more)


def spread(model, name):
    return model.details[f"standard deviation, {name}"]


def test_it_works():
    model = fit(crossed_trials(np.random.default_rng(1), people=(20, 20), effect=1.0, slope=-0.03))
    contrast = model.contrast("a", "b")
    assert contrast.interval[0] < 0.4 < contrast.interval[1]
    assert contrast.p < 0.05
    assert model.position.interval[0] < -0.03 < model.position.interval[1]
    assert model.position.p < 0.001
    assert spread(model, "participant") == pytest.approx(0.4 * 0.7, rel=0.4)
    assert spread(model, "residual") == pytest.approx(0.4, rel=0.1)


def test_the_released_study_against_lme4(tmp_path):
    """R 4.2.2, lme4 1.1-31, on the 957 retained trials.

    lmer(log(ms / 1000) ~ c + position + (1 | p) + (1 | item))
      ground truth -0.299082904 (0.137773486), regularized 0.212211534 (0.137724546), Select & Forget
      -0.062559506 (0.137873450), position -0.0163189933 (0.0018087602); standard deviations participant
      0.29711624, item 0.25346852, residual 0.39875899; log-likelihood -573.33089610788
    lmer(… + (1 | item:c))
      item 0.2533245785, item:c 0.0189695414, p 0.2971734369, residual 0.3984091240; -573.32357278044
    """
    trials = read_trials(released_trials(tmp_path), "client_total_ms", conditions=NAMES, scale=0.001)
    model = mixed_log_time(trials, item_by_condition=False)
    contrasts = [model.contrast("Qi-2019", name) for name in NAMES[1:]]
    assert [c.estimate for c in contrasts] == pytest.approx(
        [-0.062559506, 0.212211534, -0.299082904], abs=1e-6
    )
    assert [c.standard_error for c in contrasts] == pytest.approx(
        [0.137873450, 0.137724546, 0.137773486], abs=2e-6
    )
    assert model.position.estimate == pytest.approx(-0.0163189933, abs=1e-7)
    assert model.position.standard_error == pytest.approx(0.0018087602, abs=1e-7)
    assert spread(model, "participant") == pytest.approx(0.29711624, abs=1e-5)
    assert spread(model, "item") == pytest.approx(0.25346852, abs=1e-5)
    assert spread(model, "residual") == pytest.approx(0.39875899, abs=1e-6)
    assert model.details["REML log-likelihood"] == pytest.approx(-573.33089610788, abs=1e-6)
    more = mixed_log_time(trials)
    assert more.details["REML log-likelihood"] == pytest.approx(-573.32357278044, abs=1e-6)
    assert spread(more, "item within condition") == pytest.approx(0.0189695414, abs=1e-4)
    assert spread(more, "participant") == pytest.approx(0.2971734369, abs=1e-5)


def test_as_statsmodels():
    rows = crossed_trials(np.random.default_rng(2), people=(8, 9), items=10).drop(index=[1, 17, 60])
    trials = read_trials(rows, "seconds", conditions=["a", "b"])
    model = mixed_log_time(trials, item_by_condition=False)
    codes = (trials.participant, trials.item)
    blocks = [np.eye(code.max() + 1)[code] for code in codes]
    names = [[[str(column) for column in range(block.shape[1])]] for block in blocks]
    components = VCSpec(["participant", "item"], names, [[block] for block in blocks])
    exog = np.column_stack([np.ones(len(rows)), trials.condition, trials.position - trials.position.mean()])
    reference = MixedLM(np.log(trials.outcome), exog, groups=np.ones(len(rows)), exog_vc=components).fit()
    assert model.contrasts[0].estimate == pytest.approx(reference.fe_params[1], abs=1e-4)
    assert model.contrasts[0].standard_error == pytest.approx(reference.bse_fe[1], rel=1e-2)
    assert model.details["REML log-likelihood"] == pytest.approx(reference.llf, abs=1e-3)
    assert spread(model, "participant") ** 2 == pytest.approx(reference.vcomp[0], rel=2e-2)


@pytest.mark.parametrize("item_condition_sd", [0.0, 0.6])
def test_intervals_cover_the_truth_and_the_level_is_kept(item_condition_sd):
    """80 studies, also with items that act unlike in the two conditions."""
    rng, studies, covered = np.random.default_rng(3), 80, 0
    for _ in range(studies):
        rows = crossed_trials(rng, people=(10, 14), items=16, effect=0.5, item_condition_sd=item_condition_sd)
        low, high = fit(rows).contrasts[0].interval
        covered += low <= 0.4 * 0.5 <= high
    assert covered >= stats.binom.ppf(0.01, studies, 0.95)


def test_items_that_act_unlike_widen_the_interval():
    rows = crossed_trials(np.random.default_rng(4), people=(30, 30), items=8, item_condition_sd=1.5)
    with_items, without = (fit(rows, item_by_condition=flag).contrasts[0] for flag in (True, False))
    assert with_items.standard_error > 1.5 * without.standard_error


def test_zero_variance_of_items_is_a_note_and_of_people_a_refusal():
    rng = np.random.default_rng(5)
    rows = crossed_trials(rng, item_sd=0.0)
    rows["seconds"] *= np.exp(-np.log(rows["seconds"]).groupby(rows["item_id"]).transform("mean"))
    model = fit(rows, item_by_condition=False)
    assert model.reason == ""
    assert model.notes == ("The standard deviation of item is estimated as zero.",)
    same = crossed_trials(rng, person_sd=0.0)
    centred = np.log(same["seconds"]).groupby(same["participant_id"]).transform("mean")
    model = fit(same.assign(seconds=same["seconds"] / np.exp(centred)))
    assert model.contrasts == ()
    assert "would count trials as independent" in model.reason


def test_a_thousand_participants_take_no_longer_than_their_rows():
    """A fit of a thousand participants is as fast as in lme4.

    Statsmodels needs 13 s for 300 participants here.
    """
    rows = crossed_trials(np.random.default_rng(6), people=(500, 500), items=25, effect=0.5)
    model = fit(rows)
    assert model.contrasts[0].interval[0] < 0.2 < model.contrasts[0].interval[1]
    assert model.participants == 1000


def test_metamorphic():
    rows = crossed_trials(np.random.default_rng(7), effect=0.7)
    base, swapped = fit(rows), fit(rows, conditions=("b", "a"))
    assert swapped.contrasts[0].estimate == pytest.approx(-base.contrasts[0].estimate)
    assert swapped.joint_p == pytest.approx(base.joint_p, rel=1e-3)
    minutes = fit(rows.assign(seconds=rows["seconds"] / 60))
    assert minutes.contrasts[0].estimate == pytest.approx(base.contrasts[0].estimate)
    assert minutes.contrasts[0].standard_error == pytest.approx(base.contrasts[0].standard_error, rel=1e-4)
    renamed = rows.assign(participant_id="x" + rows["participant_id"].str[::-1]).sample(
        frac=1, random_state=1
    )
    assert fit(renamed).contrasts[0].estimate == pytest.approx(base.contrasts[0].estimate, rel=1e-5)


def test_refusals():
    rng = np.random.default_rng(8)
    with pytest.raises(ValueError, match="positive time"):
        fit(crossed_trials(rng).assign(seconds=0.0))
    assert "fewer than two items" in fit(crossed_trials(rng, items=1), position=False).reason
    assert "position" in fit(crossed_trials(rng).drop(columns="position")).reason
    once = crossed_trials(rng, people=(30, 30)).groupby("participant_id").sample(1, random_state=1)
    assert "no participant has two trials" in fit(once).reason
    assert "at least 8 are needed" in fit(crossed_trials(rng, people=(7, 8))).reason
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "same outcome" in fit(crossed_trials(rng).assign(seconds=60.0)).reason
