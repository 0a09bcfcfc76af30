"""Simulate sites of three sizes with measured costs.

Run ``python -m benchmarks.capacity [--costs FILE.json]``.

Requests of participants come at random, at the rate of the busiest hour, and wait for one of the web
server's processes; that computes, asks the database, and waits for the disk at each write. Consents to one
study wait for each other, because each counts those before it. The times are those that
`benchmarks.unit_costs` has measured; each simulated request draws its own. For each size the fewest processes
are sought with which 95 of 100 requests take 300 ms at most.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import math
import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.processes import ROOT

COSTS = ROOT / "benchmarks/unit_costs.json"
MOST_P95_MS = 300.0
SECONDS_A_DAY = 86_400
# A commit waits for the disk of the server: an SSD that keeps what it has through a power cut.
COMMIT_MS = 1.5
MOST_USE = 0.7  # of the processes; a longer peak would pile up at more
Act = Callable[[], None]


@dataclass(frozen=True)
class Size:
    """How many participants come, and when.

    Attributes:
        name: What it is called in the table.
        participants: Participants a day.
        peak: How many times the mean of the day come in its busiest time.
        studies: Studies that are open at once; consents to each wait for each other.
    """

    name: str
    participants: int
    peak: float
    studies: int

    @property
    def arrivals(self) -> float:
        """Return participants a second in the busiest time."""
        return self.participants * self.peak / SECONDS_A_DAY


SIZES = (
    # 200 in half an hour, as of a course.
    Size("lab: 200, all in half an hour", 200, 48.0, 1),
    Size("platform: 20,000 a day", 20_000, 3.0, 20),
    Size("internet: 1,000,000 a day, 100 studies", 1_000_000, 3.0, 100),
    Size("internet: 1,000,000 a day, one study", 1_000_000, 3.0, 1),
)


@dataclass(frozen=True)
class Kind:
    """A kind of request: how often a participant sends it, and its times in milliseconds."""

    name: str
    share: float
    web: Sequence[float]
    database: Sequence[float]

    @property
    def is_write(self) -> bool:
        """Return True if the request waits for the disk."""
        return self.name.endswith("sent")

    @property
    def is_consent(self) -> bool:
        """Return True if the request waits for others to the same study."""
        return self.name == "consent, sent"

    @property
    def mean_ms(self) -> float:
        """Return how long the request keeps a process of an idle site."""
        return mean(self.web) + mean(self.database) + COMMIT_MS * self.is_write


class Clock:
    """Events in the order of their times."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Act]] = []
        self._numbers = itertools.count()

    def after(self, seconds: float, act: Act) -> None:
        """Do something after some seconds."""
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), act))

    def run(self) -> None:
        """Let time pass until nothing is left to do."""
        while self._events:
            self.now, _, act = heapq.heappop(self._events)
            act()


class Servers:
    """Some servers and one queue: first come, first served."""

    def __init__(self, clock: Clock, count: int) -> None:
        self._clock, self._free, self._waiting = clock, count, deque[Act]()
        self.busy = 0.0  # seconds of all servers together

    def serve(self, seconds: float, act: Act) -> None:
        """Keep one server for some seconds as soon as it is free; then go on."""

        def begin() -> None:
            self.busy += seconds
            self._clock.after(seconds, end)

        def end() -> None:
            self.give_back()
            act()

        self.take(begin)

    def take(self, act: Act) -> None:
        """Go on as soon as a server is free; keep it until ``give_back``."""
        if self._free:
            self._free -= 1
            act()
        else:
            self._waiting.append(act)

    def give_back(self) -> None:
        """Leave a server to the next who waits."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._free += 1


@dataclass
class Site:
    """A site under load."""

    clock: Clock
    web: Servers
    database: Servers
    versions: list[Servers]
    rng: random.Random
    seconds: list[float] = field(default_factory=list)
    consents: list[float] = field(default_factory=list)

    def request(self, kind: Kind) -> None:
        """Have a request come in now."""
        begun = self.clock.now
        web, database = (draw(self.rng, times) / 1000 for times in (kind.web, kind.database))
        commit = COMMIT_MS / 1000 * kind.is_write
        version = self.rng.choice(self.versions) if kind.is_consent else None

        def compute() -> None:
            self.clock.after(0.0 if version else web, ask)

        def ask() -> None:
            if version:
                version.take(lambda: self.clock.after(web, query))
            else:
                query()

        def query() -> None:
            self.database.serve(database, lambda: self.clock.after(commit, answer))

        def answer() -> None:
            if version:
                version.give_back()
            self.web.give_back()
            (self.consents if version else self.seconds).append(self.clock.now - begun)

        self.web.take(compute)


@dataclass(frozen=True)
class Result:
    """What a simulation found."""

    processes: int
    cores: int
    requests: float  # a second
    p95_ms: float
    consent_p95_ms: float
    database_use: float  # share of its cores


def mean(times: Sequence[float]) -> float:
    """Return the mean of times given by their quantiles."""
    return sum(times) / len(times)


def draw(rng: random.Random, times: Sequence[float]) -> float:
    """Draw one of the times."""
    return times[int(rng.random() * len(times))]


def kinds_of(costs: dict[str, Any]) -> list[Kind]:
    """Return the kinds of requests of participants."""
    return [
        Kind(name, cost["n"] / costs["participants"], cost["web_ms"], cost["database_ms"])
        for name, cost in costs["pages"].items()
    ]


def simulate(
    size: Size, kinds: Sequence[Kind], processes: int, cores: int, *, seconds: float = 60.0, seed: int = 1
) -> Result:
    """Simulate the busiest time of a site."""
    clock, rng = Clock(), random.Random(seed)
    site = Site(
        clock,
        Servers(clock, processes),
        Servers(clock, cores),
        [Servers(clock, 1) for _ in range(size.studies)],
        rng,
    )
    rate = size.arrivals * sum(kind.share for kind in kinds)
    shares = [kind.share for kind in kinds]

    def arrive() -> None:
        site.request(rng.choices(kinds, shares)[0])
        if clock.now < seconds:
            clock.after(rng.expovariate(rate), arrive)

    clock.after(rng.expovariate(rate), arrive)
    clock.run()
    return Result(
        processes, cores, rate, p95_ms(site.seconds), p95_ms(site.consents),
        site.database.busy / clock.now / cores,
    )  # fmt: skip


def p95_ms(seconds: list[float]) -> float:
    """Return the milliseconds within which 95 of 100 were answered."""
    return 1000 * sorted(seconds)[int(len(seconds) * 0.95)] if seconds else 0.0


def fewest(size: Size, kinds: Sequence[Kind]) -> Result:
    """Return the simulation with the fewest processes that meets the bar.

    Consents to one study may take longer than the bar: no process helps them. The search ends at three times
    the processes that the load needs.
    """
    load = size.arrivals * sum(kind.share * kind.mean_ms for kind in kinds) / 1000
    of_database = size.arrivals * sum(kind.share * mean(kind.database) for kind in kinds) / 1000
    cores = max(1, math.ceil(2 * of_database))  # half used, so that maintenance has room
    least = max(1, math.ceil(load / MOST_USE))
    result = None
    for processes in range(least, 3 * least + 2):
        result = simulate(size, kinds, processes, cores)
        if result.p95_ms <= MOST_P95_MS:
            break
    assert result is not None
    return result


def storage(size: Size, costs: dict[str, Any]) -> tuple[float, float]:
    """Return GB a day in tables and written ahead."""
    bytes_each = sum(costs["bytes_a_participant"].values())
    return (
        size.participants * bytes_each / 1e9,
        size.participants * costs["wal_bytes_a_participant"] / 1e9,
    )


def main() -> int:
    """Print a row for each size; return 1 if a size cannot meet the bar."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.capacity", description="Sites of three sizes."
    )
    parser.add_argument("--costs", type=Path, default=COSTS, help="the file of benchmarks.unit_costs")
    options = parser.parse_args()
    costs = json.loads(options.costs.read_text(encoding="utf-8"))
    kinds = kinds_of(costs)
    print(
        "| size | requests/s | web processes | database cores | their use | 95 % within | consents, 95 % "
        "| tables, GB a day | WAL, GB a day |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    missed = False
    for size in SIZES:
        result = fewest(size, kinds)
        missed |= result.p95_ms > MOST_P95_MS
        tables, ahead = storage(size, costs)
        print(
            f"| {size.name} | {result.requests:.0f} | {result.processes} | {result.cores} "
            f"| {result.database_use:.0%} | {result.p95_ms:.0f} ms | {result.consent_p95_ms:.0f} ms "
            f"| {tables:.2f} | {ahead:.2f} |",
            flush=True,
        )
    hold = next(kind for kind in kinds if kind.is_consent).mean_ms
    print(
        f"\nOne study admits at most {1000 / hold:.0f} participants a second: a consent takes {hold:.1f} ms."
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
