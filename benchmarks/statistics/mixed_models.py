"""Simulate the level of the mixed models' tests.

Run ``python -m benchmarks.statistics.mixed_models --studies 500``.

Two conditions that do not differ on average, over the same items. Participants and items differ, and in half
of the rows items favour the one or the other condition too, as in the claim about items like these. A test at
5 % rejects in no more than `MOST` of the studies, but for chance, or the model is no base for a test.
"""

import argparse
import os
import subprocess
import sys

import numpy as np
import pandas as pd
from scipy import stats

from analysis.models.logit_mixed import mixed_logit
from analysis.models.trial_model import Trials
from analysis.stats.streams import derive_stream

from .coverage import Rate, Size, format_rows

MOST = 0.075
SIZES = tuple(Size(people, items) for people in (8, 10, 20, 40) for items in (10, 25))
SPREADS = {"": 0.0, ", items × condition": 0.5}  # of an item's own effect of the condition, in log odds
CUTS = (-2.0, -0.8, 0.6, 2.0)  # of the ratings


def simulate(rng: np.random.Generator, size: Size, spread: float) -> dict[str, Trials]:
    """Simulate trials of two conditions that are alike on average."""
    people, items = size
    participant, item = np.repeat(np.arange(2 * people), items), np.tile(np.arange(items), 2 * people)
    condition = (participant >= people).astype(int)
    own = rng.normal(0, 0.7, 2 * people)[participant] + rng.normal(0, 0.8, items)[item]
    own = own + rng.normal(0, spread / np.sqrt(2), (items, 2))[item, condition]
    latent = own + rng.logistic(size=len(own))
    outcomes = {
        "logistic": (latent > -0.5).astype(float),
        "ordinal": np.digitize(latent, CUTS).astype(float),
    }
    return {
        name: Trials(values, participant, item, condition, None, ("a", "b"))
        for name, values in outcomes.items()
    }


def count_rejections(size: Size, studies: int, *, seed: int = 5, alpha: float = 0.05) -> list[Rate]:
    """Count the studies in which each test rejects."""
    studied: list[dict[str, float | None]] = []
    for study in range(studies):
        row: dict[str, float | None] = {}
        for words, spread in SPREADS.items():
            rng = derive_stream(np.random.default_rng(seed), "mixed", str(size), words, str(study))
            for name, trials in simulate(rng, size, spread).items():
                row[name + words] = mixed_logit(trials).joint_p
        studied.append(row)
    frame = pd.DataFrame(studied).astype(float)
    return [
        Rate(label, size, int((own <= alpha).sum()), len(own), studies - len(own))
        for label, own in ((label, frame[label].dropna()) for label in frame.columns)
    ]


def is_bar_missed(rate: Rate) -> bool:
    """Return if the share is beyond the bar by more than chance."""
    return bool(rate.hits > stats.binom.ppf(0.999, rate.studies, MOST))


def main() -> int:
    """Print the table, and return 1 when the bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statistics.mixed_models", description=main.__doc__
    )
    parser.add_argument("--studies", type=int, default=500, help="(default: %(default)s)")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # more threads gain nothing on small matrices
        command = [sys.executable, "-m", "benchmarks.statistics.mixed_models", *sys.argv[1:]]
        return subprocess.call(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    rates = [rate for size in SIZES for rate in count_rejections(size, options.studies)]
    print(f"tests at 5 %: share of {options.studies} studies without a difference that reject, in percent")
    print("\n".join(format_rows(rates, interval=False)))
    return int(any(is_bar_missed(rate) for rate in rates))


if __name__ == "__main__":
    sys.exit(main())
