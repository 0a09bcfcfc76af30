"""Krippendorff's alpha agrees with published examples.

It also agrees with another program. Its interval covers the truth; undefined values have a reason.
"""

from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from analysis.participants.krippendorff import (
    NO_PAIRS,
    NO_VARIATION,
    agreements,
    choose_metric,
    krippendorff_alpha,
    pair_agreement,
)
from analysis.participants.study_version import Points, Question
from tests.analysis.grids import make_grid

NO = np.nan
# Krippendorff 2011 (Computing Krippendorff's Alpha-Reliability), examples A, B and C.
TWO_VALUES = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
FIVE_NAMES = [[1, 1, 2, 2, 4, 3, 3, 3, 5, 4, 4, 1], [2, 1, 2, 2, 2, 3, 3, 3, 5, 4, 4, 4]]
FOUR_RATERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
)


def draw_noisy_ratings():
    """Draw ratings of twelve items by eight raters, nearly a third missing."""
    rng = np.random.default_rng(7)
    ratings = rng.integers(1, 6, (8, 12)).astype(float)
    ratings[:, :6] = np.clip(np.round(ratings[:, :6] * 0.3 + 2.1), 1, 5)
    ratings[rng.random(ratings.shape) < 0.3] = NO
    return ratings


def test_it_works():
    grids = [make_grid("a", helpfulness=FOUR_RATERS), make_grid("b", helpfulness=draw_noisy_ratings())]
    helpfulness = agreements(grids, {"helpfulness": "ordinal"}, rng=np.random.default_rng(1), resamples=300)
    assert [agreement.condition for agreement in helpfulness] == ["a", "b"]
    first: Any = helpfulness[0]
    assert (first.alpha.raters, first.alpha.items, first.alpha.ratings) == (4, 11, 40)
    assert first.alpha.interval[0] < first.alpha.value < first.alpha.interval[1]
    assert first.by_item["q0003"] == 1
    assert first.by_item["q0005"] == pytest.approx(0)
    assert first.by_item["q0011"] is None


@pytest.mark.parametrize(
    ("ratings", "metric", "published"),
    [
        (TWO_VALUES, "nominal", 0.095),
        (FIVE_NAMES, "nominal", 0.692),
        (FOUR_RATERS, "nominal", 0.743),
        (FOUR_RATERS, "ordinal", 0.815),
        (FOUR_RATERS, "interval", 0.849),
    ],
)
def test_published_examples(ratings, metric, published):
    assert krippendorff_alpha(ratings, metric).value == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_another_program(metric):
    for ratings in (draw_noisy_ratings(), *(draw_random_ratings(seed) for seed in range(20))):
        expected = krippendorff.alpha(ratings, level_of_measurement=metric)
        assert krippendorff_alpha(ratings, metric).value == pytest.approx(expected, abs=1e-12)


def draw_random_ratings(seed):
    """Draw ratings with some shared tendency.

    There are two to eight raters and up to 30 items; up to half of the ratings are missing.
    """
    rng = np.random.default_rng(seed)
    raters, items = rng.integers(2, 9), rng.integers(6, 31)
    ratings = np.round(rng.normal(3, 1, items) + rng.normal(0, rng.uniform(0.3, 2), (raters, items)))
    ratings[rng.random(ratings.shape) < rng.uniform(0, 0.5)] = NO
    ratings[:2, :2] = [[1, 2], [1, 3]]  # so that some pairs and some variation are always there
    return ratings


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_metamorphic(metric):
    """The order of raters and items does not change alpha.

    Nor do names, ranks or units, by metric.
    """
    rng = np.random.default_rng(3)
    base = krippendorff_alpha(draw_noisy_ratings(), metric).value
    shuffled = rng.permutation(rng.permutation(draw_noisy_ratings(), axis=0), axis=1)
    assert krippendorff_alpha(shuffled, metric).value == pytest.approx(base)
    assert krippendorff_alpha(draw_noisy_ratings() * 1e-9 + 7e-9, metric).value == pytest.approx(base)
    stretched = krippendorff_alpha(np.exp(draw_noisy_ratings()), metric).value
    assert (stretched == pytest.approx(base)) is (metric != "interval")


def test_chance_and_perfect_agreement():
    rng = np.random.default_rng(4)
    chance = krippendorff_alpha(rng.integers(0, 2, (20, 400)), "nominal").value
    assert chance == pytest.approx(0, abs=0.01)
    perfect = krippendorff_alpha(np.tile(rng.integers(0, 2, 30), (4, 1)), "nominal", rng=rng, resamples=50)
    assert perfect.value == 1
    assert perfect.interval == (1, 1)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """The interval covers alpha over very many items of the same kind.

    There are 300 sets of 40 items, each with 8 raters.
    """
    rng = np.random.default_rng(5)

    def ratings(items):
        return (rng.random((8, items)) < rng.beta(2, 1, items)).astype(float)

    truth: Any = krippendorff_alpha(ratings(100_000), "nominal").value
    covered = 0
    for _ in range(300):
        alpha: Any = krippendorff_alpha(ratings(40), "nominal", rng=rng, resamples=300)
        low, high = alpha.interval
        covered += low <= truth <= high
    # Percentile intervals of a ratio from 40 items are a little short: 92 % is the bound.
    assert covered >= stats.binom.ppf(0.01, 300, 0.92)
    assert covered < 300


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, NO], [NO, 2]], NO_PAIRS),
        (np.full((3, 4), NO), NO_PAIRS),
        (np.zeros((0, 4)), NO_PAIRS),
        ([[3, 3, 1], [3, 3, NO]], NO_VARIATION),
    ],
)
def test_undefined_with_a_reason(ratings, reason):
    alpha = krippendorff_alpha(ratings, "ordinal", rng=np.random.default_rng(1), resamples=10)
    assert (alpha.value, alpha.interval, alpha.reason) == (None, None, reason)
    assert np.isnan(alpha.replicates).all()


def test_one_item_has_no_interval():
    alpha = krippendorff_alpha([[1], [1], [2]], "nominal", rng=np.random.default_rng(1), resamples=10)
    assert alpha.interval is None
    assert alpha.value == pytest.approx(0)


def test_pair_agreement_by_hand():
    ratings = np.array([[1, 1, 1, NO], [1, 2, 1, 1], [1, 3, 2, NO], [1, 4, 2, NO]])
    assert pair_agreement(ratings) == pytest.approx([1, 0, 2 / 6, NO], nan_ok=True)


def test_metric_of_a_question():
    assert choose_metric(Question(key="k", text="t", scale="yes_no")) == "nominal"
    assert choose_metric(Question(key="k", text="t", scale=Points(points=5))) == "ordinal"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], "nominal"), "raters × items"),
        (([[1, np.inf]], "nominal"), "infinite"),
        (([[1, 2], [2, 1]], "cardinal"), "metric must be one of"),
        (([range(60), range(60)], "interval"), "60 different values"),
    ],
)
def test_malformed_input_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        krippendorff_alpha(*arguments)


def test_unknown_names_are_refused():
    grid = make_grid(helpfulness=FOUR_RATERS)
    with pytest.raises(ValueError, match="lacks"):
        agreements([grid], {"trust": "ordinal"}, rng=np.random.default_rng(1), resamples=0)
    with pytest.raises(ValueError, match="rng"):
        krippendorff_alpha(FOUR_RATERS, "nominal", resamples=5)
