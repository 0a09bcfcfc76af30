"""Logistic and ordinal mixed models agree with lme4 and ordinal.

They keep their level, note singular fits, and refuse trials that support no fit.
"""

# mypy: disable-error-code="list-item, union-attr"
# A None where a test expects a value fails the test by itself.

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.models.logit_mixed import Likelihood, mixed_logit
from analysis.models.trial_model import build_design_matrix, read_trials
from benchmarks.statistics.mixed_models import MOST, Size, count_rejections
from tests.analysis.trials import NAMES, crossed_trials, released_trials

REFERENCE = json.loads((Path(__file__).parent / "reference" / "mixed.json").read_text("utf-8"))
SPREADS = {"p": "participant", "item": "item", "item:c": "item within condition"}


def fit(rows, outcome="answer", conditions=("a", "b"), **more):
    return mixed_logit(read_trials(rows, outcome, conditions=conditions), **more)


def spread(model, name):
    return model.details[f"standard deviation, {name}"]


@pytest.mark.parametrize(("outcome", "words"), [("answer", "logistic"), ("rating", "proportional-odds")])
def test_it_works(outcome, words):
    rows = crossed_trials(np.random.default_rng(1), people=(25, 25), effect=1.2, item_condition_sd=0.5)
    model = fit(rows, outcome)
    [contrast] = model.contrasts
    assert words in model.method
    assert contrast.interval[0] < 1.2 < contrast.interval[1]
    assert contrast.p < 0.05
    assert model.freedom == 19
    assert spread(model, "participant") == pytest.approx(0.7, rel=0.4)
    assert spread(model, "item") == pytest.approx(1.0, rel=0.5)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return released_trials(tmp_path_factory.mktemp("released"))


@pytest.mark.parametrize("expected", REFERENCE["fits"], ids=lambda row: f"{row['outcome']} {row['random']}")
def test_the_released_study_against_lme4_and_ordinal(released, expected):
    """Estimates on the released study are those of lme4 and ordinal.

    `reference/mixed.R` made the figures; the bars of the requirement are ten times as wide.
    """
    trials = read_trials(released, expected["outcome"], conditions=NAMES)
    position = "position" in expected["random"]
    model = mixed_logit(trials, position=position, item_by_condition="item:c" in expected["random"])
    contrasts = [model.contrast("Qi-2019", name) for name in NAMES[1:]]
    contrasts += [model.position] if position else []
    assert [contrast.estimate for contrast in contrasts] == pytest.approx(expected["estimate"], abs=1e-3)
    assert [contrast.standard_error for contrast in contrasts] == pytest.approx(
        expected["standard_error"], abs=1e-3
    )
    assert model.details["log-likelihood"] == pytest.approx(expected["log_likelihood"], abs=5e-3)
    for name, value in expected["spreads"].items():
        assert spread(model, SPREADS[name]) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(("outcome", "within"), [("answer", False), ("rating", False), ("rating", True)])
def test_the_gradient_is_that_of_the_value(outcome, within):
    rng = np.random.default_rng(2)
    trials = read_trials(crossed_trials(rng, people=(4, 5), items=6), outcome, conditions=["a", "b"])
    ratings = np.unique(trials.outcome, return_inverse=True)[1]
    exog = build_design_matrix(trials, intercept=False, position=True)
    others = [trials.item, np.unique(trials.item * 2 + trials.condition, return_inverse=True)[1]]
    halves = np.arange(len(ratings)) % 2 if within else None
    likelihood = Likelihood(ratings, exog, trials.participant, others, halves)
    at = likelihood.start() + rng.normal(0, 0.1, len(likelihood.start()))
    moves = 1e-5 * np.eye(len(at))
    slopes = [
        (likelihood.compute_negative_log(at + m)[0] - likelihood.compute_negative_log(at - m)[0]) / 2e-5
        for m in moves
    ]
    assert likelihood.compute_negative_log(at)[1] == pytest.approx(slopes, abs=1e-5)


def test_the_level_is_kept():
    """`python -m benchmarks.statistics.mixed_models` repeats it at all sizes."""
    for rate in count_rejections(Size(8, 10), 12):
        assert rate.studies >= 6
        assert rate.hits <= stats.binom.ppf(0.999, rate.studies, MOST)


def test_participants_may_differ_in_an_effect():
    """An effect that differs by participant widens the interval.

    Everybody sees both conditions.
    """
    rng = np.random.default_rng(3)
    rows = crossed_trials(rng, people=(30, 0), items=24, person_sd=0.5)
    slope = rng.normal(0, 1.5, 30)
    rows["condition"] = np.where((rows["position"] % 2) == 1, "a", "b")
    participant = rows["participant_id"].str[1:].astype(int)
    latent = np.where(rows["condition"] == "b", slope[participant], 0) + rng.normal(0, 0.5, 30)[participant]
    rows["answer"] = (latent + rng.logistic(size=len(rows)) > 0).astype(float)
    model = fit(rows, position=True)
    assert spread(model, "participant within condition") > 0.5
    assert model.freedom == 23
    assert model.position.interval[0] < 0 < model.position.interval[1]
    zero = "Singular fit: the standard deviation of item within condition is estimated as zero."
    assert zero in model.notes


def test_metamorphic():
    rows = crossed_trials(np.random.default_rng(4), effect=0.7)
    base, swapped = fit(rows, "rating"), fit(rows, "rating", conditions=("b", "a"))
    assert swapped.contrasts[0].estimate == pytest.approx(-base.contrasts[0].estimate, abs=1e-3)
    assert swapped.joint_p == pytest.approx(base.joint_p, rel=1e-2)
    turned = fit(rows.assign(rating=6 - rows["rating"]), "rating").contrasts[0]
    assert turned.estimate == pytest.approx(-base.contrasts[0].estimate, abs=1e-3)
    assert turned.standard_error == pytest.approx(base.contrasts[0].standard_error, abs=1e-3)
    named = rows.assign(participant_id="x" + rows["participant_id"].str[::-1]).sample(frac=1, random_state=1)
    assert fit(named, "rating").contrasts[0].estimate == pytest.approx(base.contrasts[0].estimate, abs=1e-3)


def test_refusals():
    rng = np.random.default_rng(5)
    rows = crossed_trials(rng)
    assert "at least 8 are needed" in fit(crossed_trials(rng, people=(7, 8))).reason
    assert "no single maximum" in fit(rows.assign(answer=(rows["condition"] == "b").astype(float))).reason
    assert "not a rating" in fit(rows, "seconds").reason
    once = rows.groupby("participant_id").sample(1, random_state=1)
    assert "cannot be separated from chance" in fit(once).reason
    noise = rows.assign(answer=rng.permutation(np.tile([0.0, 1.0], len(rows) // 2)))
    assert "would count trials as independent" in fit(noise).reason
    same = rows.assign(position=(rows["condition"] == "b").astype(float))
    assert "say the same" in fit(same, position=True).reason
    many = rows.assign(item_id=[f"q{number // 2:04d}" for number in range(len(rows))])
    assert "items within conditions" not in fit(many).reason


def test_items_of_one_condition_have_no_effect_of_their_own_in_it():
    rows = crossed_trials(np.random.default_rng(6), people=(12, 12))
    model = fit(rows.assign(item_id=rows["condition"] + rows["item_id"]))
    assert "standard deviation, item within condition" not in model.details
    assert model.freedom == 22
