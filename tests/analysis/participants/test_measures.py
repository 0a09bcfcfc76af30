"""The measures agree with closed forms.

The value of a condition is an average of its participants.
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.participants.estimates import average_participants, estimate
from analysis.participants.measures import MEASURES, build_own_measures
from analysis.participants.study_version import Points, Question
from analysis.participants.tasks import find_measure
from analysis.participants.trial_grid import Summed, build_grids, pool_sums

KEYS = {measure.key: measure for measure in MEASURES}
Z = NormalDist().inv_cdf


def grids(rows, conditions=("a",), post=None, clock="ms"):
    """Return the grids of trials.

    rows: (participant, condition, item, rated, correct, ms, certainty).
    """
    columns = ["participant_id", "condition", "item_id", "rated", "system_correct", "ms", "sure"]
    trials = pd.DataFrame(rows, columns=columns)
    people = trials[["participant_id", "condition"]].drop_duplicates()
    roles = {"correctness_rating": "rated", "certainty": "sure"}
    kinds = {"rated": float, "system_correct": float, "ms": float, "sure": float}
    return build_grids(
        trials.astype(kinds),
        people,
        post,
        conditions=conditions,
        clock=clock,
        item_columns=roles,
        post_columns={"trust": "trust"} if post is not None else {},
    )


def person(name, tp=0, fp=0, fn=0, tn=0, condition="a", ms=20_000):
    cells = [(1, 1)] * tp + [(1, 0)] * fp + [(0, 1)] * fn + [(0, 0)] * tn
    return [(name, condition, f"q{i}", rated, correct, ms, 3) for i, (rated, correct) in enumerate(cells)]


def value(key, grid):
    """Return the measure of every participant."""
    return KEYS[key].formula(Summed(grid).sums(np.ones((len(grid.items), 1))))[:, 0]


def estimate_measures(grid_list):
    return estimate(grid_list, MEASURES, rng=np.random.default_rng(1), resamples=50)


def test_it_works():
    (grid,) = grids(person("p", tp=5, fp=3, fn=1, tn=1))
    expected = {
        "agreement": 0.8,
        "accuracy": 0.6,
        "over_estimation": 0.2,
        "fraction_correct": 0.6,
        "fp": 0.3,
        "fn": 0.1,
        "tp": 0.5,
        "tn": 0.1,
        "false_positive_rate": 3 / 4,
        "false_negative_rate": 1 / 6,
        "true_negative_rate": 1 / 4,
        "user_precision": 5 / 8,
        "user_recall": 5 / 6,
        "user_f1": 2 * 5 / (2 * 5 + 3 + 1),
        "d_prime": Z(5.5 / 7) - Z(3.5 / 5),
        "criterion": -(Z(5.5 / 7) + Z(3.5 / 5)) / 2,
    }
    for key, number in expected.items():
        assert value(key, grid) == pytest.approx([number]), key


def test_the_identities_that_the_paper_uses():
    rng = np.random.default_rng(2)
    rows = []
    for p in range(30):
        tp, fp, fn, tn = rng.integers(0, 8, 4)
        rows += person(f"p{p}", tp + 1, fp, fn, tn)
    (grid,) = grids(rows)
    get = {key: value(key, grid) for key in KEYS if "system_correct" in KEYS[key].needs}
    assert get["fraction_correct"] == pytest.approx(1 - get["fp"] - get["fn"])
    assert get["over_estimation"] == pytest.approx(get["fp"] - get["fn"])
    assert get["over_estimation"] == pytest.approx(value("agreement", grid) - get["accuracy"])
    assert get["tp"] + get["fp"] + get["fn"] + get["tn"] == pytest.approx(np.ones(30))


@pytest.mark.parametrize(
    ("cells", "undefined"),
    [
        (
            {"tn": 3},
            {"user_precision", "user_recall", "user_f1", "false_negative_rate", "d_prime", "criterion"},
        ),
        ({"tp": 3}, {"false_positive_rate", "true_negative_rate", "d_prime", "criterion"}),
        (
            {"fn": 3},
            {
                "user_precision",
                "user_f1",
                "false_positive_rate",
                "true_negative_rate",
                "d_prime",
                "criterion",
            },
        ),
        ({"fp": 3}, {"user_recall", "user_f1", "false_negative_rate", "d_prime", "criterion"}),
        ({"fp": 2, "fn": 2}, set()),
    ],
)
def test_what_divides_by_zero_is_undefined_and_never_zero(cells, undefined):
    (grid,) = grids(person("p", **cells))
    keys = {key for key in KEYS if "system_correct" in KEYS[key].needs and math.isnan(value(key, grid)[0])}
    assert keys == undefined


def test_f1_is_zero_where_precision_and_recall_are():
    (grid,) = grids(person("p", fp=2, fn=2))
    assert value("user_f1", grid) == [0]


def test_undefined_participants_are_counted_and_left_out():
    rows = person("p1", tp=1, fp=1) + person("p2", fn=2) + person("p3", tp=2)
    precision = estimate_measures(grids(rows)).get("user_precision", "a")
    assert (precision.value, precision.participants, precision.undefined) == (0.75, 2, 1)


def test_participants_first_is_not_pooling():
    rows = person("p1", tp=1) + person("p2", fp=0, fn=9)
    agreement = estimate_measures(grids(rows)).get("agreement", "a")
    assert agreement.value == 0.5
    assert agreement.pooled == pytest.approx(0.1)
    assert (agreement.trials, agreement.participants) == (10, 2)


def test_over_estimation_takes_both_parts_from_the_same_trials():
    rows = [
        ("p", "a", "q1", 1, 1, 1, 1),
        ("p", "a", "q2", 1, np.nan, 1, 1),
        ("p", "a", "q3", np.nan, 0, 1, 1),
    ]
    (grid,) = grids(rows)
    assert value("over_estimation", grid) == [0]
    assert value("accuracy", grid) == [1]
    assert value("agreement", grid) == [1]
    assert estimate_measures([grid]).get("over_estimation", "a").trials == 1


def test_times():
    rows: list[Any] = [
        ("p", "a", f"q{i}", 1, 1, ms, 3) for i, ms in enumerate([10_000, 20_000, 40_000, 1_280_000])
    ]
    rows += [("r", "a", "q0", 1, 1, 5_000, 3), ("r", "a", "q1", 1, 1, np.nan, 3)]
    (grid,) = grids(rows)
    assert value("time_mean", grid) == pytest.approx([337.5, 5])
    assert value("time_median", grid) == pytest.approx([30, 5])
    assert value("time_geometric", grid) == pytest.approx([math.exp(math.log(10 * 20 * 40 * 1280) / 4), 5])
    geometric = estimate_measures([grid]).get("time_geometric", "a")
    assert geometric.value == pytest.approx(math.sqrt(value("time_geometric", grid)[0] * 5))


def test_a_time_of_zero_has_no_logarithm_and_is_counted():
    (grid,) = grids([("p", "a", "q", 1, 1, 0, 3), ("r", "a", "q", 1, 1, 8_000, 3)])
    estimates = estimate_measures([grid])
    assert estimates.get("time_mean", "a").value == 4
    geometric = estimates.get("time_geometric", "a")
    assert (geometric.value, geometric.undefined) == (pytest.approx(8), 1)


def test_the_weighted_median_is_that_of_the_repeated_values():
    rng = np.random.default_rng(3)
    rows = [
        (f"p{p}", "a", f"q{i}", 1, 1, int(rng.integers(1, 9)) * 1000, 3) for p in range(5) for i in range(7)
    ]
    (grid,) = grids(rows)
    weights = rng.multinomial(7, np.full(7, 1 / 7), size=40).T.astype(float)
    medians = KEYS["time_median"].formula(Summed(grid).sums(weights))
    for p in range(5):
        for b in range(40):
            assert medians[p, b] == np.median(np.repeat(grid.seconds[p], weights[:, b].astype(int)))


def test_weighted_sums_are_those_of_the_resampled_trials():
    rng = np.random.default_rng(4)
    rows = [
        (
            f"p{p}",
            "a",
            f"q{i}",
            rng.integers(2),
            rng.integers(2),
            1000 * rng.integers(1, 99),
            rng.integers(1, 6),
        )
        for p in range(6)
        for i in range(9)
        if rng.random() < 0.8
    ]
    (grid,) = grids(rows)
    weights = rng.multinomial(9, np.full(9, 1 / 9), size=1).T.astype(float)
    again = [
        (p, c, f"{item}-{copy}", *rest)
        for p, c, item, *rest in rows
        for copy in range(int(weights[grid.items.index(item), 0]))
    ]
    (repeated,) = grids(again)
    for key in ("fraction_correct", "d_prime", "user_f1", "time_mean", "time_median", "certainty"):
        direct = dict(zip(repeated.participants, value(key, repeated), strict=True))
        weighted = KEYS[key].formula(Summed(grid).sums(weights))[:, 0]
        for name, number in zip(grid.participants, weighted, strict=True):
            assert number == pytest.approx(direct.get(name, math.nan), nan_ok=True), key


def test_pooled_sums_are_sums_over_people():
    (grid,) = grids(person("p1", tp=3, fp=1) + person("p2", tn=2, fn=4))
    assert KEYS["fraction_correct"].formula(pool_sums(grid)) == pytest.approx(0.5)


def test_the_post_survey_counts_participants():
    post = pd.DataFrame({"participant_id": ["p1", "p2"], "trust": [4.0, np.nan]})
    trust = estimate_measures(grids(person("p1", tp=1) + person("p2", tp=1), post=post)).get("trust", "a")
    assert (trust.value, trust.participants, trust.undefined, trust.trials) == (4, 1, 1, None)
    assert trust.interval is None


def test_reasons_for_what_is_not_available():
    rows = [("p", "a", "q", 1, np.nan, np.nan, np.nan), ("r", "a", "q", 1, np.nan, np.nan, np.nan)]
    estimates = estimate_measures(grids(rows, conditions=("a", "empty")))
    assert "not recorded whether the system's answer is correct" in estimates.get("fp", "a").reason
    assert estimates.get("time_mean", "a").reason == "no clock has a value"
    assert estimates.get("certainty", "a").reason == "nobody answered the question"
    assert "no question with the role helpfulness" in estimates.get("helpfulness", "a").reason
    assert estimates.get("agreement", "empty").reason == "the condition has no participants"
    assert estimates.get("fp", "a").value is None
    assert estimates.get("agreement", "a").value == 1
    assert not estimates.has_value("fp")


def test_one_participant_has_a_value_and_no_interval():
    agreement = estimate_measures(grids(person("p", tp=2, fp=2))).get("agreement", "a")
    assert (agreement.value, agreement.interval) == (1, None)


def test_a_condition_may_lack_correctness_that_another_has():
    rows = [*person("p1", tp=1), ("r1", "b", "q0", 1, np.nan, 1, 1)]
    estimates = estimate_measures(grids(rows, conditions=("a", "b")))
    assert estimates.get("fp", "a").value == 0
    assert estimates.get("fp", "b").value is None


def test_over_participants():
    values = np.array([[1.0, np.nan], [3.0, np.nan]])
    weights = np.array([[3.0, 1.0], [1.0, 1.0]])
    assert average_participants(values, weights) == pytest.approx([1.5, np.nan], nan_ok=True)
    geometric = average_participants(values, weights, geometric=True)
    assert geometric == pytest.approx([3**0.25, np.nan], nan_ok=True)


def test_own_questions_become_measures():
    question = Question(key="fun", text="It was fun.", scale=Points(points=7), role=None)
    item, post = build_own_measures([question], [Question(key="age", text="Old?", scale="yes_no")])
    assert (item.key, item.unit, item.wanted, post.unit) == ("fun", "points", None, "share")
    sums = {"fun": np.array([[9.0]]), "fun_n": np.array([[2.0]]), "age": np.array([[1.0]])}
    assert item.formula(sums) == 4.5
    assert post.formula(sums) == 1


def test_measures_are_found_by_key_and_label():
    assert find_measure("Over-Estimation") is KEYS["over_estimation"]
    assert find_measure(" fp ") is KEYS["fp"]
    assert find_measure("beauty") is None
    assert len(KEYS) == len(MEASURES)
