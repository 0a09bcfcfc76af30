"""Seconds between two times are known unless the clock was set back."""

from datetime import UTC, datetime, timedelta

from foundation.database.days import seconds_between

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_it_works() -> None:
    assert seconds_between(NOON, NOON + timedelta(milliseconds=1500)) == 1.5
    assert seconds_between(NOON, NOON) == 0


def test_unknown() -> None:
    assert seconds_between(NOON, NOON - timedelta(seconds=1)) is None
    assert seconds_between(None, NOON) is None
    assert seconds_between(NOON, None) is None
