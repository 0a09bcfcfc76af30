"""Measure how balanced conditions are after drop-out.

Run ``python -m benchmarks.site.assignment``.

Each run recruits 120 participants for 4 conditions with drop-out probabilities of 10, 20, 30 and 40 %, in
shuffled order. Arrivals are uniform over the recruitment time. Participants who stay take 20 to 40 minutes.
Those who drop out do so at some time within that, and count as active until the stale window of 60 minutes is
over. The spread is the largest minus the smallest number of completes of a condition.

Two rules are compared: ours, which counts completes and participants active within the stale window, and
balance on starts. No rule that learns of a drop-out by silence can balance a recruitment shorter than the
stale window, so the table stops at one hour.
"""

import argparse
import heapq
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from studyapp.rules.assignment import choose, derive_seed

PARTICIPANTS = 120
DROP_OUT = (0.1, 0.2, 0.3, 0.4)
STALE_MINUTES = 60.0
RECRUITMENT_HOURS = 24.0

Rule = Literal["complete + active", "starts"]


def simulate(*, seed: int, rule: Rule = "complete + active", hours: float = RECRUITMENT_HOURS) -> int:
    """Return the spread of completes over conditions after recruitment."""
    rng = random.Random(seed)
    names = [f"condition {number}" for number in range(len(DROP_OUT))]
    drop_out = dict(zip(names, rng.sample(DROP_OUT, len(DROP_OUT)), strict=True))
    counts: Counter[str] = Counter()
    completes: Counter[str] = Counter()
    stale: list[tuple[float, str]] = []  # when each drop-out ceases to count
    for number, now in enumerate(sorted(rng.uniform(0, hours * 60) for _ in range(PARTICIPANTS)), start=1):
        while rule == "complete + active" and stale and stale[0][0] < now:
            counts[heapq.heappop(stale)[1]] -= 1
        name = choose(names, counts, {}, seed=derive_seed(seed, number))
        counts[name] += 1
        stays = rng.random() >= drop_out[name]
        minutes = rng.uniform(20, 40)
        if stays:
            completes[name] += 1
        else:
            heapq.heappush(stale, (now + rng.uniform(0, minutes) + STALE_MINUTES, name))
    return max(completes[name] for name in names) - min(completes[name] for name in names)


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the smallest value that ``percent`` of values do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def main() -> None:
    """Simulate both rules and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    print(f"spread of completes, {PARTICIPANTS} participants, {len(DROP_OUT)} conditions, {runs} runs")
    print(f"{'recruitment':>12} {'rule':>18} {'median':>7} {'p95':>4} {'worst':>6}")
    rules: tuple[Rule, ...] = ("complete + active", "starts")
    for hours in (168.0, 48.0, 24.0, 8.0, 4.0, 1.0):
        for rule in rules:
            spreads = [simulate(seed=seed, rule=rule, hours=hours) for seed in range(runs)]
            print(
                f"{hours:>10.0f} h {rule:>18} {percentile(spreads, 50):>7} {percentile(spreads, 95):>4} "
                f"{max(spreads):>6}"
            )


if __name__ == "__main__":
    main()
