"""The relation of certainty to being right has its reference values.

Undefined levels are counted, and the calibration error needs a scale of probabilities.
"""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.participants.confidence_calibration import NOT_A_PROBABILITY, calibration
from tests.analysis.grids import make_grid

NO = np.nan


def simulate_judgements(rng, people=12, items=20, strength=0.0, condition="a"):
    """Simulate certainty from 1 to 5, and ratings that may be right.

    The probability of being right is .6 in the middle and rises by `strength` per level.
    """
    certainty = rng.integers(1, 6, (people, items)).astype(float)
    right = rng.random((people, items)) < 0.6 + strength * (certainty - 3)
    correct = (rng.random((people, items)) < 0.5).astype(float)
    rated = np.where(right, correct, 1 - correct)
    return make_grid(condition, correct=correct, correctness_rating=rated, certainty=certainty)


def rightness(grid):
    return grid.answers["correctness_rating"] == grid.system_correct


def test_it_works():
    rng = np.random.default_rng(1)
    grids = [
        simulate_judgements(rng, strength=0.1),
        simulate_judgements(rng, people=20, strength=0.1, condition="b"),
    ]
    first, _, everybody = calibration(grids, 5, rng=rng, resamples=300)
    assert [level.level for level in first.levels] == [1, 2, 3, 4, 5]
    assert everybody.condition == ""
    assert everybody.slope.interval[0] < 0.1 < everybody.slope.interval[1]
    assert everybody.slope.interval[0] > 0
    assert everybody.auroc.interval[0] > 0.5
    assert everybody.gamma.interval[0] > 0
    assert sum(level.trials for level in first.levels) == 240
    assert sum(level.share.value for level in first.levels) == pytest.approx(1)
    assert first.error.reason == NOT_A_PROBABILITY


def test_against_scipy_and_by_counting_pairs():
    rng = np.random.default_rng(2)
    grid = simulate_judgements(rng, people=4, strength=0.1)
    relation = calibration([grid], 5, rng=rng, resamples=0)[0]
    areas, gammas, slopes = [], [], []
    for certainty, right in zip(grid.answers["certainty"], rightness(grid), strict=True):
        yes, no = certainty[right], certainty[~right]
        areas.append(stats.mannwhitneyu(yes, no).statistic / (len(yes) * len(no)))
        signs = [np.sign(a - b) for a, b in itertools.product(yes, no)]
        gammas.append(np.sum(signs) / np.count_nonzero(signs))
        slopes.append(stats.linregress(certainty, right).slope)
    assert relation.auroc.value == pytest.approx(np.mean(areas))
    assert relation.gamma.value == pytest.approx(np.mean(gammas))
    assert relation.slope.value == pytest.approx(np.mean(slopes))


def test_without_a_relation_the_interval_of_auroc_holds_one_half():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(150):
        low, high = calibration([simulate_judgements(rng)], 5, rng=rng, resamples=150)[0].auroc.interval
        covered += low <= 0.5 <= high
    assert covered >= stats.binom.ppf(0.01, 150, 0.92)


def test_participants_come_first():
    """Differences between participants do not make a relation negative.

    Somebody is right and unsure, beside somebody who is wrong and sure.
    """
    certainty = np.array([[1.0, 1, 2, 2], [4, 4, 5, 5]])
    right = np.array([[1.0, 0, 1, 1], [0, 0, 0, 1]])
    grid = make_grid(correct=np.ones((2, 4)), correctness_rating=right, certainty=certainty)
    relation = calibration([grid], 5, rng=np.random.default_rng(1), resamples=0)[0]
    assert relation.slope.value == pytest.approx(0.5)
    assert stats.linregress(certainty.ravel(), right.ravel()).slope < 0


def test_undefined_levels_and_people_are_told():
    certainty = np.array([[1.0, 1, 5, 5], [5, 5, 5, 5], [1, 5, NO, 5]])
    right = np.array([[0.0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1]])
    grid = make_grid(correct=np.ones((3, 4)), correctness_rating=right, certainty=certainty)
    relation = calibration([grid], 5, rng=np.random.default_rng(1), resamples=20)[0]
    assert [level.right.value is None for level in relation.levels] == [False, True, True, True, False]
    assert [level.right.undefined for level in relation.levels] == [1, 3, 3, 3, 0]
    assert [level.trials for level in relation.levels] == [3, 0, 0, 0, 8]
    assert (relation.slope.participants, relation.slope.undefined) == (2, 1)
    assert (relation.auroc.participants, relation.auroc.undefined) == (2, 1)  # nobody is wrong in the third
    assert (relation.gamma.participants, relation.gamma.undefined) == (1, 2)  # the second has only ties


def test_calibration_error_where_the_scale_is_a_probability():
    stated = [0.0, 0.25, 0.5, 0.75, 1.0]
    certainty = np.array([[1.0, 3, 3, 5], [5, 5, 5, 5]])
    right = np.array([[0.0, 1, 0, 1], [1, 1, 0, 0]])
    grid = make_grid(correct=np.ones((2, 4)), correctness_rating=right, certainty=certainty)
    relation = calibration([grid], 5, rng=np.random.default_rng(1), resamples=50, probabilities=stated)[0]
    # Level 5: half the share of 1/4 and 1 is 5/8, of which 3/8 were right; the other levels are exact.
    assert relation.error.value == pytest.approx(5 / 8 - 3 / 8)
    assert relation.error.interval[0] >= 0


def test_metamorphic():
    """Turning every certainty round turns every sign round."""
    rng = np.random.default_rng(4)
    grid = simulate_judgements(rng, strength=0.08)
    answers = {**grid.answers, "certainty": 6 - grid.answers["certainty"]}
    turned_grid = make_grid(correct=grid.system_correct, **answers)
    base: Any
    turned: Any
    base, turned = (
        calibration([g], 5, rng=np.random.default_rng(1), resamples=0)[0] for g in (grid, turned_grid)
    )
    assert turned.slope.value == pytest.approx(-base.slope.value)
    assert turned.gamma.value == pytest.approx(-base.gamma.value)
    assert turned.auroc.value == pytest.approx(1 - base.auroc.value)


def test_nothing_to_relate():
    grid = make_grid(correctness_rating=np.ones((3, 4)), certainty=np.ones((3, 4)))
    assert calibration([grid], 5, rng=np.random.default_rng(1), resamples=10) == []
    assert calibration([make_grid()], 5, rng=np.random.default_rng(1), resamples=10) == []


@pytest.mark.parametrize(
    ("levels", "stated", "words"),
    [(1, None, "at least 2"), (3, [0, 1], "3 values"), (2, [0, 1.5], "from 0 to 1")],
)
def test_malformed_input_is_named(levels, stated, words):
    with pytest.raises(ValueError, match=words):
        calibration([], levels, rng=np.random.default_rng(1), resamples=0, probabilities=stated)
