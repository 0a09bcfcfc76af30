"""Tests of time limits by the server's clock."""

import pytest

from studyapp.rules.time_limits import compute_time_left, has_run_out, is_too_late


@pytest.mark.parametrize(
    ("seconds", "at_the_end", "over", "too_late"),
    [
        (29.0, True, False, False),
        (30.0, True, True, False),
        (34.0, False, False, False),
        (35.5, False, True, True),
        (None, True, False, False),
    ],
)
def test_it_works(seconds, at_the_end, over, too_late):
    assert has_run_out(seconds, 30, sent_at_the_end=at_the_end) is over
    assert is_too_late(seconds, 30) is too_late
    assert has_run_out(seconds, None, sent_at_the_end=at_the_end) is False
    assert is_too_late(seconds, None) is False


def test_what_is_left_is_rounded_up_and_never_below_zero():
    assert [compute_time_left(seconds, 30) for seconds in (None, 0.4, 29.9, 31)] == [30, 30, 1, 0]
    assert compute_time_left(3.0, None) is None
