"""Simulate tests that compare conditions within participants.

Run ``python -m benchmarks.statistics.within``.

Simulated studies in which everybody sees both conditions, half of the items in each: conditions in turned
orders, items rotated over them. People differ in their level and in what a condition does to them, items in
how hard they are, and people get faster. Printed are how often 95 % intervals hold the truth and how often
tests at 5 % reject if nothing differs; the bars are those of `benchmarks.statistics.coverage`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import numpy as np
import pandas as pd

from analysis.models.gee_logistic import gee_logistic
from analysis.models.linear_mixed import mixed_log_time
from analysis.models.ordinal_logit import ordinal_logit
from analysis.models.trial_model import Model, read_trials
from analysis.participants.estimates import estimate
from analysis.participants.measures import MEASURES
from analysis.participants.trial_grid import build_grids
from analysis.stats.paired import paired_difference
from analysis.stats.results import TARGETS
from analysis.study.comparisons import compare

from ._crossed_studies import Interval, Rate, Size, format_rows, is_bar_missed

SIZES = (Size(6, 12), Size(12, 16), Size(24, 24))
EFFECT = 0.5  # planted in the studies whose intervals should hold it
CONDITIONS = ("a", "b")
MEASURED = [measure for measure in MEASURES if measure.key in ("agreement", "time_geometric")]


def simulate_rotated_trials(
    rng: np.random.Generator,
    people: int = 12,
    items: int = 12,
    conditions: tuple[str, ...] = CONDITIONS,
    effect: float = 0.0,
    own_effect_sd: float = 0.5,
    item_sd: float = 0.8,
    prefix: str = "p",
) -> pd.DataFrame:
    """Return simulated trials; `effect` is the last condition's.

    It is added to the log odds of the answer and of a higher rating and, times 0.4, to log seconds.
    own_effect_sd: how much people differ in what a condition does to them.
    """
    count = len(conditions)
    item_effect, parts = rng.normal(0, item_sd, items), []
    for person in range(people):
        own = rng.normal(0, 0.7) + rng.normal(0, own_effect_sd, count)
        own[-1] += effect
        order = np.roll(np.arange(count), person % count)
        turn = person // count % count
        shown = [(c, i) for c in order for i in rng.permutation(range((int(c) - turn) % count, items, count))]
        condition, item = np.array(shown).T
        position = np.arange(1, items + 1)
        latent = own[condition] + item_effect[item] + rng.logistic(size=items)
        log_time = 4 + 0.4 * (own[condition] + item_effect[item]) - 0.02 * position
        parts.append(
            pd.DataFrame(
                {
                    "participant_id": f"{prefix}{person:03d}",
                    "condition": np.array(conditions)[condition],
                    "item_id": [f"q{number:03d}" for number in item],
                    "position": position,
                    "answer": (latent > -0.5).astype(float),
                    "rating": 1.0 + np.digitize(latent, [-2.5, -1, 0.3, 2]),
                    "seconds": np.exp(log_time + rng.normal(0, 0.4, items)),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def simulate_study(
    rng: np.random.Generator, size: Size, effect: float, *, tests: bool
) -> tuple[dict[str, Interval], dict[str, float | None]]:
    """Return intervals and p of every difference in a simulated study."""
    frame = simulate_rotated_trials(rng, size.people, size.items, effect=effect)
    members = frame[["participant_id", "condition"]].drop_duplicates()
    timed = frame.assign(milliseconds=1000 * frame["seconds"], system_correct=np.nan)
    grids = build_grids(
        timed,
        members,
        None,
        conditions=CONDITIONS,
        clock="milliseconds",
        item_columns={"correctness_rating": "answer"},
        post_columns={},
    )
    estimates = estimate(grids, MEASURED, rng=rng, resamples=0)
    intervals: dict[str, Interval] = {}
    p: dict[str, float | None] = {}
    for key in ("agreement", "time_geometric"):
        comparison = compare(estimates, key, "a", "b", rng=rng, permutations=499)
        for target in TARGETS:
            name = f"{target.replace('_', ' ')}: {key}"
            p[name], intervals[name] = comparison.about(target).p, comparison.about(target).interval
    if not tests:
        return intervals, {}
    values = [np.log(own) for own in estimates.per_participant["time_geometric"]]
    p["paired t: time_geometric"] = paired_difference(*values).p
    models = {
        "GEE": gee_logistic(read_trials(frame, "answer", conditions=CONDITIONS), position=True),
        "ordinal model": ordinal_logit(read_trials(frame, "rating", conditions=CONDITIONS), position=True),
        "mixed model": mixed_log_time(read_trials(frame, "seconds", conditions=CONDITIONS)),
    }
    return intervals, p | {f"{name}, two conditions": _read_p(model) for name, model in models.items()}


def _read_p(model: Model) -> float | None:
    return None if model.reason else model.contrasts[0].p


def estimate_rates(size: Size, studies: int, *, seed: int = 1) -> tuple[list[Rate], list[Rate]]:
    """Return coverage of intervals and false-positive rates of tests.

    The truth of agreement is that of no effect; that of times is the planted ratio, or 1.
    """
    rng = np.random.default_rng([seed, *size])
    null = [simulate_study(rng, size, 0.0, tests=True) for _ in range(studies)]
    planted = [simulate_study(rng, size, EFFECT, tests=False) for _ in range(studies)]
    held, rejected = [], []
    for label in null[0][0]:
        ratio = label.endswith("time_geometric")
        truth = float(np.exp(0.4 * EFFECT)) if ratio else 0.0
        drawn = [intervals[label] for intervals, _ in (planted if ratio else null)]
        known_intervals = [interval for interval in drawn if interval is not None]
        hits = sum(low <= truth <= high for low, high in known_intervals)
        held.append(Rate(label, size, hits, len(known_intervals), studies - len(known_intervals)))
    for label in null[0][1]:
        given = [value for _, p in null if (value := p[label]) is not None]
        hits = sum(value <= 0.05 for value in given)
        rejected.append(Rate(label, size, hits, len(given), studies - len(given)))
    return held, rejected


def main() -> int:
    """Print both tables, and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics.within", description=main.__doc__)
    parser.add_argument("--studies", type=int, default=200, help="(default: %(default)s)")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # more threads gain nothing on small matrices
        command = [sys.executable, "-m", "benchmarks.statistics.within", *sys.argv[1:]]
        return subprocess.call(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    held: list[Rate] = []
    rejected: list[Rate] = []
    for size in SIZES:
        own = estimate_rates(size, options.studies)
        held, rejected = held + own[0], rejected + own[1]
    print(f"95 % intervals: share of {options.studies} studies that hold the truth, in percent")
    print("\n".join(format_rows(held, interval=True)), flush=True)
    print(f"tests at 5 %: share of {options.studies} studies without a difference that reject, in percent")
    print("\n".join(format_rows(rejected, interval=False)))
    beyond = [rate for rate in held if is_bar_missed(rate, interval=True)]
    beyond += [rate for rate in rejected if is_bar_missed(rate, interval=False)]
    print(f"beyond the bars: {len(beyond)}")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
