"""Measure the cost of a report as a study grows.

Run ``python -m benchmarks.statistics.report_size``.

Generated studies of four conditions, 25 items a participant, go through ``python -m analysis report`` with
all defaults, each in a process of its own: seconds of the clock from start to exit, those of the processor,
and the peak resident set. The last two are drawn over rows into ``docs/images/report-size.svg``.

Bars: 10 minutes of processor time and 4 GiB for the largest study; and from the smallest of at least
`SETTLED` participants on, processor time per row grows by no more than a fifth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.scores.score_table import SCORES
from scripts.sites.processes import ROOT

PARTICIPANTS = (1_000, 4_000, 10_000, 25_000, 100_000)
ITEMS = 25
SYSTEMS = {"one": "sys-1", "two": "sys-2", "three": "sys-3", "truth": None}
POINTS = {"points": 5, "labels": ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]}
ITEM_SCALES: dict[str, Any] = {
    "correctness_rating": "yes_no", "known_before": "yes_no", "certainty": POINTS, "helpfulness": POINTS,
}  # fmt: skip
POST_KEYS = ("trust", "relevant_information", "irrelevant_information", "satisfaction")
RULES = [
    {"name": "too-fast", "kind": "min_time", "clock": "server", "milliseconds": 15_000},
    {"name": "too-slow", "kind": "max_time", "clock": "server", "milliseconds": 300_000},
    {"name": "known-before", "kind": "answered", "question": "known_before", "value": True},
]
SETTLED = 10_000
MOST_SECONDS, MOST_BYTES, MOST_GROWTH = 600.0, 4 * 2**30, 1.2


@dataclass(frozen=True)
class Cost:
    """The cost of one report: seconds, processor seconds, peak bytes."""

    participants: int
    seconds: float
    processor: float
    peak: int

    @property
    def rows(self) -> int:
        """Return the number of trials."""
        return self.participants * ITEMS


def write_study(folder: Path, participants: int, seed: int = 1) -> None:
    """Write a bundle of random answers.

    People differ in trust, pace and certainty, and items in truth.
    """
    rng = np.random.default_rng(seed)
    names = np.array([f"p{index:06d}" for index in range(participants)])
    conditions = np.array(list(SYSTEMS))[np.arange(participants) % len(SYSTEMS)]
    who, item = np.repeat(np.arange(participants), ITEMS), np.tile(np.arange(ITEMS), participants)
    right = rng.random((len(SYSTEMS), ITEMS)) < 0.6
    right[-1] = True
    correct = right[who % len(SYSTEMS), item]
    trust, pace, sure = (rng.normal(0, spread, participants)[who] for spread in (0.12, 0.4, 0.8))
    believed = rng.random(len(who)) < np.where(correct, 0.75, 0.35) + trust
    people = pd.DataFrame({"participant_id": names, "mode": "live", "version": 1, "condition": conditions})
    trials = people.iloc[who].reset_index(drop=True).assign(
        item_id=np.array([f"item-{index:02d}" for index in range(ITEMS)])[item],
        position=np.argsort(rng.random((participants, ITEMS)), axis=1).ravel() + 1,
        submitted_at="2026-01-02T10:00:00Z",
        server_ms=rng.lognormal(10.8 + pace, 0.4).astype(int),
        system_correct=np.where(correct, "true", "false"),
        correctness_rating=np.where(believed, "true", "false"),
        known_before=np.where(rng.random(len(who)) < 0.02, "true", "false"),
        certainty=_round_to_points(rng.normal(3.2 + sure + 0.4 * (believed == correct), 0.9)),
        helpfulness=_round_to_points(rng.normal(3.0 + sure, 1.0)),
    )  # fmt: skip
    folder.mkdir(parents=True)
    trials.to_csv(folder / "trials.csv", index=False)
    people.assign(status="completed").to_csv(folder / "participants.csv", index=False)
    post = {key: rng.integers(1, 6, participants) for key in POST_KEYS}
    people.assign(**post).to_csv(folder / "post_survey.csv", index=False)
    write_definition(folder, rng)


def write_definition(folder: Path, rng: np.random.Generator) -> None:
    """Write definition, rules and scores of the generated study."""
    version = {
        "version": 1,
        "hash": "0" * 64,
        "conditions": [
            {"name": name, "label": name, "system": system, "ground_truth": system is None}
            for name, system in SYSTEMS.items()
        ],
        "item_questionnaire": [_build_question(key, scale) for key, scale in ITEM_SCALES.items()],
        "post_survey": [_build_question(key, POINTS) for key in POST_KEYS],
        "definition": {},
    }
    scores = {
        system: {"scores": {score.key: round(rng.uniform(0.2, 0.9), 3) for score in SCORES}}
        for system in SYSTEMS.values()
        if system
    }
    files = {
        "study_version.json": {"study": "large", "title": "A large study", "versions": [version]},
        "rules.json": {"rules": RULES},
        "scores.json": {"schema_version": 1, "systems": scores},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def _round_to_points(values: np.ndarray) -> np.ndarray:
    return np.clip(np.round(values), 1, 5).astype(int)


def _build_question(key: str, scale: Any) -> dict[str, Any]:
    return {"key": key, "text": key.replace("_", " "), "scale": scale, "role": key}


def measure(participants: int) -> Cost:
    """Make a study and its report. Raises RuntimeError if that fails."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_study(folder / "bundle", participants)
        command = [sys.executable, "-m", "analysis", "report", "bundle", "--out", "report"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        started = time.perf_counter()
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            errors = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(errors.strip()[-500:])
        seconds = time.perf_counter() - started
    return Cost(participants, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def compute_growth(costs: list[Cost]) -> float:
    """Return the growth of processor time per row with the study."""
    settled = [cost for cost in costs if cost.participants >= SETTLED]
    return (settled[-1].processor / settled[-1].rows) / (settled[0].processor / settled[0].rows)


def draw(costs: list[Cost], path: Path) -> None:
    """Draw processor time and peak memory over rows."""
    matplotlib.rcParams["svg.hashsalt"] = path.name
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    rows = np.array([cost.rows for cost in costs]) / 1e6
    panels = {
        "processor time (s)": [cost.processor for cost in costs],
        "peak memory (GiB)": [cost.peak / 2**30 for cost in costs],
    }
    for axes, (label, values) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        axes.plot(rows, values, marker="o", color="#0072b2")
        axes.set(xlabel="million rows of trials", ylabel=label, xlim=(0, None), ylim=(0, None))
        axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Print a table, draw the plot, and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statistics.report_size", description=main.__doc__
    )
    parser.add_argument("--participants", type=int, nargs="+", default=PARTICIPANTS)
    parser.add_argument("--plot", type=Path, default=ROOT / "docs" / "images" / "report-size.svg")
    options = parser.parse_args()
    costs = []
    for participants in sorted(options.participants):
        costs.append(cost := measure(participants))
        print(
            f"{participants:>7} participants, {cost.rows:>9} rows: {cost.seconds:6.1f} s "
            f"({cost.processor:6.1f} s of processor), peak {cost.peak / 2**20:6.0f} MiB",
            flush=True,
        )
    draw(costs, options.plot)
    last = costs[-1]
    missed = last.processor > MOST_SECONDS or last.peak > MOST_BYTES
    if last.participants > SETTLED:
        growth = compute_growth(costs)
        print(f"processor time per row from {SETTLED} participants on: x {growth:.2f} ({MOST_GROWTH})")
        missed |= growth > MOST_GROWTH
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
