"""Tests of the browser's clock as sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studyapp.rules.page_timing import MOST_OPENINGS, PageTiming, parse_openings


def test_it_works():
    sent = {
        "client_total_ms": "20000",
        "client_visible_ms": "18000",
        "client_hidden_ms": "2000",
        "hidden_count": "0",
        "first_interaction_ms": "950",
    }
    assert PageTiming.parse(sent) == PageTiming(20000, 18000, 2000, 0, 950)


def test_without_javascript_everything_is_missing():
    sent = {"client_total_ms": "", "client_visible_ms": "", "hidden_count": ""}
    assert PageTiming.parse(sent) == PageTiming(None, None, None, None, None)
    assert PageTiming.parse({}) == PageTiming()


@pytest.mark.parametrize(
    "sent", ["-1", "1.5", "NaN", "1e3", "0x10", "²", "٣", " 1", "2147483648", "9" * 5000]
)
def test_garbage_is_missing_never_zero(sent):
    assert PageTiming.parse({"client_total_ms": sent}).client_total_ms is None


def test_the_largest():
    assert PageTiming.parse({"client_total_ms": "2147483647"}).client_total_ms == 2**31 - 1


@given(st.text())
def test_never_an_error(sent):
    count = PageTiming.parse({"hidden_count": sent}).hidden_count
    assert count is None or 0 <= count < 2**31


class TestOpenings:
    def test_it_works(self):
        assert parse_openings('[["others", 1200, 3400]]') == [("others", 1200, 3400)]

    def test_none_opened_and_no_javascript_differ(self):
        assert parse_openings("[]") == []
        assert parse_openings("") is None

    @pytest.mark.parametrize(
        "row",
        [
            "others",
            ["others", 1],
            ["others", 1, 2, 3],
            ["Others", 1, 2],
            ["x" * 41, 1, 2],
            ["", 1, 2],
            [1, 1, 2],
            ["others", -1, 2],
            ["others", 1.5, 2],
            ["others", True, 2],
            ["others", None, 2],
            ["others", 1, 2**31],
        ],
    )
    def test_one_wrong_row_spoils_all(self, row):
        assert parse_openings(json.dumps([["others", 1, 2], row])) is None

    @pytest.mark.parametrize("sent", ["[" * 7000, "9" * 7000, '"others"', "{}", "null", "[[", "NaN", "[NaN]"])
    def test_garbage_is_missing(self, sent):
        assert parse_openings(sent) is None

    def test_the_log_is_bounded(self):
        row = ["x" * 40, 2**31 - 1, 2**31 - 1]
        assert len(parse_openings(json.dumps([row] * MOST_OPENINGS)) or []) == MOST_OPENINGS
        assert parse_openings(json.dumps([row] * (MOST_OPENINGS + 1))) is None

    @given(st.text())
    def test_never_an_error(self, sent):
        assert parse_openings(sent) is None or isinstance(parse_openings(sent), list)
