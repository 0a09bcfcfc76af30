"""The simulation of sites agrees with the theory of queues.

It also shows consents that wait for each other.
"""

from __future__ import annotations

import random

import pytest

from benchmarks.site.capacity import Kind, Size, simulate, simulate_plan


def test_times_are_those_of_the_theory() -> None:
    rng = random.Random(7)
    kind = Kind("item, shown", 1.0, [(rng.expovariate(0.1), 0.0) for _request in range(5_000)])
    # 70 requests a second of 10 ms each: the time in an M/M/1 queue is exponential with mean 10/(1 - 0.7).
    size = Size("", 86_400 * 70, 1.0, 1)
    assert simulate(size, [kind], 1, 1, seconds=200).p95_ms == pytest.approx(33.3 * 2.996, rel=0.2)


def test_consents_to_one_study_wait_for_each_other() -> None:
    kinds = [Kind("consent, sent", 1.0, [(10.0, 2.0)]), Kind("item, sent", 10.0, [(2.0, 1.0)])]
    apart, together = (
        simulate(Size("", 4_000_000, 1.0, studies), kinds, 12, 4, seconds=10) for studies in (50, 1)
    )
    assert apart.requests == together.requests == pytest.approx(4_000_000 / 86_400 * 11)
    assert together.consent_use == pytest.approx(50 * apart.consent_use)
    assert together.consent_p95_ms > 1.5 * apart.consent_p95_ms


def test_a_plan_has_room() -> None:
    result = simulate_plan(Size("", 8_640_000, 1.0, 1), [Kind("item, sent", 1.0, [(4.0, 1.5)])])
    assert (result.processes, result.cores) == (1, 1)  # busy for 0.7 and 0.15 of the time
    assert 7.0 < result.p95_ms < 100
