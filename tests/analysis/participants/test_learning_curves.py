"""Learning curves over position have the planted slopes.

Without learning the interval holds 0; participants who leave early have no last block.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.participants.bundle import load_bundle
from analysis.participants.learning_curves import arrange_positions, learning
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import released_study
from tests.analysis.grids import make_grid, random_orders

NO = np.nan


def simulate_times(rng, people=12, items=15, slope=0.0, condition="a"):
    """Simulate times that change by exp(slope) per position.

    People and items have effects. Returns the grid and its positions.
    """
    positions = random_orders(rng, people, items)
    effects = rng.normal(0, 0.3, (people, 1)) + rng.normal(0, 0.3, items)
    logs = 4 + effects + slope * positions + rng.normal(0, 0.3, (people, items))
    return make_grid(condition, seconds=np.exp(logs)), positions


def find_curve(curves, trait, condition=""):
    return next(curve for curve in curves if (curve.trait, curve.condition) == (trait, condition))


def test_it_works():
    rng = np.random.default_rng(1)
    (grid, positions), (other_grid, other_positions) = (
        simulate_times(rng, slope=-0.05),
        simulate_times(rng, people=9, slope=-0.05, condition="b"),
    )
    curves = learning([grid, other_grid], [positions, other_positions], rng=rng, resamples=300)
    assert {curve.trait for curve in curves} == {"seconds", "log_seconds"}
    assert [curve.condition for curve in curves if curve.trait == "seconds"] == ["a", "b", ""]
    everybody = find_curve(curves, "log_seconds")
    assert [(b.first, b.last) for b in everybody.blocks] == [(1, 5), (6, 10), (11, 15)]
    assert everybody.slope.interval[0] < -0.05 < everybody.slope.interval[1] < 0
    assert everybody.slope.participants == 21
    assert everybody.change.value == pytest.approx(
        everybody.blocks[2].mean.value - everybody.blocks[0].mean.value
    )


def test_without_learning_the_interval_of_the_slope_holds_zero():
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(150):
        grid, positions = simulate_times(rng)
        low, high = find_curve(
            learning([grid], [positions], rng=rng, resamples=150), "log_seconds"
        ).slope.interval
        covered += low <= 0 <= high
    assert covered >= stats.binom.ppf(0.01, 150, 0.92)


def test_slope_and_blocks_by_hand():
    positions = np.array([[1.0, 2, 3], [3, 1, 2]])
    seconds = np.array([[10.0, 20, 30], [60, 40, 50]])
    curves = learning(
        [make_grid(seconds=seconds)], [positions], rng=np.random.default_rng(1), resamples=0, block=2
    )
    times = find_curve(curves, "seconds")
    assert [b.mean.value for b in times.blocks] == [
        pytest.approx((15 + 45) / 2),
        pytest.approx((30 + 60) / 2),
    ]
    assert times.slope.value == pytest.approx(10)
    assert times.change.value == pytest.approx(15)
    assert times.slope.interval is None


def test_changes_within_people_have_t_intervals():
    rng = np.random.default_rng(8)
    grid = make_grid(seconds=rng.gamma(9, 5, (7, 10)))
    positions = random_orders(rng, 7, 10)
    change = find_curve(learning([grid], [positions], rng=rng, resamples=50), "seconds").change
    differences = np.array([
        seconds[order > 5].mean() - seconds[order <= 5].mean()
        for seconds, order in zip(grid.seconds, positions, strict=True)
    ])  # fmt: skip
    expected = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    assert change.interval == pytest.approx(expected)
    assert "Student" in change.method


def test_a_single_block_has_no_change():
    grid, positions = simulate_times(np.random.default_rng(7), items=4)
    curve = find_curve(learning([grid], [positions], rng=np.random.default_rng(1), resamples=20), "seconds")
    assert len(curve.blocks) == 1
    assert (curve.change.value, curve.change.interval) == (None, None)
    assert curve.slope.value is not None


def test_who_leaves_early_has_no_last_block():
    rng = np.random.default_rng(3)
    grid, positions = simulate_times(rng)
    positions[0, positions[0] > 5] = NO
    curve = find_curve(learning([grid], [positions], rng=rng, resamples=0), "seconds", "a")
    assert [b.mean.undefined for b in curve.blocks] == [0, 1, 1]
    assert curve.change.undefined == 1


def test_right_ratings_need_the_systems_correctness():
    rng = np.random.default_rng(4)
    rated = (rng.random((6, 10)) < 0.5).astype(float)
    right = np.where(random_orders(rng, 6, 10) > 5, rated, 1 - rated)
    positions = random_orders(rng, 6, 10)
    grid = make_grid(correctness_rating=rated, correct=right)
    traits = {curve.trait for curve in learning([grid], [positions], rng=rng, resamples=0)}
    assert traits == {"fraction_correct", "agreement"}
    grid = make_grid(correctness_rating=rated, seconds=np.zeros((6, 10)))
    assert {curve.trait for curve in learning([grid], [positions], rng=rng, resamples=0)} == {
        "agreement",
        "seconds",
    }


def test_positions_come_from_the_trials():
    grid = make_grid(seconds=np.ones((2, 2)))
    trials = pd.DataFrame(
        [("a0001", "q0000", 2), ("a0001", "q0001", 1), ("a0000", "q0001", NO), ("b0000", "q0001", 4)],
        columns=["participant_id", "item_id", "position"],
    )
    assert arrange_positions(grid, trials) == pytest.approx(np.array([[NO, NO], [2, 1]]), nan_ok=True)


def test_no_positions_no_learning():
    grid, positions = simulate_times(np.random.default_rng(5))
    assert learning([grid], [positions * NO], rng=np.random.default_rng(1), resamples=10) == []


def test_malformed_input_is_named():
    grid, positions = simulate_times(np.random.default_rng(6))
    with pytest.raises(ValueError, match="one array per grid"):
        learning([grid], [positions.T], rng=np.random.default_rng(1), resamples=0)
    with pytest.raises(ValueError, match="block must be"):
        learning([grid], [positions], rng=np.random.default_rng(1), resamples=0, block=0)


def test_the_released_study(tmp_path):
    """The first five items take 81 s on average, the last five 59 s.

    The times are those of the retained trials.
    """
    study = analyse(load_bundle(released_study(tmp_path / "study")), Options(resamples=2))
    grids = study.retained.grids
    positions = [arrange_positions(grid, study.retained.trials) for grid in grids]
    curves = learning(grids, positions, rng=np.random.default_rng(1), resamples=400)
    times = find_curve(curves, "seconds")
    assert [round(b.mean.value) for b in (times.blocks[0], times.blocks[-1])] == [81, 59]
    assert times.blocks[0].mean.participants == 40
    assert find_curve(curves, "log_seconds").slope.interval[1] < 0
