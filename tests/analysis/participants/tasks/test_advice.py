"""Measures of reliance on advice agree with hand-computed cases.

Their identities hold, and a control condition lacks those that need advice.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.participants.bundle import load_bundle
from analysis.participants.condition_grids import build_condition_grids
from analysis.participants.estimates import NO_ADVICE, UNDEFINED, estimate
from analysis.participants.measures import Measure
from analysis.participants.study_version import Version
from analysis.participants.tasks import TASKS
from analysis.study.analysis import Options, analyse
from tests.analysis.grids import make_grid
from tests.analysis.tasks import advice_study

KEYS = {measure.key: measure for measure in TASKS["advice"].measures}
# First answer right, advice right, final answer right, first answer is the advice, final one is; six trials.
TRIALS = [
    (1, 0, 1, 0, 0),  # kept a right answer against wrong advice
    (1, 0, 0, 0, 1),  # gave it up
    (1, 0, 0, 0, 1),  # gave it up
    (0, 1, 1, 0, 1),  # took right advice
    (0, 1, 0, 0, 0),  # did not
    (1, 1, 1, 1, 1),
]


def grid_of(rows, confidence=(2, 3)):
    """Return the grids of one participant with these trials."""
    names = ["initial_correct", "system_correct", "final_correct", "initial_agrees", "final_agrees"]
    trials = pd.DataFrame(rows, columns=names, dtype=float).assign(
        participant_id="p", condition="a", submitted_at="now", client_total_ms=np.nan
    )
    trials["item_id"] = [f"q{index}" for index in range(len(trials))]
    trials["initial_confidence"], trials["final_confidence"] = confidence
    version = Version.model_validate(
        {
            "version": 1, "hash": "0", "item_questionnaire": [], "task": {"kind": "advice"},
            "conditions": [{"name": "a", "system": "s"}],
        }
    )  # fmt: skip
    members = pd.DataFrame({"participant_id": ["p"], "condition": ["a"]})
    return build_condition_grids(version, trials, members, clock=None, items=list(trials["item_id"]))


def values(rows):
    """Return all measures of one participant, None where undefined."""
    estimates = estimate(grid_of(rows), TASKS["advice"].measures, rng=np.random.default_rng(1), resamples=0)
    return {key: estimates.get(key, "a").value for key in KEYS}


def test_a_case_by_hand():
    measures = values(TRIALS)
    expected = {
        "initial_accuracy": 4 / 6,
        "final_accuracy": 3 / 6,
        "advice_accuracy": 3 / 6,
        "advice_agreement": 4 / 6,
        "switch_fraction": 3 / 5,
        "rair": 1 / 2,
        "rsr": 1 / 3,
        "over_reliance": 2 / 3,
        "under_reliance": 1 / 2,
        "complementarity": 3 / 6 - max(4 / 6, 3 / 6),
        "confidence_change": 1,
    }
    for key, value in expected.items():
        assert measures[key] == pytest.approx(value), key


def test_a_denominator_of_0_is_undefined_and_counted():
    estimates = estimate(
        grid_of([(1, 1, 1, 1, 1)] * 3), list(KEYS.values()), rng=np.random.default_rng(1), resamples=0
    )
    for key in ("rair", "rsr", "over_reliance", "under_reliance", "switch_fraction"):
        reliance = estimates.get(key, "a")
        assert (reliance.value, reliance.undefined, reliance.reason) == (None, 1, UNDEFINED), key
    assert estimates.get("complementarity", "a").value == 0


def test_a_missing_answer_is_not_a_wrong_one():
    unknown = (1, 0, np.nan, 0, np.nan)
    assert values([*TRIALS, unknown])["rsr"] == values(TRIALS)["rsr"]
    assert values([*TRIALS, unknown])["complementarity"] == values(TRIALS)["complementarity"]


BITS = st.integers(0, 1)


@given(st.lists(st.tuples(BITS, BITS, BITS, BITS, BITS), min_size=1, max_size=20))
def test_identities(rows):
    """Each trial with one right side falls to one of the two.

    Source: Schemmer et al. 2023.
    """
    measures = values(rows)
    for share, rest in (("rsr", "over_reliance"), ("rair", "under_reliance")):
        assert (measures[share] is None) == (measures[rest] is None)
        if measures[share] is not None:
            assert 0 <= measures[share] <= 1
            assert measures[share] + measures[rest] == pytest.approx(1)
    array = np.array(rows)
    first, advice, final = array[:, 0], array[:, 1], array[:, 2]
    alike = first == advice
    wrong_advice, right_advice = ((first == side) & (advice != side) for side in (1, 0))
    right = (
        sum(
            (measures[key] or 0) * count.sum()
            for key, count in (("rsr", wrong_advice), ("rair", right_advice))
        )
        + final[alike].sum()
    )
    assert measures["final_accuracy"] == pytest.approx(right / len(rows))
    assert measures["complementarity"] <= 1 - max(first.mean(), advice.mean()) + 1e-12


def test_a_bundle(tmp_path):
    folder = advice_study(tmp_path / "b", people=8, gives_up={"plain": 0.9, "facts": 0.1})
    study = analyse(load_bundle(folder), Options(resamples=50))
    get = study.retained.estimates.get
    plain, facts = (get("over_reliance", name).value for name in ("plain", "facts"))
    assert plain is not None
    assert facts is not None
    assert plain > 0.6 > 0.4 > facts
    assert get("over_reliance", "control").reason == NO_ADVICE
    assert get("initial_accuracy", "control").value == get("final_accuracy", "control").value
    assert [condition.advice for condition in study.conditions] == [False, True, True]
    assert not study.retained.estimates.has_value("agreement")


def test_the_public_variant_has_the_same_numbers(tmp_path):
    """It has other pseudonyms, another order, and no texts of answers."""
    folder = advice_study(tmp_path / "b", people=6)
    estimates = analyse(load_bundle(folder), Options(resamples=30)).retained.estimates
    for name in ("trials", "participants"):
        table = pd.read_csv(folder / f"{name}.csv", dtype=str)
        table["participant_id"] = "x" + table["participant_id"].str[::-1]
        answers = [column for column in table if column in ("initial_answer", "final_answer", "advice")]
        table.drop(columns=answers).sample(frac=1, random_state=1).to_csv(folder / f"{name}.csv", index=False)
    again = analyse(load_bundle(folder), Options(resamples=30)).retained.estimates
    for key in ("over_reliance", "complementarity"):
        assert again.get(key, "facts").interval == estimates.get(key, "facts").interval


def test_measures_have_keys_and_labels_of_their_own():
    assert len(KEYS) == len(TASKS["advice"].measures)
    assert all(isinstance(measure, Measure) for measure in KEYS.values())


def test_an_item_takes_those_with_it_who_saw_no_other():
    """A participant's only counted trial has the participant's influence.

    This is the distance of the participant from the others.
    """
    kept_answers = np.array([[1.0, np.nan, np.nan], [0.0, 1.0, np.nan], [np.nan, 0.0, 1.0]])
    whole = np.ones((3, 3))
    grid = make_grid(
        "a", correct=np.zeros((3, 3)), final_kept_answer=kept_answers, advice=whole, initial_correct=whole,
        final_correct=whole,
    )  # fmt: skip
    estimates = estimate([grid], [KEYS["rsr"]], rng=np.random.default_rng(1), resamples=0)
    mean = (1 + 0.5 + 0.5) / 3
    expected = [[1 - mean, 0, 0], [0.5 - 1, 0.5 - 0, 0], [0, 0.5 - 1, 0.5 - 0]]
    assert estimates.item_influence(KEYS["rsr"], "a") == pytest.approx(2 * np.array(expected))
