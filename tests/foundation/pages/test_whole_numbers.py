import pytest

from foundation.pages.whole_numbers import KEY_DIGITS, parse_whole_number


@pytest.mark.parametrize("text", ["", " ", "-1", "+1", "1.0", "1 ", "²", "٣", "a", "9" * (KEY_DIGITS + 1)])
def test_anything_but_a_whole_number_is_none(text: str) -> None:
    assert parse_whole_number(text) is None


def test_a_key_of_the_database_and_no_longer_number() -> None:
    assert parse_whole_number("0") == 0
    assert parse_whole_number("9" * KEY_DIGITS) == 10**KEY_DIGITS - 1 < 2**63
    assert parse_whole_number("1234567", 6) is None
