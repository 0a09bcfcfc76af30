"""The simulation of sites agrees with the theory of queues, and finds what the theory cannot."""

from __future__ import annotations

import json
import math
import random
import statistics

import pytest

from benchmarks.capacity import COSTS, Clock, Kind, Servers, Size, fewest, kinds_of, simulate, storage


def erlang_c(load: float, servers: int) -> float:
    """The probability that a request waits, when ``load`` servers are busy on average."""
    waiting = load**servers / math.factorial(servers) * servers / (servers - load)
    return waiting / (sum(load**n / math.factorial(n) for n in range(servers)) + waiting)


@pytest.mark.parametrize(("load", "servers"), [(0.7, 1), (2.4, 3)])
def test_waiting_is_that_of_the_theory(load: float, servers: int) -> None:
    clock, rng, waited = Clock(), random.Random(7), list[float]()
    queue = Servers(clock, servers)

    def come(left: int) -> None:
        begun, takes = clock.now, rng.expovariate(1.0)
        queue.serve(takes, lambda: waited.append(clock.now - begun - takes))
        if left:
            clock.after(rng.expovariate(load), lambda: come(left - 1))

    come(60_000)
    clock.run()
    expected = erlang_c(load, servers) / (servers - load)
    assert statistics.fmean(waited) == pytest.approx(expected, rel=0.1)


def test_consents_to_one_study_wait_for_each_other() -> None:
    kinds = [Kind("consent, sent", 1.0, [10.0], [2.0]), Kind("item, sent", 10.0, [2.0], [1.0])]
    apart = simulate(Size("many", 4_000_000, 1.0, 50), kinds, 12, 4, seconds=20)
    together = simulate(Size("one", 4_000_000, 1.0, 1), kinds, 12, 4, seconds=20)
    assert apart.requests == together.requests == pytest.approx(4_000_000 / 86_400 * 11)
    assert together.consent_p95_ms > 1.5 * apart.consent_p95_ms


def test_a_lab_needs_one_process_with_the_measured_costs() -> None:
    costs = json.loads(COSTS.read_text(encoding="utf-8"))
    kinds = kinds_of(costs)
    assert {"consent, sent", "item, shown", "item, sent"} <= {kind.name for kind in kinds}
    lab = Size("lab", 200, 48.0, 1)
    assert fewest(lab, kinds).processes == 1
    tables, ahead = storage(lab, costs)
    assert 0 < tables < ahead
