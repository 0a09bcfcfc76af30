"""Simulate coverage of intervals and error rates of tests.

Run ``python -m benchmarks.coverage``.

Simulated studies with crossed participants and items: people differ in trust, pace and certainty, items in
how believable, long and clear they are, so that trials of one person, and on one item, belong together. Each
study is analysed as a real one. The truth of an interval is the mean of its statistic over many studies of a
thousand participants and as many items; that of the calibration error, which is above 0 by chance in small
studies, and of a correlation, which noise pulls towards 0, is the value with six hundred items.

Bars: an interval holds the truth in no less than `LEAST`, a test rejects in no more than `MOST` of the
studies, but for chance. Below `FEW` participants a condition they are not bars; docs/reference/coverage.md
says what was measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.models.gee_logistic import gee_logistic
from analysis.models.linear_mixed import mixed_log_time
from analysis.models.ordinal_logit import ordinal_logit
from analysis.models.trial_model import Trials
from analysis.participants.attrition import exclusion_test
from analysis.participants.calibration import calibration
from analysis.participants.estimates import estimate
from analysis.participants.learning_curves import learning
from analysis.participants.measures import MEASURES
from analysis.participants.time_by_certainty import time_at_certainty
from analysis.participants.trial_grid import Grid
from analysis.stats.arrays import Array
from analysis.stats.bootstrap import Method
from analysis.stats.correlations import COEFFICIENTS, correlate
from analysis.stats.effect_sizes import welch_difference
from analysis.study.comparisons import compare, difference

RESAMPLES = 400
LEAST, MOST, FEW = 0.93, 0.06, 10
STATED = (0.2, 0.35, 0.5, 0.65, 0.8)  # what the levels of certainty would mean as probabilities
SCORES = (0.2, 0.5, 0.4, 0.8, 0.6, 0.9)  # of the systems that are correlated, in their order
SHIFT = 0.5  # of the second condition's log odds and, scaled, of its times
_KEYS = ("agreement", "fp", "over_estimation", "d_prime", "time_mean", "time_geometric", "certainty")
MEASURED = [measure for measure in MEASURES if measure.key in _KEYS]


class Size(NamedTuple):
    """Participants in each condition, and items."""

    people: int
    items: int


SIZES = (Size(5, 10), Size(10, 15), Size(20, 25), Size(40, 25))
Interval = tuple[float, float] | None
Found = dict[str, tuple[float | None, Interval]]  # what a study gives: value and interval, by label


@dataclass(frozen=True)
class Rate:
    """How often something happened. undefined: studies that gave none."""

    label: str
    size: Size
    hits: int
    studies: int
    undefined: int

    @property
    def share(self) -> float:
        """Return the share of studies."""
        return self.hits / self.studies if self.studies else float("nan")

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the Wilson confidence interval of the share."""
        low, high = proportion_confint(self.hits, self.studies, method="wilson")
        return float(low), float(high)


class World:
    """Items of one study; makes conditions over them."""

    def __init__(self, rng: np.random.Generator, items: int) -> None:
        self.rng, self.items = rng, items
        self.believable, self.length, self.clear = rng.normal(0, (0.8, 0.3, 0.4), (items, 3)).T
        self.correct = rng.random(items) < 0.6

    def condition(self, people: int, name: str = "a", shift: float = 0.0) -> Grid:
        """Simulate a condition; `shift` raises the log odds of "correct".

        It slows participants down too.
        """
        rng, shape = self.rng, (people, self.items)
        trust, pace, sure = rng.normal(0, (0.7, 0.35, 0.6), (people, 3)).T[:, :, None]
        odds = 0.3 + shift + trust + self.believable + np.where(self.correct, 0.8, -0.8)
        rated = rng.random(shape) < 1 / (1 + np.exp(-odds))
        right = rated == self.correct
        felt = 3.0 + sure + self.clear + np.where(right, 0.3, -0.3) + rng.normal(0, 0.9, shape)
        log_time = 3.8 + 0.2 * shift + pace + self.length + rng.normal(0, 0.4, shape)
        return Grid(
            condition=name,
            participants=tuple(f"{name}{index:05d}" for index in range(people)),
            items=tuple(f"q{index:04d}" for index in range(self.items)),
            present=np.ones(shape, dtype=bool),
            seconds=np.exp(log_time),
            system_correct=np.broadcast_to(self.correct, shape).astype(float),
            answers={"correctness_rating": rated.astype(float), "certainty": np.clip(np.round(felt), 1, 5)},
            post={},
        )


# --- intervals: each study gives the value and the interval of every label ---------------------------------


def measures(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the measures of one condition."""
    grid = World(rng, size.items).condition(size.people)
    estimates = estimate([grid], MEASURED, rng=rng, resamples=resamples)
    own = {m.key: estimates.get(m.key, "a") for m in MEASURED}
    return {f"measure: {key}": (result.value, result.interval) for key, result in own.items()}


def differences(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the differences of two conditions."""
    world = World(rng, size.items)
    grids = [world.condition(size.people), world.condition(size.people, "b", SHIFT)]
    estimates = estimate(grids, MEASURED, rng=rng, resamples=resamples)
    labels: Found = {}
    for key in ("agreement", "fp", "time_geometric"):
        for method in get_args(Method):
            result = difference(estimates, key, "a", "b", method=method)
            labels[f"difference, {method}: {key}"] = (result.estimate, result.interval)
    return labels


def calibrations(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the calibration errors of one condition."""
    grid = World(rng, size.items).condition(size.people)
    [result, _] = calibration([grid], 5, rng=rng, resamples=resamples, probabilities=STATED)
    named = {"share right at level 3": result.levels[2].right, "slope": result.slope, "AUROC": result.auroc}
    named |= {"gamma": result.gamma, "error": result.error}
    return {f"calibration: {name}": (mean.value, mean.interval) for name, mean in named.items()}


def positions(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Estimate the learning curves of one condition."""
    grid = World(rng, size.items).condition(size.people)
    places = np.argsort(rng.random(grid.present.shape), axis=1).astype(float) + 1
    grid.seconds[:] = grid.seconds * np.exp(-0.02 * places)
    estimates = {
        result.trait: result for result in learning([grid], [places], rng=rng, resamples=resamples)[::-1]
    }
    labels: Found = {}
    for trait in ("log_seconds", "fraction_correct"):
        for name in ("change", "slope"):
            mean = getattr(estimates[trait], name)
            labels[f"learning: {name} of {trait}"] = (mean.value, mean.interval)
    [_, _, level, _, _] = time_at_certainty([grid], 5, rng=rng, resamples=resamples)
    return labels | {"time at certainty 3": (level.seconds, level.interval)}


def correlations(rng: np.random.Generator, size: Size, resamples: int) -> Found:
    """Return correlations with systems whose scores differ.

    The truth is over these same systems.
    """
    labels: Found = {}
    for n in (3, 6):
        world = World(rng, size.items)
        grids = [world.condition(size.people, f"s{k}", shift) for k, shift in enumerate(_shifts(n))]
        estimates = estimate(grids, MEASURED[:1], rng=rng, resamples=resamples)
        values = [estimates.get("agreement", grid.condition).value for grid in grids]
        draws = estimates.replicates["agreement"] if resamples else None
        for coefficient in COEFFICIENTS:
            result = correlate(np.array(values, float), SCORES[:n], coefficient, replicates=draws, rng=rng)
            labels[f"correlation over {n} systems: {coefficient}"] = (result.value, result.interval)
    return labels


def _shifts(n: int) -> list[float]:
    return [0.0, 0.9, 0.6, 1.5, 0.5, 1.2][:n]


INTERVALS: dict[Callable[[np.random.Generator, Size, int], Found], bool] = {
    measures: False, differences: False, calibrations: False, positions: False, correlations: True,
}  # fmt: skip
LIMITS = ("calibration: error", "correlation over")  # whose truth is that of many items


def truths(
    study: Callable[[np.random.Generator, Size, int], Found], size: Size, studies: int
) -> dict[str, float]:
    """Return the mean of each statistic over very large studies."""
    own = _means(study, Size(1000, size.items), studies, seed=11)
    if any(label.startswith(LIMITS) for label in own):
        many = _means(study, Size(1000, 600), max(3, studies // 40), seed=12)
        own |= {label: value for label, value in many.items() if label.startswith(LIMITS)}
    return own


def _means(
    study: Callable[[np.random.Generator, Size, int], Found], size: Size, studies: int, seed: int
) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    estimates = [study(rng, size, 0) for _ in range(studies)]
    return {
        label: float(np.mean([result[label][0] for result in estimates if result[label][0] is not None]))
        for label in estimates[0]
    }


def cover(
    study: Callable[[np.random.Generator, Size, int], Found],
    size: Size,
    studies: int,
    *,
    truth: dict[str, float],
    seed: int = 1,
    resamples: int = RESAMPLES,
) -> list[Rate]:
    """How often each interval of the study holds its truth."""
    rng = np.random.default_rng([seed, *size])
    estimates = [study(rng, size, resamples) for _ in range(studies)]
    rates = []
    for label, value in truth.items():
        intervals = [interval for result in estimates if (interval := result[label][1]) is not None]
        hits = sum(low - 1e-9 <= value <= high + 1e-9 for low, high in intervals)
        rates.append(Rate(label, size, hits, len(intervals), studies - len(intervals)))
    return rates


# --- tests: each study, in which nothing differs, gives the p of every label -------------------------------


def nulls(rng: np.random.Generator, size: Size) -> dict[str, float | None]:
    """Three conditions alike, over the same items."""
    world = World(rng, size.items)
    grids = [world.condition(size.people, name) for name in ("a", "b", "c")]
    estimates = estimate(grids, MEASURED, rng=rng, resamples=0)
    first, second = (estimates.per_participant["agreement"][column] for column in (0, 1))
    pair = compare(estimates, "agreement", "a", "b", rng=rng, permutations=199)
    trials = _trials(rng, grids)
    two = _trials(rng, grids[:2])
    binary, timed, rated = trials("correctness_rating"), trials("seconds"), trials("certainty")
    mixed = mixed_log_time(timed)
    human, model = rng.normal(size=(2, 6))
    return {
        "permutation of participants": pair.p,
        "Welch's t over participants": welch_difference(first, second).p,
        "GEE, two conditions": gee_logistic(two("correctness_rating")).joint_p,
        "GEE, three conditions jointly": gee_logistic(binary).joint_p,
        "mixed model, two conditions": mixed_log_time(two("seconds")).joint_p,
        "mixed model, three conditions jointly": mixed.joint_p,
        "mixed model, position": mixed.position.p if mixed.position else None,
        "ordinal model, two conditions": ordinal_logit(two("certainty")).joint_p,
        "ordinal model, three conditions jointly": ordinal_logit(rated).joint_p,
        "attrition: excluded shares": exclusion_test(_excluded(rng, size), rng=rng).p,
        **{f"correlation of 6 systems: {c}": correlate(human, model, c).p for c in COEFFICIENTS},
    }


def _excluded(rng: np.random.Generator, size: Size) -> dict[str, Array]:
    """Shares of excluded trials in three conditions alike; people differ."""
    prone = rng.beta(1, 9, (3, size.people))
    shares: Array = rng.binomial(size.items, prone) / size.items
    return dict(zip("abc", shares, strict=True))


def _trials(rng: np.random.Generator, grids: Sequence[Grid]) -> Callable[[str], Trials]:
    """The outcome's trials of these conditions, with random orders."""
    people, items = grids[0].present.shape
    total = people * len(grids)
    places = np.argsort(rng.random((total, items)), axis=1).astype(float) + 1

    def of(outcome: str) -> Trials:
        values = [grid.seconds if outcome == "seconds" else grid.answers[outcome] for grid in grids]
        return Trials(
            outcome=np.concatenate(values).ravel(),
            participant=np.repeat(np.arange(total), items),
            item=np.tile(np.arange(items), total),
            condition=np.repeat(np.arange(len(grids)), people * items),
            position=places.ravel(),
            conditions=tuple(grid.condition for grid in grids),
        )

    return of


def reject(size: Size, studies: int, *, seed: int = 2, alpha: float = 0.05) -> list[Rate]:
    """How often each test rejects at `alpha`."""
    rng = np.random.default_rng([seed, *size])
    frame = pd.DataFrame([nulls(rng, size) for _ in range(studies)]).astype(float)
    return [
        Rate(label, size, int((own <= alpha).sum()), len(own), studies - len(own))
        for label, own in ((label, frame[label].dropna()) for label in frame.columns)
    ]


# --- the table ---------------------------------------------------------------------------------------------


def missed(rate: Rate, *, interval: bool) -> bool:
    """Return if the share is beyond the bar by more than chance."""
    if not rate.studies or rate.size.people < FEW:
        return False
    if interval:
        return bool(rate.hits < stats.binom.ppf(0.001, rate.studies, LEAST))
    return bool(rate.hits > stats.binom.ppf(0.999, rate.studies, MOST))


def rows(rates: Sequence[Rate], *, interval: bool) -> Iterator[str]:
    """A Markdown table: a row per label, a column per size."""
    sizes = list(dict.fromkeys(rate.size for rate in rates))
    yield "| | " + " | ".join(f"{size.people} × {size.items}" for size in sizes) + " |"
    yield "|---|" + "---:|" * len(sizes)
    by_place = {(rate.label, rate.size): rate for rate in rates}
    for label in dict.fromkeys(rate.label for rate in rates):
        cells = [_cell(by_place[label, size], interval=interval) for size in sizes]
        yield f"| {label} | " + " | ".join(cells) + " |"


def _cell(rate: Rate, *, interval: bool) -> str:
    if not rate.studies:
        return "–"
    text = f"{100 * rate.share:.1f}"
    if missed(rate, interval=interval):
        text = f"**{text}**"
    return f"{text} ({rate.studies})" if rate.undefined else text


def main() -> int:
    """Print both tables, and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=main.__doc__)
    parser.add_argument("--studies", type=int, default=400, help="(default: %(default)s)")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # more threads gain nothing on small matrices
        command = [sys.executable, "-m", "benchmarks.coverage", *sys.argv[1:]]
        return subprocess.call(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    held: list[Rate] = []
    for study in INTERVALS:
        for size in SIZES:
            held += cover(study, size, options.studies, truth=truths(study, size, 400))
    print(f"95 % intervals: share of {options.studies} studies that hold the truth, in percent")
    print("\n".join(rows(held, interval=True)), flush=True)
    rejected = [rate for size in SIZES for rate in reject(size, options.studies)]
    print(f"tests at 5 %: share of {options.studies} studies without a difference that reject, in percent")
    print("\n".join(rows(rejected, interval=False)))
    beyond = [rate for rate in held if missed(rate, interval=True)]
    beyond += [rate for rate in rejected if missed(rate, interval=False)]
    print(f"beyond the bars of {LEAST:.0%} and {MOST:.0%}: {len(beyond)}")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
