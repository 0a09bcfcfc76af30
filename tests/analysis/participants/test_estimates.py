"""Two-way bootstrap intervals cover the truth.

Coverage is simulated. Chunks, and other names and orders of participants, do not change the estimates.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.participants.estimates import estimate
from analysis.participants.measures import MEASURES
from analysis.participants.trial_grid import Grid, build_grids

BY_KEY = {measure.key: measure for measure in MEASURES}
SOME = [BY_KEY["agreement"], BY_KEY["time_mean"], BY_KEY["time_median"]]


def grid_of(rated, seconds, condition="a"):
    """Return a grid from two arrays of participants × items."""
    people, items = rated.shape
    return Grid(
        condition=condition,
        participants=tuple(f"{condition}{i:04d}" for i in range(people)),
        items=tuple(f"q{i:04d}" for i in range(items)),
        present=~np.isnan(rated),
        seconds=seconds,
        system_correct=np.full(rated.shape, np.nan),
        answers={"correctness_rating": rated},
        post={},
    )


def simulate_grid(rng, people=20, items=25, person_sd=0.8, item_sd=0.8, mean=0.7):
    """Simulate ratings and times with effects of participants and items.

    The effects are crossed.
    """
    effects = rng.normal(0, person_sd, (people, 1)) + rng.normal(0, item_sd, (1, items))
    rated = (rng.random((people, items)) < 1 / (1 + np.exp(-(mean + effects)))).astype(float)
    return grid_of(rated, 60 + 10 * effects + rng.normal(0, 10, (people, items)))


def test_it_works():
    rng = np.random.default_rng(1)
    agreement = estimate([simulate_grid(rng)], SOME, rng=rng, resamples=400).get("agreement", "a")
    assert agreement.interval
    assert agreement.value
    low, high = agreement.interval
    assert low < agreement.value < high
    assert 0.1 < high - low < 0.5


@pytest.mark.parametrize(("key", "truth"), [("time_mean", 60.0), ("time_median", 60.0)])
def test_intervals_cover_the_truth_as_often_as_they_say(key, truth):
    """Intervals of 100 studies with crossed effects cover the truth.

    Coverage is below 95 % only by chance; above is allowed (pigeonhole).
    """
    rng = np.random.default_rng(2)
    measure, studies, covered = BY_KEY[key], 100, 0
    for _ in range(studies):
        interval = estimate([simulate_grid(rng)], [measure], rng=rng, resamples=200).get(key, "a").interval
        assert interval
        covered += interval[0] <= truth <= interval[1]
    # A percentile interval from 20 participants and 25 items is a little short: 93 % is the bound.
    assert covered >= stats.binom.ppf(0.01, studies, 0.93)
    assert covered < studies


def test_intervals_ignoring_items_would_be_too_short():
    """Resampling people alone would give almost no width.

    In this grid, items differ and people do not.
    """
    rng = np.random.default_rng(3)
    grid = simulate_grid(rng, people=40, items=8, person_sd=0, item_sd=2)
    interval = estimate([grid], SOME, rng=rng, resamples=400).get("agreement", "a").interval
    assert interval
    standard_error = np.nanmean(grid.answers["correctness_rating"], axis=1).std(ddof=1) / np.sqrt(40)
    assert interval[1] - interval[0] > 3 * 2 * 1.96 * standard_error


def test_the_spread_is_that_of_crossed_sampling():
    """The two-way variance of a mean agrees with its closed form.

    The closed form is people + items + 3 residual (Owen 2007).
    """
    rng = np.random.default_rng(4)
    people, items = 30, 24
    a, b, e = rng.normal(0, 3, people), rng.normal(0, 2, items), rng.normal(0, 4, (people, items))
    seconds = 60 + a[:, None] + b[None] + e
    grid = grid_of(np.ones((people, items)), seconds)
    draws = estimate([grid], [BY_KEY["time_mean"]], rng=rng, resamples=4000).replicates["time_mean"][:, 0]
    centred = seconds - seconds.mean()
    rows, columns = centred.mean(axis=1), centred.mean(axis=0)
    rest = centred - rows[:, None] - columns[None]
    expected = (rows**2).mean() / people + (columns**2).mean() / items + (rest**2).mean() / (people * items)
    assert draws.var() == pytest.approx(expected, rel=0.1)


def test_the_seed_decides_and_nothing_else():
    grid = simulate_grid(np.random.default_rng(5))
    first, second, other = (
        estimate([grid], SOME, rng=np.random.default_rng(seed), resamples=50).replicates["time_median"]
        for seed in (1, 1, 2)
    )
    assert (first == second).all()
    assert (first != other).any()


def test_chunks_do_not_change_the_shape(monkeypatch):
    grid = simulate_grid(np.random.default_rng(6))
    monkeypatch.setattr("analysis.stats.bootstrap.CELLS_PER_CHUNK", 100)
    monkeypatch.setattr("analysis.stats.bootstrap.LEAST_AT_ONCE", 5)
    steps: list[int] = []
    estimates = estimate([grid], SOME, rng=np.random.default_rng(1), resamples=23, advance=steps.append)
    assert estimates.replicates["agreement"].shape == (23, 1)
    assert np.isfinite(estimates.replicates["agreement"]).all()
    assert steps == [5, 5, 5, 5, 3]


def test_blocks_of_participants_change_nothing(monkeypatch):
    grid = simulate_grid(np.random.default_rng(8))
    whole = estimate([grid], MEASURES, rng=np.random.default_rng(1), resamples=40)
    monkeypatch.setattr("analysis.stats.bootstrap.CELLS_PER_CHUNK", 160)  # four participants at once
    blocks = estimate([grid], MEASURES, rng=np.random.default_rng(1), resamples=40)
    for key, replicates in whole.replicates.items():
        assert blocks.replicates[key] == pytest.approx(replicates, nan_ok=True)


def test_no_resamples_no_interval():
    grid = simulate_grid(np.random.default_rng(7))
    estimates = estimate([grid], SOME, rng=np.random.default_rng(1), resamples=0)
    assert estimates.get("agreement", "a").interval is None
    assert estimates.get("agreement", "a").value is not None


def test_metamorphic():
    """Renaming and reordering people changes no estimate.

    Scaling times scales value and interval.
    """
    rng = np.random.default_rng(8)
    rows = [
        (f"p{p}", "a", f"q{i}", 1.0, np.nan, float(rng.integers(1, 99) * 1000))
        for p in range(6)
        for i in range(5)
    ]
    columns = ["participant_id", "condition", "item_id", "rated", "system_correct", "ms"]
    trials = pd.DataFrame(rows, columns=columns)

    def run(frame):
        grids = build_grids(
            frame,
            frame.sort_index()[["participant_id", "condition"]].drop_duplicates(),
            None,
            conditions=["a"],
            clock="ms",
            item_columns={"correctness_rating": "rated"},
            post_columns={},
        )
        return estimate(grids, SOME, rng=np.random.default_rng(1), resamples=100).get("time_mean", "a")

    base = run(trials)
    shuffled = run(trials.sample(frac=1, random_state=1))
    assert (shuffled.value, shuffled.interval) == (base.value, base.interval)
    renamed = run(trials.assign(participant_id="x" + trials["participant_id"].str[::-1]))
    assert renamed.value == pytest.approx(base.value)
    scaled = run(trials.assign(ms=trials["ms"] * 2))
    assert scaled.value == pytest.approx(2 * base.value)
    assert scaled.interval == pytest.approx(tuple(2 * bound for bound in base.interval))


def test_bca_intervals():
    """BCa cuts the same replicates elsewhere.

    The leave-one-item-out values are those of the smaller study.
    """
    grid = simulate_grid(np.random.default_rng(9), people=12, items=10)
    plain, bca = (
        estimate([grid], SOME, rng=np.random.default_rng(1), resamples=500, method=method)
        for method in ("percentile", "bca")
    )
    time_mean = bca.get("time_mean", "a")
    assert (time_mean.interval_method, time_mean.interval_reason) == ("bca", "")
    assert (bca.replicates["time_mean"] == plain.replicates["time_mean"]).all()
    assert time_mean.interval != plain.get("time_mean", "a").interval
    assert time_mean.interval == pytest.approx(plain.get("time_mean", "a").interval, rel=0.1)
    without = grid_of(np.delete(grid.answers["correctness_rating"], 3, 1), np.delete(grid.seconds, 3, 1))
    smaller = estimate([without], SOME, rng=np.random.default_rng(1), resamples=0)
    for measure in SOME:
        expected = smaller.get(measure.key, "a").value
        assert bca.without_item[measure.key][3, 0] == pytest.approx(expected)
