"""The number of systems that a study needs agrees with a formula.

Critical values agree with published tables, and noise pulls a correlation towards 0.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.planning.systems_needed import (
    choose_correlations,
    critical_value,
    estimate_noise,
    find_fewest_systems,
    plan_systems,
    simulate_power_over_systems,
)


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("true", [0.3, 0.5, 0.7])
def test_sizes_are_those_of_fishers_z(true):
    by_formula = ((stats.norm.isf(0.025) + stats.norm.isf(0.2)) / np.arctanh(true)) ** 2 + 3
    systems_needed = find_fewest_systems(true, rng=rng())
    assert systems_needed.systems == pytest.approx(by_formula, rel=0.08, abs=1)
    assert systems_needed.power.value >= 0.8


@pytest.mark.parametrize(
    ("coefficient", "n", "published"),
    # Two-sided .05: tables of the exact distributions; Kendall (1970) for tau, t for r.
    [("spearman", 6, 0.886), ("spearman", 7, 0.786), ("spearman", 8, 0.738), ("kendall", 6, 0.867),
     ("kendall", 7, 0.714), ("kendall", 8, 0.643), ("pearson", 10, 0.632), ("spearman", 20, 0.447)],
)  # fmt: skip
def test_critical_values_are_those_of_published_tables(coefficient, n, published):
    assert critical_value(coefficient, n, 0.05) == pytest.approx(published, abs=0.004)


def test_too_few_systems_for_a_level_claim_nothing():
    assert critical_value("spearman", 6, 0.002) == np.inf
    rate = simulate_power_over_systems(
        1.0, 6, noise=0.0, coefficient="kendall", alpha=0.002, simulations=50, rng=rng()
    )
    assert rate.value == 0


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_without_a_relation_it_claims_one_in_forty_of_each_sign(coefficient):
    arguments = {"noise": 0.0, "coefficient": coefficient, "alpha": 0.05, "simulations": 4000}
    rate = simulate_power_over_systems(1e-9, 12, rng=rng(), **arguments)
    assert rate.value <= stats.binom.ppf(0.999, 4000, 0.028) / 4000
    assert rate.value >= 0.015


def test_noise_is_a_weaker_correlation():
    noisy = simulate_power_over_systems(
        0.8, 15, noise=0.75, coefficient="pearson", alpha=0.05, simulations=4000, rng=rng()
    )
    weaker = simulate_power_over_systems(
        0.8 / 1.25, 15, noise=0.0, coefficient="pearson", alpha=0.05, simulations=4000, rng=rng(2)
    )
    assert noisy.value == pytest.approx(weaker.value, abs=4 * np.hypot(noisy.error, weaker.error))


def test_scenarios_have_streams_of_their_own():
    both: Any = plan_systems([0.7, 0.9], 0.5, rng())
    assert plan_systems([0.9], 0.5, rng()) == both[1:]
    assert both[1].without.systems <= both[0].without.systems < both[0].noisy.systems
    assert plan_systems([0.9], None, rng())[0].noisy is None


def test_very_weak_relations_need_more_than_any_study_has():
    assert str(find_fewest_systems(0.05, rng=rng())) == "more than 200"


def test_the_observed_correlation_is_a_scenario_unless_it_says_nothing():
    assert list(choose_correlations(-0.62)) == [0.5, 0.62, 0.7, 0.9]
    assert (
        list(choose_correlations(0.01))
        == list(choose_correlations(None))
        == list(choose_correlations(1.0))
        == [0.5, 0.7, 0.9]
    )


def test_noise_is_read_from_replicates():
    draw = rng(3)
    truth = draw.normal(0, 1.0, 400)
    means = truth + draw.normal(0, 0.5, 400)
    noise = estimate_noise(means, means + draw.normal(0, 0.5, (200, 400)) + draw.normal(0, 3, (200, 1)))
    assert noise == pytest.approx(0.5, abs=0.06)  # what shifts all systems alike is no noise
    assert estimate_noise(np.array([1.0, 1.1]), np.array([[1.0, 2.0], [2.0, 1.0]])) is None


@pytest.mark.parametrize(
    ("true", "more"), [(0.0, {}), (1.2, {}), (0.5, {"noise": -1.0}), (0.5, {"target": 0.04})]
)
def test_numbers_that_make_no_design(true, more):
    with pytest.raises(ValueError, match="a correlation must lie between"):
        find_fewest_systems(true, rng=rng(), **more)
