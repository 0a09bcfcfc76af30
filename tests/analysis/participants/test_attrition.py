"""Attrition tests against R and by simulation; the flow of a study."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.participants import attrition
from analysis.participants.attrition import (
    SAMPLED,
    ConditionFlow,
    ParticipantFlow,
    completion_test,
    compute_excluded_shares,
    exclusion_test,
    freeman_halton,
    participant_flow,
    position_test,
)
from analysis.participants.bundle import load_bundle
from analysis.participants.study_version import Condition
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study, released_study

RNG = np.random.default_rng


def part(title="a", **more) -> ConditionFlow:
    values: dict[str, Any] = {
        "title": title,
        "assigned": 20,
        "started": 19,
        "completed": 15,
        "active": 2,
        "withdrawn": 3,
        "dropped_at": {0: 2, 3: 1, 7: 2},
        "trials": 390,
        "hit": {"too-fast": 5, "known": 4},
        "retained": 383,
        "contributing": 18,
    }
    return ConditionFlow(**values | more)


def flow_of(*conditions):
    return ParticipantFlow(45, conditions)


def test_it_works(tmp_path):
    people = {"assigned": 7, "started": 6, "completed": 6, "dropped_at": {"10": 1, "0": 0}}
    recorded_flow = {"modes": {"live": {"consented": 9, "conditions": {"one": people}}}}
    study = analyse(load_bundle(planted_study(tmp_path / "study", flow=recorded_flow)), Options(resamples=2))
    names = study.exclusions.names
    rules = [rule.name for rule in study.bundle.rules]
    flow = participant_flow(study.conditions, study.bundle.flow["live"], study.trials, names, rules)
    first = flow.conditions[0]
    assert (flow.consented, first.title, first.assigned, first.trials) == (9, "one", 7, 48)
    assert list(first.dropped_at) == [0, 10]
    assert sum(condition.excluded for condition in flow.conditions) == study.exclusions.excluded
    assert (
        sum(condition.hit["known-before"] for condition in flow.conditions)
        == study.exclusions.by_rule["known-before"]
    )
    assert sum(condition.retained for condition in flow.conditions) == len(study.retained.trials)
    assert flow.conditions[1].assigned is None
    assert completion_test(flow, rng=RNG(1)).reason == "the bundle holds no participant flow"
    with pytest.raises(ValueError, match="entries for"):
        participant_flow(study.conditions, None, study.trials, names[1:], rules)


@pytest.mark.parametrize(
    ("lost", "n", "expected"),
    # R: fisher.test(rbind(lost, n - lost))$p.value
    [
        ([3, 9, 1], [20, 22, 19], 0.0185883580118),
        ([0, 4, 2, 7], [10, 11, 12, 13], 0.0226434222051),
        ([5, 1], [12, 15], 0.0601635079896),
    ],
)
def test_the_exact_test_against_r(lost, n, expected):
    p, exact = freeman_halton(lost, n, rng=RNG(1))
    assert p == pytest.approx(expected, abs=1e-11)
    assert exact


def test_two_conditions_are_fishers_test():
    for table in ([[3, 7], [8, 2]], [[0, 5], [4, 1]], [[1, 1], [1, 1]]):
        hits, n = [row[0] for row in table], [sum(row) for row in table]
        assert freeman_halton(hits, n, rng=RNG(1))[0] == pytest.approx(stats.fisher_exact(table).pvalue)


def test_sampled_where_tables_are_too_many(monkeypatch):
    lost, n = [0, 4, 2, 7], [10, 11, 12, 13]
    monkeypatch.setattr(attrition, "MOST_TABLES", 10)
    p, exact = freeman_halton(lost, n, rng=RNG(1))
    assert not exact
    assert p == pytest.approx(0.0226, abs=4 * np.sqrt(0.0226 / SAMPLED))
    extreme, _ = freeman_halton([0, 100, 0], [100, 100, 100], rng=RNG(1))
    assert extreme == 1 / (SAMPLED + 1)


def test_alike_conditions_are_seldom_called_different():
    """The exact test calls fewer than 5 % of alike conditions different.

    With 60 people a condition, the rate of p at most 0.05 is not far below 0.05.
    """
    rng = RNG(2)
    p = [freeman_halton(rng.binomial(60, 0.3, 3), [60, 60, 60], rng=rng)[0] for _ in range(400)]
    rate = np.mean(np.array(p) <= 0.05)
    assert stats.binom.ppf(0.001, 400, 0.025) / 400 <= rate <= stats.binom.ppf(0.999, 400, 0.05) / 400


def test_planted_attrition_is_found():
    test = completion_test(flow_of(part("a"), part("b", completed=2, assigned=20)), rng=RNG(1))
    assert test.exact
    assert test.p is not None
    assert test.p < 0.001
    assert test.counts == {"a": (5, 20), "b": (18, 20)}
    assert "a 5 of 20, b 18 of 20" in test.sentence
    assert "does not show" in test.sentence


def test_who_is_still_active_may_be_left_out():
    test = completion_test(flow_of(part("a"), part("b", active=5)), rng=RNG(1), ongoing=True)
    assert test.counts == {"a": (3, 18), "b": (0, 15)}


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([part("a", assigned=15), part("b", assigned=15)], "nobody was lost"),
        ([part("a", completed=0), part("b", completed=0)], "nobody completed"),
        (
            [part("a"), part("b", assigned=0, completed=0)],
            "fewer than two conditions have participants",
        ),
    ],
)
def test_nothing_to_test(conditions, reason):
    test = completion_test(flow_of(*conditions), rng=RNG(1))
    assert (test.p, test.reason) == (None, reason)
    assert reason in test.sentence


def test_positions():
    early, late = part("a", dropped_at={0: 4, 1: 4}), part("b", dropped_at={20: 5, 22: 3})
    test = position_test(flow_of(early, late), rng=RNG(1))
    assert test.p is not None
    assert 0 < test.p < 0.01
    same = position_test(flow_of(part("a", dropped_at={3: 2}), part("b", dropped_at={3: 1})), rng=RNG(1))
    assert same.reason == "all values are the same"
    alone = position_test(flow_of(early, part("b", dropped_at={})), rng=RNG(1))
    assert alone.reason == "fewer than two conditions have anybody to compare"


def test_the_permutation_p_against_scipy():
    rng = RNG(3)
    groups = {name: np.round(rng.random(size), 1) for name, size in (("a", 9), ("b", 7), ("c", 8))}
    test = exclusion_test(groups, rng=rng)
    reference = stats.permutation_test(
        list(groups.values()),
        lambda *g: stats.kruskal(*g).statistic,
        n_resamples=1999,
        alternative="greater",
        rng=RNG(4),
    ).pvalue
    assert test.p == pytest.approx(reference, abs=4 * np.sqrt(0.25 / 1999))


def test_shares_of_excluded_trials():
    trials = pd.DataFrame({"participant_id": list("aabbc"), "condition": ["x", "x", "x", "x", "y"]})
    conditions = [Condition(name="y", label="Why"), Condition(name="x"), Condition(name="nobody")]
    shares = compute_excluded_shares(conditions, trials, [("r",), (), (), (), ("r", "s")])
    assert list(shares) == ["Why", "x", "nobody"]
    assert [values.tolist() for values in shares.values()] == [[1.0], [0.5, 0.0], []]
    assert exclusion_test(shares, rng=RNG(1)).counts == {"Why": (1, 1), "x": (1, 2), "nobody": (0, 0)}
    with pytest.raises(ValueError, match="from 0 to 1"):
        exclusion_test({"x": np.array([2.0])}, rng=RNG(1))


def test_the_released_study(tmp_path):
    """Exclusions in the released study are spread over people as by chance.

    All of the 40 participants completed; 43 trials were dropped.
    """
    study = analyse(load_bundle(released_study(tmp_path / "study")), Options(resamples=2))
    shares = compute_excluded_shares(study.conditions, study.trials, study.exclusions.names)
    assert sum(values.sum() * 25 for values in shares.values()) == pytest.approx(43)
    test = exclusion_test(shares, rng=RNG(1))
    assert test.p is not None
    assert test.p > 0.05


@pytest.mark.parametrize(
    ("hits", "n"), [([1], [2]), ([3, 0], [2, 2]), ([-1, 0], [2, 2]), ([1, 1], [2, 2, 2])]
)
def test_malformed_tables_are_named(hits, n):
    with pytest.raises(ValueError, match="hits must hold"):
        freeman_halton(hits, n, rng=RNG(1))
