"""Simulate sites of three sizes with measured costs.

Run ``python -m benchmarks.site.capacity``. It measures `benchmarks.site.unit_costs` first.

Requests of participants come at random, at the rate of the busiest time, and wait for one of the web server's
processes; that computes, asks the database, and waits for the disk at each write. Consents to one study wait
for each other, because each counts those before it. Each simulated request takes the times of a measured one.
Bar: 95 of 100 requests within 300 ms.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import simpy

from benchmarks.site.unit_costs import Costs, measure

Events = Generator[simpy.Event, None, None]
MOST_P95_MS = 300.0
SECONDS_A_DAY = 86_400
COMMIT_MS = 1.5  # an SSD that keeps what it has through a power cut
WEB_USE, DATABASE_USE = 0.7, 0.5  # on average in the busiest time; the database needs room for maintenance


@dataclass(frozen=True)
class Size:
    """The number of participants, and when they come.

    Attributes:
        name: Its name in the table.
        participants: Participants a day.
        peak: Participants of the busiest time as a multiple of the mean of the day.
        studies: Studies that are open at once.
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
    Size("lab: 200, all in half an hour", 200, 48.0, 1),
    Size("platform: 20,000 a day, 20 studies", 20_000, 3.0, 20),
    Size("internet: 1,000,000 a day, 100 studies", 1_000_000, 3.0, 100),
    Size("internet: 1,000,000 a day, one study", 1_000_000, 3.0, 1),
)


@dataclass(frozen=True)
class Kind:
    """A kind of request.

    Attributes:
        name: Its name in the table of unit costs.
        times: Number of times that a participant sends it.
        costs: Milliseconds of web process and database of measured requests.
    """

    name: str
    times: float
    costs: Sequence[tuple[float, float]]

    @property
    def is_consent(self) -> bool:
        """Return True if it waits for others to the same study."""
        return self.name == "consent, sent"

    @property
    def commit_ms(self) -> float:
        """Return how long it waits for the disk."""
        return COMMIT_MS if self.name.endswith("sent") else 0.0

    @property
    def database_ms(self) -> float:
        """Return the mean time that the database computes."""
        return statistics.fmean(database for _web, database in self.costs)

    @property
    def busy_ms(self) -> float:
        """Return the mean time that a web process of an idle site is busy."""
        return statistics.fmean(web for web, _ in self.costs) + self.database_ms + self.commit_ms


@dataclass(frozen=True)
class Result:
    """The parts of a site, and what a simulation of them gave."""

    requests: float  # a second
    processes: int
    cores: int  # of the database
    p95_ms: float
    consent_use: float  # share of the time in which a study admits somebody
    consent_p95_ms: float

    def cells(self) -> list[str]:
        """Return the cells of its row."""
        return [
            f"{self.requests:,.0f}", f"{self.processes}", f"{self.cores}", f"{self.p95_ms:.0f} ms",
            f"{self.consent_use:.0%}", f"{self.consent_p95_ms:.0f} ms",
        ]  # fmt: skip


def list_kinds(costs: Costs) -> list[Kind]:
    """Return the kinds of requests of participants."""
    return [
        Kind(name, len(requests) / costs.participants, costs.list_costs(name))
        for name, requests in costs.requests.items()
    ]


class Site:
    """A site under load; times in milliseconds."""

    def __init__(self, kinds: Sequence[Kind], processes: int, cores: int, studies: int, seed: int) -> None:
        self.env, self.rng, self.kinds = simpy.Environment(), random.Random(seed), kinds
        self.web, self.database = (simpy.Resource(self.env, count) for count in (processes, cores))
        self.studies = [simpy.Resource(self.env, 1) for _study in range(studies)]
        self.took: list[float] = []
        self.consents_took: list[float] = []

    def arrivals(self, rate: float, until: float) -> Events:
        """Have requests come at a rate a millisecond."""
        shares = [kind.times for kind in self.kinds]
        while self.env.now < until:
            yield self.env.timeout(self.rng.expovariate(rate))
            self.env.process(self.request(self.rng.choices(self.kinds, shares)[0]))

    def request(self, kind: Kind) -> Events:
        """Answer a request."""
        begun = self.env.now
        web_ms, database_ms = self.rng.choice(kind.costs)
        with ExitStack() as held:
            yield held.enter_context(self.web.request())
            if kind.is_consent:
                yield held.enter_context(self.rng.choice(self.studies).request())
            yield self.env.timeout(web_ms)
            with self.database.request() as core:
                yield core
                yield self.env.timeout(database_ms)
            yield self.env.timeout(kind.commit_ms)
        (self.consents_took if kind.is_consent else self.took).append(self.env.now - begun)


def simulate(
    size: Size, kinds: Sequence[Kind], processes: int, cores: int, *, seconds: float = 30.0, seed: int = 1
) -> Result:
    """Simulate the busiest time of a site."""
    site = Site(kinds, processes, cores, size.studies, seed)
    requests = size.arrivals * sum(kind.times for kind in kinds)
    site.env.process(site.arrivals(requests / 1000, 1000 * seconds))
    site.env.run()
    consent = sum(kind.times * kind.busy_ms for kind in kinds if kind.is_consent)
    use = size.arrivals / size.studies * consent / 1000
    return Result(requests, processes, cores, p95(site.took), use, p95(site.consents_took))


def p95(times: list[float]) -> float:
    """Return the time within which 95 of 100 were answered."""
    return sorted(times)[int(len(times) * 0.95)] if times else 0.0


def simulate_plan(size: Size, kinds: Sequence[Kind]) -> Result:
    """Simulate the parts that keep use below the limits, on average."""
    web, database = (
        size.arrivals * sum(kind.times * ms for kind, ms in costs) / 1000
        for costs in (
            [(kind, kind.busy_ms) for kind in kinds],
            [(kind, kind.database_ms) for kind in kinds],
        )
    )
    return simulate(size, kinds, math.ceil(web / WEB_USE), math.ceil(database / DATABASE_USE))


def main() -> int:
    """Print a row for each size; return 1 if one misses the bar."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.capacity", description="Sites of three sizes."
    )
    parser.add_argument("--participants", type=int, default=60, help="to measure with")
    costs = measure(parser.parse_args().participants)
    kinds, missed = list_kinds(costs), False
    print("| size | requests/s | web processes | database cores | 95 % within | use of a study's consents "
          "| consents, 95 % | tables, GB a day | written ahead, GB a day |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for size in SIZES:
        result = simulate_plan(size, kinds)
        missed |= result.p95_ms > MOST_P95_MS
        bytes_each = costs.bytes_each, costs.written_ahead_each
        storage = [f"{size.participants * volume / 1e9:.2f}" for volume in bytes_each]
        print(f"| {' | '.join([size.name, *result.cells(), *storage])} |", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
