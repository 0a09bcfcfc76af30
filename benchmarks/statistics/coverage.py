"""Simulate coverage of intervals and error rates of tests.

Run ``python -m benchmarks.statistics.coverage``.

Simulated studies with crossed participants and items: people differ in trust, pace and certainty, items in
how believable, long and clear they are, so that trials of one person, and on one item, belong together. Each
study is analysed as a real one. The truth of an interval is the mean of its statistic over many studies of a
thousand participants and as many items; that of the calibration error, which is above 0 by chance in small
studies, and of a correlation, which noise pulls towards 0, is the value with six hundred items.

Levels of the tests of conditions are simulated apart (`benchmarks.statistics._levels`), in more studies of
more sizes; ``--only comparisons --studies 2000 --store FILE`` goes on where it was stopped.

Bars: an interval holds the truth in no less than `LEAST`, a test rejects in no more than `MOST` of the
studies, a mixed model in no more than `MOST_MIXED`, but for chance. Below `FEW` participants a condition they
are not bars; docs/reference/coverage.md says what was measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.models.linear_mixed import mixed_log_time
from analysis.participants.attrition import exclusion_test
from analysis.participants.confidence_calibration import calibration
from analysis.participants.estimates import estimate
from analysis.participants.learning_curves import learning
from analysis.participants.measures import MEASURES
from analysis.participants.time_by_certainty import time_at_certainty
from analysis.stats.arrays import Array
from analysis.stats.correlations import COEFFICIENTS, correlate
from analysis.stats.effect_sizes import welch_difference
from analysis.study.comparisons import compare

from ._crossed_studies import (
    LEAST,
    MOST,
    Interval,
    Rate,
    Size,
    World,
    build_trials,
    format_rows,
    is_bar_missed,
)
from ._levels import MOST_MIXED, OWN_ITEM_SD, estimate_levels
from ._levels import SIZES as LEVEL_SIZES
from ._levels import STUDIES as LEVELS

RESAMPLES = 400
STATED = (0.2, 0.35, 0.5, 0.65, 0.8)  # what the levels of certainty would mean as probabilities
SCORES = (0.2, 0.5, 0.4, 0.8, 0.6, 0.9)  # of the systems that are correlated, in their order
SHIFT = 0.5  # of the second condition's log odds and, scaled, of its times
_KEYS = ("agreement", "fp", "over_estimation", "d_prime", "time_mean", "time_geometric", "certainty")
MEASURED = [measure for measure in MEASURES if measure.key in _KEYS]


SIZES = (Size(5, 10), Size(10, 15), Size(20, 25), Size(40, 25))
Found = dict[str, tuple[float | None, Interval]]  # what a study gives: value and interval, by label


# --- intervals: each study gives the value and the interval of every label ---------------------------------


def estimate_measures(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the measures of one condition."""
    grid = World(rng, size.items).condition(size.people)
    estimates = estimate([grid], MEASURED, rng=rng, resamples=resamples)
    own = {m.key: estimates.get(m.key, "a") for m in MEASURED}
    return {f"measure: {key}": (result.value, result.interval) for key, result in own.items()}


def estimate_differences(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Compare two conditions on these items, and on items like these.

    Items then act unlike in the two conditions.
    """
    labels: Found = {}
    for target, own_item_sd in (("these_items", 0.0), ("items_like_these", OWN_ITEM_SD)):
        world = World(rng, size.items, own_item_sd)
        grids = [world.condition(size.people), world.condition(size.people, "b", SHIFT)]
        estimates = estimate(grids, MEASURED, rng=rng, resamples=0)
        for key in ("agreement", "time_geometric"):
            result = compare(estimates, key, "a", "b", rng=rng, permutations=499 if resamples else 1)
            finding = result.these_items if target == "these_items" else result.items_like_these
            labels[f"difference, {target.replace('_', ' ')}: {key}"] = (finding.estimate, finding.interval)
    return labels


def estimate_calibrations(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the calibration errors of one condition."""
    grid = World(rng, size.items).condition(size.people)
    [result, _] = calibration([grid], 5, rng=rng, resamples=resamples, probabilities=STATED)
    named = {"share right at level 3": result.levels[2].right, "slope": result.slope, "AUROC": result.auroc}
    named |= {"gamma": result.gamma, "error": result.error}
    return {f"calibration: {name}": (mean.value, mean.interval) for name, mean in named.items()}


def estimate_learning_curves(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the learning curves of one condition."""
    grid = World(rng, size.items).condition(size.people)
    orders = draw_random_orders(rng, *grid.present.shape)
    grid.seconds[:] = grid.seconds * np.exp(-0.02 * orders)
    estimates = {
        result.trait: result for result in learning([grid], [orders], rng=rng, resamples=resamples)[::-1]
    }
    labels: Found = {}
    for trait in ("log_seconds", "fraction_correct"):
        for name in ("change", "slope"):
            mean = getattr(estimates[trait], name)
            labels[f"learning: {name} of {trait}"] = (mean.value, mean.interval)
    [_, _, level, _, _] = time_at_certainty([grid], 5, rng=rng, resamples=resamples)
    return labels | {"time at certainty 3": (level.seconds, level.interval)}


def estimate_correlations(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Return correlations with systems whose scores differ.

    The truth is over these same systems.
    """
    labels: Found = {}
    for n in (3, 6):
        world = World(rng, size.items)
        grids = [world.condition(size.people, f"s{k}", shift) for k, shift in enumerate(_list_shifts(n))]
        estimates = estimate(grids, MEASURED[:1], rng=rng, resamples=resamples)
        values = [estimates.get("agreement", grid.condition).value for grid in grids]
        draws = estimates.replicates["agreement"] if resamples else None
        for coefficient in COEFFICIENTS:
            result = correlate(np.array(values, float), SCORES[:n], coefficient, replicates=draws, rng=rng)
            labels[f"correlation over {n} systems: {coefficient}"] = (result.value, result.interval)
    return labels


def _list_shifts(n: int) -> list[float]:
    return [0.0, 0.9, 0.6, 1.5, 0.5, 1.2][:n]


INTERVALS: dict[Callable[[np.random.Generator, Size, int], Found], bool] = {
    estimate_measures: False,
    estimate_differences: False,
    estimate_calibrations: False,
    estimate_learning_curves: False,
    estimate_correlations: True,
}
LIMITS = ("calibration: error", "correlation over")  # whose truth is that of many items


def estimate_truths(
    study: Callable[[np.random.Generator, Size, int], Found], size: Size, studies: int
) -> dict[str, float]:
    """Return the mean of each statistic over very large studies."""
    labels = study(np.random.default_rng(0), size, 0)
    own: dict[str, float] = {}
    if not all(label.startswith(LIMITS) for label in labels):
        own = _average_estimates(study, Size(1000, size.items), studies, seed=11)
    if any(label.startswith(LIMITS) for label in labels):
        many = _average_estimates(study, Size(1000, 600), max(3, studies // 40), seed=12)
        own |= {label: value for label, value in many.items() if label.startswith(LIMITS)}
    return own


def _average_estimates(
    study: Callable[[np.random.Generator, Size, int], Found], size: Size, studies: int, seed: int
) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    estimates = [study(rng, size, 0) for _ in range(studies)]
    return {
        label: float(np.mean([result[label][0] for result in estimates if result[label][0] is not None]))
        for label in estimates[0]
    }


def estimate_coverage(
    study: Callable[[np.random.Generator, Size, int], Found],
    size: Size,
    studies: int,
    *,
    truth: dict[str, float],
    seed: int = 1,
    resamples: int = RESAMPLES,
) -> list[Rate]:
    """Return the share of studies in which each interval holds its truth."""
    rng = np.random.default_rng([seed, *size])
    estimates = [study(rng, size, resamples) for _ in range(studies)]
    rates = []
    for label, value in truth.items():
        intervals = [interval for result in estimates if (interval := result[label][1]) is not None]
        hits = sum(low - 1e-9 <= value <= high + 1e-9 for low, high in intervals)
        rates.append(Rate(label, size, hits, len(intervals), studies - len(intervals)))
    return rates


# --- tests: each study, in which nothing differs, gives the p of every label -------------------------------


def run_null_tests(rng: np.random.Generator, size: Size) -> dict[str, float | None]:
    """Test two alike conditions, and three of excluded trials."""
    world = World(rng, size.items)
    grids = [world.condition(size.people, name) for name in ("a", "b")]
    first, second = (
        estimate(grids, MEASURED[:1], rng=rng, resamples=0).per_participant["agreement"][column]
        for column in (0, 1)
    )
    orders = draw_random_orders(rng, 2 * size.people, size.items)
    timed = mixed_log_time(build_trials(grids, "seconds", orders))
    human, model = rng.normal(size=(2, 6))
    return {
        "Welch's t over participants": welch_difference(first, second).p,
        "mixed model, position": timed.position.p if timed.position else None,
        "attrition: excluded shares": exclusion_test(_simulate_exclusions(rng, size), rng=rng).p,
        **{f"correlation of 6 systems: {c}": correlate(human, model, c).p for c in COEFFICIENTS},
    }


def draw_random_orders(rng: np.random.Generator, people: int, items: int) -> Array:
    """Draw positions from 1 in a random order for each participant."""
    return np.argsort(rng.random((people, items)), axis=1).astype(float) + 1


def _simulate_exclusions(rng: np.random.Generator, size: Size) -> dict[str, Array]:
    """Draw shares of excluded trials in three alike conditions."""
    prone = rng.beta(1, 9, (3, size.people))
    shares: Array = rng.binomial(size.items, prone) / size.items
    return dict(zip("abc", shares, strict=True))


def reject(size: Size, studies: int, *, seed: int = 2, alpha: float = 0.05) -> list[Rate]:
    """Return the share of studies in which each test rejects at `alpha`."""
    rng = np.random.default_rng([seed, *size])
    frame = pd.DataFrame([run_null_tests(rng, size) for _ in range(studies)]).astype(float)
    return [
        Rate(label, size, int((own <= alpha).sum()), len(own), studies - len(own))
        for label, own in ((label, frame[label].dropna()) for label in frame.columns)
    ]


# --- the tables ---------------------------------------------------------------------------------------------


def print_intervals(studies: int) -> int:
    """Print coverage, and return the number of shares below the bar."""
    held: list[Rate] = []
    for study in INTERVALS:
        for size in SIZES:
            held += estimate_coverage(study, size, studies, truth=estimate_truths(study, size, 400))
    print(f"95 % intervals: share of {studies} studies that hold the truth, in percent")
    print("\n".join(format_rows(held, interval=True)), flush=True)
    return sum(is_bar_missed(rate, interval=True) for rate in held)


def print_tests(studies: int) -> int:
    """Print rejections, and return the number of shares above the bar."""
    rejected = [rate for size in SIZES for rate in reject(size, studies)]
    print(f"tests at 5 %: share of {studies} studies without a difference that reject, in percent")
    print("\n".join(format_rows(rejected, interval=False)), flush=True)
    return sum(is_bar_missed(rate, interval=False) for rate in rejected)


def print_levels(kind: str, studies: int, store: Path | None) -> int:
    """Print rejections of tests of conditions, and count those above the bar."""
    rejected = estimate_levels(kind, LEVEL_SIZES, studies, store=store)
    print(f"{kind} at 5 %: share of {studies} studies without a difference that reject, in percent")
    print("\n".join(format_rows(rejected, interval=False)), flush=True)
    most = MOST_MIXED if kind == "mixed" else MOST
    return sum(is_bar_missed(rate, interval=False, most=most) for rate in rejected)


def main() -> int:
    """Print the tables, and return 1 when a bar was missed."""
    parts = ("intervals", "tests", *LEVELS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statistics.coverage", description=main.__doc__
    )
    parser.add_argument("--studies", type=int, default=400, help="(default: %(default)s)")
    parser.add_argument("--only", choices=parts, action="append", help="part to run (default: all)")
    parser.add_argument("--store", type=Path, help="file of finished batches of levels, to go on from")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # more threads gain nothing on small matrices
        command = [sys.executable, "-m", "benchmarks.statistics.coverage", *sys.argv[1:]]
        return subprocess.call(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    beyond = 0
    for part in options.only or parts:
        if part in LEVELS:
            beyond += print_levels(part, options.studies, options.store)
        else:
            beyond += {"intervals": print_intervals, "tests": print_tests}[part](options.studies)
    print(f"beyond the bars of {LEAST:.0%} and {MOST:.0%} ({MOST_MIXED:.1%} of mixed models): {beyond}")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
