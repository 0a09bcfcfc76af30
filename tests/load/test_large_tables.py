"""Pages over many rows open quickly.

They cost hardly more with ten times the rows. `python -m benchmarks.site.large_pages` measures the same pages
with 100,000 rows of each kind, cold and warm.
"""

from __future__ import annotations

import gc
import time

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.site._large_data import fill, list_pages
from benchmarks.site.large_pages import read_busy_time
from tests.soak import WHOLE

pytestmark = [pytest.mark.django_db, pytest.mark.database]

FEW, MANY = 600, 6_000
BAR = 0.6  # seconds of processor time: some test machines are three times slower than others
GROWTH, SLACK = 2, 0.05  # times, and seconds on top, for counts that read a narrow index
TURNS = 8  # at most, because neighbours on the processor cost a page time now and then


def opened(rows: int, allowed: dict[str, float] | None = None) -> dict[str, tuple[float, int]]:
    """The processor seconds and the queries of every page, of the best turn.

    There are two turns where nothing is ``allowed`` yet, else one, and more while a page takes longer.
    """
    figures, fewest = {}, 2 if allowed is None else 1
    with transaction.atomic():
        gc.disable()  # looking for garbage among so many rows takes a fifth of the time
        try:
            large = fill(rows)
        finally:
            gc.enable()
        client = Client()
        client.force_login(large.owner)
        for name, address in list_pages(large).items():
            most = BAR if allowed is None else min(BAR, allowed[name])
            turns: list[float] = []
            while len(turns) < fewest or (min(turns) > most and len(turns) < TURNS):
                with CaptureQueriesContext(connection) as captured:
                    begun = time.process_time_ns() + read_busy_time(connection)
                    assert client.get(address).status_code == 200, address
                    turns.append((time.process_time_ns() + read_busy_time(connection) - begun) / 1e9)
            figures[name] = (min(turns), len(captured))
        transaction.set_rollback(True)
    return figures


@pytest.mark.soak
def test_ten_times_the_rows_cost_hardly_more():
    if connection.vendor == "sqlite" and not WHOLE:
        pytest.skip("make soak runs it on SQLite, make test on PostgreSQL")
    few = opened(FEW)
    allowed = {name: GROWTH * seconds + SLACK for name, (seconds, _queries) in few.items()}
    many = opened(MANY, allowed)
    assert {name for name, (_seconds, queries) in many.items() if queries > few[name][1]} == set()
    assert {name: seconds for name, (seconds, _queries) in many.items() if seconds > BAR} == {}
    grown = {
        name: (few[name][0], seconds) for name, (seconds, _queries) in many.items() if seconds > allowed[name]
    }
    assert grown == {}
