"""Trials for models, and what a fitted model's contrasts are."""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import numpy as np
import pytest
from statsmodels.stats import multivariate

from analysis.models.gee_logistic import gee_logistic
from analysis.models.linear_mixed import mixed_log_time
from analysis.models.logit_mixed import mixed_logit
from analysis.models.ordinal_logit import ordinal_logit
from analysis.models.trial_model import (
    Trials,
    build_design_matrix,
    build_model,
    explain_unsupported,
    read_trials,
)
from tests.analysis.trials import crossed_trials


def frame(**more):
    return crossed_trials(np.random.default_rng(1), **{"people": (3, 4), "items": 5, **more})


def test_it_works():
    trials = read_trials(frame(), "seconds", conditions=["b", "a"], scale=1000)
    assert (trials.participants, trials.items, len(trials.outcome)) == (7, 5, 35)
    assert trials.conditions == ("b", "a")
    assert (trials.condition == (frame()["condition"] == "a")).all()
    assert trials.outcome == pytest.approx(1000 * frame()["seconds"])
    columns = build_design_matrix(trials, intercept=True, position=True)
    assert columns.shape == (35, 3)
    assert columns[:, 2].sum() == pytest.approx(0)


def test_missing_outcomes_are_dropped_and_counted():
    rows = frame()
    rows.loc[[0, 7], "answer"] = np.nan
    trials = read_trials(rows, "answer", conditions=["a", "b"])
    assert (trials.dropped, len(trials.outcome)) == (2, 33)
    only = read_trials(rows, "answer", conditions=["b"])
    assert (only.participants, only.dropped) == (4, 0)


def test_malformed_frames():
    with pytest.raises(ValueError, match="no column 'nothing'"):
        read_trials(frame(), "nothing", conditions=["a", "b"])
    with pytest.raises(ValueError, match="twice"):
        read_trials(frame(), "answer", conditions=["a", "a"])


def test_a_participant_in_two_conditions_is_seen():
    rows = frame()
    assert not read_trials(rows, "answer", conditions=["a", "b"]).repeated
    rows.loc[0, "condition"] = "b"
    assert read_trials(rows, "answer", conditions=["a", "b"]).repeated


def test_what_cannot_be_modelled():
    def why(rows, outcome="seconds", conditions=("a", "b"), position=True):
        trials = read_trials(rows, outcome, conditions=conditions)
        return explain_unsupported(trials, position=position, least=2)

    assert why(frame()) == ""
    assert "fewer than two conditions" in why(frame(), conditions=["a"])
    assert why(frame(people=(1, 4))) == "condition a has 1 participants with a trial; at least 2 are needed"
    assert "condition c has 0 participants" in why(frame(), conditions=["a", "b", "c"])
    assert "same outcome" in why(frame().assign(seconds=1.0))
    assert "position of some trial" in why(frame().drop(columns="position"))
    assert why(frame().drop(columns="position"), position=False) == ""
    assert "same position" in why(frame().assign(position=3))


@pytest.mark.parametrize(
    ("outcome", "fit"),
    [
        ("answer", gee_logistic),
        ("seconds", mixed_log_time),
        ("rating", ordinal_logit),
        ("answer", mixed_logit),
    ],
)
def test_intervals_exclude_no_difference_exactly_if_p_is_small(outcome, fit):
    rng, rows = np.random.default_rng(2), 0
    for turn in range(4):
        trials = read_trials(
            crossed_trials(rng, people=(9, 8), items=10, effect=turn / 3), outcome, conditions=["a", "b"]
        )
        for level in (0.95, 0.8):
            for contrast in fit(trials, level=level).contrasts:
                low, high = contrast.interval
                assert (low <= 0 <= high) == (contrast.p > 1 - level)
                rows += 1
    assert rows > 4


def test_fewer_participants_than_the_tests_need():
    def why(people):
        return explain_unsupported(
            read_trials(frame(people=people), "seconds", conditions=["a", "b"]), position=False
        )

    assert why((8, 8)) == ""
    assert why((8, 7)) == (
        "condition b has 7 participants with a trial; at least 8 are needed, the fewest for which "
        "simulations show that its tests keep their level"
    )


def three_conditions():
    codes = np.repeat(np.arange(6), 2)
    return Trials(np.arange(12.0), codes, np.tile([0, 1], 6), codes // 2, None, ("a", "b", "c"))


def test_contrasts_of_all_pairs():
    covariance = np.array([[4.0, 1.0], [1.0, 9.0]])
    model = build_model(
        three_conditions(), np.array([1.0, 3.0]), covariance,
        method="m", scale="s", freedom=9, level=0.95, position=False,
    )  # fmt: skip
    assert [(c.first, c.second) for c in model.contrasts] == [("a", "b"), ("a", "c"), ("b", "c")]
    contrast = model.contrast("b", "c")
    assert (contrast.estimate, contrast.standard_error) == pytest.approx((2.0, np.sqrt(4 + 9 - 2)))
    back = model.contrast("c", "b")
    assert (back.estimate, back.p) == (-contrast.estimate, contrast.p)
    assert back.interval == (-contrast.interval[1], -contrast.interval[0])
    # R: b <- c(1, 3); V <- matrix(c(4, 1, 1, 9), 2); pf(c(b %*% solve(V, b)) / 2, 2, 9, lower.tail = FALSE)
    assert model.joint_p == pytest.approx(0.5914020328)
    with pytest.raises(ValueError, match="no contrast"):
        model.contrast("a", "d")


def test_the_joint_test_of_an_estimated_covariance_is_that_of_hotelling():
    """The joint test of ten pairs of values is that of Hotelling's T².

    Their mean is 0 under the null hypothesis; F = T² (n − 2)/(2 (n − 1)).
    """
    values = np.random.default_rng(1).normal(0.5, 1, (10, 2))
    mean, covariance = values.mean(axis=0), np.cov(values.T) / 10
    options = {"method": "m", "scale": "s", "level": 0.95, "position": False, "sandwich": True}
    model = build_model(three_conditions(), mean, covariance, freedom=9, **options)
    reference = multivariate.test_mvmean(values, [0, 0])
    assert model.joint_p == pytest.approx(reference.pvalue)
    few = build_model(three_conditions(), mean, covariance, freedom=1, **options)
    assert "too few participants for a joint test" in few.reason


def test_p_is_never_zero_and_infinite_errors_are_refused():
    options = {"method": "m", "scale": "s", "freedom": 3000, "level": 0.95, "position": False}
    model = build_model(three_conditions(), np.array([1e3, 2e3]), np.eye(2) * 1e-6, **options)
    assert all(c.p > 0 for c in model.contrasts)
    assert model.joint_p > 0
    for covariance in (np.full((2, 2), np.nan), np.zeros((2, 2)), np.ones((2, 2))):
        model = build_model(three_conditions(), np.ones(2), covariance, **options)
        assert model.contrasts == ()
        assert model.reason == "the fit gives no finite standard errors"
