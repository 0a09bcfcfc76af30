"""Seconds between two times are known unless the clock was set back."""

from datetime import UTC, datetime, timedelta

from foundation.database.days import measure_seconds

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_it_works() -> None:
    assert measure_seconds(NOON, NOON + timedelta(milliseconds=1500)) == 1.5
    assert measure_seconds(NOON, NOON) == 0


def test_unknown() -> None:
    assert measure_seconds(NOON, NOON - timedelta(seconds=1)) is None
    assert measure_seconds(None, NOON) is None
    assert measure_seconds(NOON, None) is None
