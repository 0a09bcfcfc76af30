"""Simulated power agrees with theory.

False alarms are as frequent as alpha says; pilots have their spread, such as that of the released study.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from analysis.participants.bundle import load_bundle
from analysis.planning.populations import Assumed, fit_normal_population, pilot
from analysis.planning.power import (
    _holm,
    compute_smallest_effect,
    power_curve,
    simulate_power,
    smallest_design,
)
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import released_study
from tests.analysis.grids import make_grid


def t_power(shift, sd, n, alpha=0.05):
    """Return the power of the two-sample t test (noncentral t)."""
    df, centre = 2 * n - 2, shift / sd * np.sqrt(n / 2)
    bound = stats.t.isf(alpha / 2, df)
    return stats.nct.sf(bound, df, centre) + stats.nct.cdf(-bound, df, centre)


def is_within_error(rate, truth):
    """Test if the rate is in the band that holds all but 1 in 500 rates."""
    n = round(rate.value * (1 - rate.value) / rate.error**2)
    low, high = stats.binom.ppf([0.001, 0.999], n, truth) / n
    return low <= rate.value <= high


def simulate(population, seed=1, **more) -> Any:
    design = {"effects": [0, 0.1], "participants": 10, "items": 25, "simulations": 3000} | more
    return simulate_power(population, rng=np.random.default_rng(seed), **design)


def load_released_pilot(tmp_path):
    study = analyse(load_bundle(released_study(tmp_path / "study")), Options(resamples=2))
    return pilot(study.retained.grids, lambda grid: grid.answers["correctness_rating"])


def test_it_works():
    curve: Any = power_curve(
        Assumed(0.1, residual_sd=0.3),
        effects=[0, 0.1],
        participants=[5, 10, 20, 40],
        items=25,
        simulations=1000,
        rng=np.random.default_rng(1),
    )
    values = [point.all.value for point in curve]
    assert values == sorted(values)
    assert values[0] < 0.5 < 0.9 < values[-1]
    assert curve[0].false_alarm is None
    assert curve[0].all == curve[0].any == curve[0].each[0, 1]


@pytest.mark.parametrize(("n", "items"), [(8, 25), (15, 10)])
def test_power_of_a_normal_measure_is_that_of_the_t_test(n, items):
    population = Assumed(0.1, item_sd=0.4, residual_sd=0.3)
    power = simulate(population, participants=n, items=items)
    assert is_within_error(power.all, t_power(0.1, np.sqrt(0.1**2 + 0.3**2 / items), n))


def test_power_of_a_yes_or_no_measure():
    power = simulate(Assumed(0.0, mean=0.6), participants=30, items=20)
    sd = np.sqrt((0.6 * 0.4 + 0.7 * 0.3) / 2 / 20)
    assert power.all.value == pytest.approx(t_power(0.1, sd, 30), abs=0.03)


@pytest.mark.parametrize(
    "population",
    [Assumed(0.1, residual_sd=0.3), Assumed(0.1, item_sd=0.1, mean=0.7), Assumed(0.15, mean=0.5)],
)
def test_no_effect_gives_false_alarms_as_often_as_alpha_says(population):
    power = simulate(population, effects=[0, 0], simulations=4000)
    assert power.all is None
    assert power.false_alarm.value <= stats.binom.ppf(0.999, 4000, 0.05) / 4000
    assert power.false_alarm.value >= stats.binom.ppf(0.001, 4000, 0.035) / 4000


@pytest.mark.parametrize(
    "population", [Assumed(0.2, residual_sd=0.3, change=True), Assumed(0.05, mean=0.6, change=True)]
)
def test_a_change_between_blocks_keeps_the_level_of_participants(population):
    power = simulate(population, participants=20, items=12)
    trial = 0.3**2 if population.mean is None else (0.6 * 0.4 + 0.7 * 0.3 / 2 + 0.6 * 0.4 / 2) / 2 - 0.05**2
    assert power.all.value == pytest.approx(t_power(0.1, np.sqrt(2 * trial / 12), 20), abs=0.04)
    none = simulate(population, effects=[0, 0], simulations=4000)
    assert (
        stats.binom.ppf(0.001, 4000, 0.035)
        <= 4000 * none.false_alarm.value
        <= stats.binom.ppf(0.999, 4000, 0.05)
    )


def test_a_win_rate_is_tested_against_one_half():
    """Against the one-sample t test (statsmodels)."""
    power = simulate(Assumed(0.1, mean=0.5), effects=[0.1], participants=20, items=10, reference=0.5)
    sd = np.sqrt(0.1**2 + (0.6 * 0.4 - 0.1**2) / 10)
    assert power.all.value == pytest.approx(TTestPower().power(0.1 / sd, 20, 0.05), abs=0.03)
    three = simulate(Assumed(0.1, mean=0.5), effects=[0.1, 0, 0], participants=20, items=10, reference=0.5)
    assert three.all == three.each[0, 0]
    assert three.all.value < power.all.value  # Holm
    assert (
        stats.binom.ppf(0.001, 3000, 0.025)
        <= 3000 * three.false_alarm.value
        <= stats.binom.ppf(0.999, 3000, 0.05)
    )
    with pytest.raises(ValueError, match="one or more pairs"):
        simulate(Assumed(0.1, mean=0.5), effects=[], reference=0.5)


def test_own_items_per_condition_are_a_trap():
    """The participant test takes the spread of items for an effect.

    Here the conditions show different items.
    """
    population = Assumed(0.05, item_sd=0.3, residual_sd=0.1, same_items=False)
    assert simulate(population, effects=[0, 0]).false_alarm.value > 0.2


def test_three_conditions_with_holm():
    power = simulate(Assumed(0.1, residual_sd=0.3), effects=[0, 0.1, 0.0], participants=15)
    assert set(power.each) == {(0, 1), (0, 2)}
    assert power.all == power.each[0, 1]
    assert power.false_alarm == power.each[0, 2]
    assert power.false_alarm.value <= 0.07
    two = simulate(Assumed(0.1, residual_sd=0.3), effects=[0, 0.1], participants=15)
    assert power.all.value < two.all.value
    pairs = simulate(Assumed(0.1, residual_sd=0.3), effects=[0, 0.1, 0.2], contrasts=[(0, 2), (1, 2)])
    assert set(pairs.each) == {(0, 2), (1, 2)}
    assert pairs.all.value < pairs.any.value


def test_holm_against_a_reference():
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    assert _holm(np.array([[0.01, 0.04, 0.03, 0.005]]))[0] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert _holm(np.array([[0.9, 0.8]]))[0] == pytest.approx([1, 1])


def test_a_pilot_with_gaps():
    rng = np.random.default_rng(3)
    seconds = rng.normal(60, 5, (20, 12))
    seconds[rng.random(seconds.shape) < 0.2] = np.nan
    seconds[4] = seconds[:, 2] = np.nan
    source = pilot([make_grid(seconds=seconds)], lambda grid: grid.seconds)
    assert len(source.people) == 19
    power = simulate(source, effects=[0, 0], participants=12, items=20)
    assert power.false_alarm.value <= stats.binom.ppf(0.999, 3000, 0.05) / 3000


def test_the_released_study(tmp_path):
    """A power of .80 for 10 points of agreement takes 19 per condition.

    10 participants per condition have a power of .51.
    """
    source = load_released_pilot(tmp_path)
    normal = fit_normal_population(source)
    for n, expected in ((10, 0.51), (19, 0.80)):
        power = simulate(normal, participants=n, simulations=4000)
        assert power.all.value == pytest.approx(expected, abs=3 * power.all.error)
    # Drawn from the 40 people themselves, whose outliers all sit in one condition, 10 do a little better.
    drawn = [simulate(source, participants=n, simulations=4000).all.value for n in (10, 19)]
    assert drawn == pytest.approx([0.55, 0.80], abs=0.03)


def test_the_smallest_design():
    population = Assumed(0.1069, residual_sd=0.0)
    design = smallest_design(
        population, effects=[0, 0.1], items=1, simulations=4000, rng=np.random.default_rng(1)
    )
    assert design.participants in (18, 19, 20)
    sizes = [point.participants for point in design.tried]
    assert sizes == sorted(set(sizes))
    hard = smallest_design(
        population, effects=[0, 0.01], items=1, simulations=200, rng=np.random.default_rng(1), most=50
    )
    assert hard.participants is None
    assert "even 50" in hard.reason


def test_a_population_without_variation():
    nothing_varies = simulate(Assumed(0.0, residual_sd=0.0), effects=[0, 0], simulations=10)
    assert nothing_varies.false_alarm.value == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"effects": [0]}, "two or more conditions"),
        ({"participants": 1}, "participants must be"),
        ({"items": 0}, "items must be"),
        ({"simulations": 0}, "simulations must be"),
        ({"alpha": 1}, "alpha"),
        ({"contrasts": [(0, 0)]}, "contrasts"),
        ({"contrasts": [(0, 2)]}, "contrasts"),
    ],
)
def test_a_malformed_design_is_named(change, words):
    with pytest.raises(ValueError, match=words):
        simulate(Assumed(0.1, residual_sd=0.1), **change)


def test_malformed_targets_are_named():
    for change, words in (
        ({"target": 1}, "target"),
        ({"most": 1}, "most"),
        ({"effects": [0, 0]}, "no difference"),
    ):
        design: Any = {"effects": [0, 1], "items": 1, "simulations": 5, "rng": np.random.default_rng(1)}
        with pytest.raises(ValueError, match=words):
            smallest_design(Assumed(1.0, residual_sd=0.0), **design | change)


@pytest.mark.parametrize("n", [3, 5, 17, 100])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_smallest_effect_is_that_of_statsmodels(n, alpha):
    solved = TTestIndPower().solve_power(nobs1=n, alpha=alpha, power=0.8, alternative="two-sided")
    assert compute_smallest_effect(np.sqrt(2 / n), 2 * n - 2, alpha=alpha) == pytest.approx(solved, rel=1e-4)


def test_a_simulated_study_finds_the_smallest_effect_with_its_power():
    population, n, items = Assumed(0.1, residual_sd=0.3), 12, 25
    error = np.sqrt(2 / n * (0.1**2 + 0.3**2 / items))
    effect = compute_smallest_effect(error, 2 * n - 2)
    power = simulate(population, effects=[0, effect], participants=n, items=items)
    assert is_within_error(power.all, 0.8)


@pytest.mark.parametrize(("target", "alpha"), [(0.04, 0.05), (1.0, 0.05), (0.8, 0.0)])
def test_a_power_that_no_effect_has(target, alpha):
    with pytest.raises(ValueError, match="target must lie between alpha and 1"):
        compute_smallest_effect(1.0, 10, target=target, alpha=alpha)
