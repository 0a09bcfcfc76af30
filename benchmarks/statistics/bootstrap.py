"""Compare the two-way bootstrap with a plain pandas loop.

Run ``python -m benchmarks.statistics.bootstrap``.

1,000 participants in 4 conditions, 25 items each, 2,000 replicates. The loop draws the same samples and gives
the same measures with group-by sums, not with a Python function per participant; it is timed over a few
replicates, and the comparison is per replicate and in processor time, which other work on the machine changes
little. Both are first checked against each other on the same draws.

Bars: 2,000 replicates within 10 s of the clock, and at least 50 times the loop's speed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from scipy.special import ndtri

from analysis.participants.estimates import average_participants, estimate
from analysis.participants.measures import MEASURES
from analysis.participants.trial_grid import Grid, Summed, build_grids

CONDITIONS = ("one", "two", "three", "truth")
ITEMS = 25
MOST_SECONDS = 10.0
LEAST_RATIO = 50.0
RATINGS = ("certainty", "helpfulness")
POST = ("trust", "relevant_information", "irrelevant_information", "satisfaction")
KEYS = [measure.key for measure in MEASURES]


def simulate_study(participants: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return random trials and post surveys.

    There is one row per participant and item, and one per participant.
    """
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(participants), ITEMS)
    count = len(who)
    names = np.array([f"p{index:05d}" for index in range(participants)])
    conditions = np.array(CONDITIONS)[np.arange(participants) % len(CONDITIONS)]
    trials = pd.DataFrame({
        "participant_id": names[who],
        "condition": conditions[who],
        "item_id": np.tile([f"q{index:02d}" for index in range(ITEMS)], participants),
        "rated": (rng.random(count) < 0.7).astype(float),
        "system_correct": (rng.random(count) < 0.6).astype(float),
        "milliseconds": np.round(rng.lognormal(10.8, 0.6, count)),
        **{key: rng.integers(1, 6, count).astype(float) for key in RATINGS},
    })  # fmt: skip
    people = pd.DataFrame({
        "participant_id": names,
        "condition": conditions,
        **{key: rng.integers(1, 6, participants).astype(float) for key in POST},
    })  # fmt: skip
    return trials, people


def build_trial_grids(trials: pd.DataFrame, people: pd.DataFrame) -> list[Grid]:
    """Return the grids of all conditions."""
    return build_grids(
        trials,
        people,
        people,
        conditions=CONDITIONS,
        clock="milliseconds",
        item_columns={"correctness_rating": "rated", **{key: key for key in RATINGS}},
        post_columns={key: key for key in POST},
    )


def prepare(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the loop sums, made once."""
    rated, correct = trials["rated"] == 1, trials["system_correct"] == 1
    return trials.assign(
        n=1.0,
        seconds=trials["milliseconds"] / 1000,
        log_seconds=np.log(trials["milliseconds"] / 1000),
        tp=(rated & correct).astype(float),
        fp=(rated & ~correct).astype(float),
        fn=(~rated & correct).astype(float),
        tn=(~rated & ~correct).astype(float),
    )


def compute_loop_replicate(
    trials: pd.DataFrame, people: pd.DataFrame, items: np.ndarray, drawn: dict[str, np.ndarray]
) -> pd.DataFrame:
    """Return all measures of one replicate; conditions × measures.

    items: drawn items, by name, with repetition. drawn: per condition the drawn participants, likewise.
    """
    sample = pd.DataFrame({"item_id": items}).merge(trials, on="item_id")
    groups = sample.groupby("participant_id")
    columns = ["n", "rated", "seconds", "log_seconds", "tp", "fp", "fn", "tn", *RATINGS]
    measures = compute_measures(groups[columns].sum(), groups["seconds"].median())
    measures = measures.join(people.set_index("participant_id")[list(POST)])
    rows = {}
    for condition, names in drawn.items():
        own = measures.loc[names]
        rows[condition] = own.mean()
        rows[condition]["time_geometric"] = np.exp(np.log(own["time_geometric"]).mean())
    return pd.DataFrame(rows).T[KEYS]


def compute_measures(s: pd.DataFrame, median: pd.Series) -> pd.DataFrame:
    """Return the measures of docs/reference/measures.md by participant."""
    signal, noise = s["tp"] + s["fn"], s["fp"] + s["tn"]
    precision, recall = s["tp"] / (s["tp"] + s["fp"]), s["tp"] / signal
    defined = pd.Series(np.where((signal > 0) & (noise > 0), 1.0, np.nan), index=s.index)
    hits, alarms = ndtri((s["tp"] + 0.5) / (signal + 1)), ndtri((s["fp"] + 0.5) / (noise + 1))
    f1 = (2 * precision * recall / (precision + recall)).mask(precision + recall == 0, 0.0)
    return pd.DataFrame({
        "agreement": s["rated"] / s["n"],
        "accuracy": signal / s["n"],
        "over_estimation": (s["fp"] - s["fn"]) / s["n"],
        "fraction_correct": (s["tp"] + s["tn"]) / s["n"],
        **{key: s[key] / s["n"] for key in ("fp", "fn", "tp", "tn")},
        "false_positive_rate": s["fp"] / noise,
        "false_negative_rate": s["fn"] / signal,
        "true_negative_rate": s["tn"] / noise,
        "user_precision": precision,
        "user_recall": recall,
        "user_f1": f1,
        "d_prime": (hits - alarms) * defined,
        "criterion": -(hits + alarms) / 2 * defined,
        "time_mean": s["seconds"] / s["n"],
        "time_median": median,
        "time_geometric": np.exp(s["log_seconds"] / s["n"]),
        **{key: s[key] / s["n"] for key in RATINGS},
    })  # fmt: skip


def draw(grids: list[Grid], rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw items, and participants of each condition, with replacement."""
    items = np.array(grids[0].items)
    people = {grid.condition: np.array(grid.participants) for grid in grids}
    return rng.choice(items, len(items)), {name: rng.choice(who, len(who)) for name, who in people.items()}


def check_same(
    grids: list[Grid], results: pd.DataFrame, items: np.ndarray, drawn: dict[str, np.ndarray]
) -> None:
    """Raise SystemExit if the vectorised code disagrees with the loop."""
    counts = np.array([[np.count_nonzero(items == item)] for item in grids[0].items], dtype=float)
    for grid in grids:
        sums = Summed(grid).sums(counts)
        names, times = np.unique(drawn[grid.condition], return_counts=True)
        weights = dict(zip(names, times, strict=True))
        people = np.array([[weights.get(name, 0)] for name in grid.participants], dtype=float)
        for measure in MEASURES:
            value = average_participants(measure.formula(sums), people, geometric=measure.geometric)[0]
            expected = float(results[measure.key].to_dict()[grid.condition])
            if not np.isclose(value, expected, equal_nan=True):
                raise SystemExit(f"{measure.key} in {grid.condition}: {value} against the loop's {expected}")


def measure(participants: int, resamples: int, loop: int) -> tuple[float, float, float]:
    """Return the seconds of all vectorised replicates and of one loop."""
    trials, people = simulate_study(participants, seed=1)
    grids, prepared, rng = build_trial_grids(trials, people), prepare(trials), np.random.default_rng(2)
    taken = []
    for _ in range(loop):
        items, drawn = draw(grids, rng)
        start = time.process_time()
        replicate = compute_loop_replicate(prepared, people, items, drawn)
        taken.append(time.process_time() - start)
        check_same(grids, replicate, items, drawn)
    start, start_cpu = time.perf_counter(), time.process_time()
    estimate(grids, MEASURES, rng=rng, resamples=resamples)
    return time.perf_counter() - start, time.process_time() - start_cpu, float(np.median(taken))


def main() -> int:
    """Print a table and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statistics.bootstrap",
        description="Two-way bootstrap against a pandas loop.",
    )
    parser.add_argument("--participants", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument(
        "--loop", type=int, default=20, help="replicates of the loop, of which the median counts"
    )
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        # More threads gain nothing here, and what they spend on waiting would count as processor time.
        command = [sys.executable, "-m", "benchmarks.statistics.bootstrap", *sys.argv[1:]]
        return subprocess.call(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    seconds, processor, loop = measure(options.participants, options.resamples, options.loop)
    ratio = loop * options.resamples / processor
    print(f"{options.participants} participants x {ITEMS} items, {len(MEASURES)} measures")
    print(f"vectorised: {options.resamples} replicates in {seconds:.1f} s, bar {MOST_SECONDS:.0f} s")
    print(f"vectorised: {1000 * processor / options.resamples:.2f} ms of processor time a replicate")
    print(f"pandas loop: {1000 * loop:.1f} ms of processor time a replicate, median of {options.loop}")
    print(f"ratio: {ratio:.0f} x, bar {LEAST_RATIO:.0f} x")
    return 1 if seconds > MOST_SECONDS or ratio < LEAST_RATIO else 0


if __name__ == "__main__":
    sys.exit(main())
