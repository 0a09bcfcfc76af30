"""Numbers and dates read from text."""

import pytest

from analysis.programs import date_of, number_of
from analysis.programs.values import compare_dates, count_years_between


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("49-yard field goal", 49),
        ("1,400 Portuguese soldiers", 1400),
        ("26.20 % under the age of 18", 26.2),
        (".5", 0.5),
        ("a six - yard touchdown pass", 6),
        ("twenty-one", 21),
        ("two hundred and five", 205),
        ("three thousand two hundred", 3200),
        ("1.5 million", 1_500_000),
        ("two million", 2_000_000),
        ("six or 7", 6),
        ("7 or six", 7),
        ("someone else", None),
        ("hundred", None),
        ("", None),
    ],
)
def test_numbers(text, number):
    assert number_of(text) == number


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("In 1740", "1740"),
        ("September 6 , 2006", "2006-09-06"),
        ("6 September 2006", "2006-09-06"),
        ("the 16th of October 1579", "1579-10-16"),
        ("May 1834", "1834-05"),
        ("31 August , 2000", "2000-08-31"),
        ("Sept. 1998", "1998-09"),
        ("1998-09-30", "1998-09-30"),
        ("In 305 BCE", "-0304"),
        ("44 BC", "-0043"),
        ("1 B.C.", "0000"),
        ("The following year", None),
        ("6 September", None),
        ("1998-13-01", None),
    ],
)
def test_dates(text, date):
    assert date_of(text) == date


@pytest.mark.parametrize(
    ("first", "second", "sign"),
    [
        ("1905", "1906-01", -1),
        ("1905-12", "1905-02", 1),
        ("1905", "1905", 0),
        ("1905", "1905-12", None),
        ("-0304", "-0179", -1),
    ],
)
def test_order(first, second, sign):
    assert compare_dates(first, second) == sign


def test_years_between():
    assert count_years_between("1905-12-31", "1906-01-01") == 1
    assert count_years_between("-0304", "-0179") == 125
    assert count_years_between("0000", "0001") == 1  # there is no year 0: 1 BCE comes before 1 CE
