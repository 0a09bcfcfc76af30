"""Code points, tokens and UTF-16 units name the same places in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.formats.texts import build_span, find_code_point, find_touched_tokens, tokenize, trim_stretch
from tests.annotation.formats.records import passages, texts, unhurried


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in tokenize(text)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a 49-yard goal, 1,000.5 it", ["a", "49", "-", "yard", "goal", ",", "1,000.5", "it"]),
        ("don't it’s 'so'", ["don't", "it’s", "'", "so", "'"]),
        ("👩\u200d👩\u200d👧👍🏽 ☝️🏽", ["👩\u200d👩\u200d👧", "👍🏽", "☝️🏽"]),
        ("🇬🇧🇫🇷", ["🇬🇧", "🇫🇷"]),
        ("e\u0301cole न\u093fव", ["e\u0301cole", "न\u093fव"]),
        ("שלום\u00a0العربية\r\nx", ["שלום", "العربية", "x"]),
        ("a_b", ["a", "_", "b"]),
        (" \r\n\u00a0", []),
    ],
)  # fmt: skip
def test_tokens_are_what_a_person_would_mark(text: str, expected: list[str]):
    assert words(text) == expected


@unhurried
@given(texts)
def test_every_character_but_white_space_is_in_exactly_one_token(text: str):
    covered = [index for start, end in tokenize(text) for index in range(start, end)]
    assert covered == [index for index, character in enumerate(text) if not character.isspace()]


@unhurried
@given(passages, st.data())
def test_a_span_of_tokens_names_those_tokens(text: str, data: st.DataObject):
    tokens = tokenize(text)
    first = data.draw(st.integers(0, len(tokens) - 1))
    last = data.draw(st.integers(first, len(tokens) - 1))
    span = build_span("s", tokens[first][0], tokens[last][1], text, tokens)
    assert span.tokens == (first, last + 1)
    assert span.quote == text[span.span[0] : span.span[1]]


@unhurried
@given(passages, st.data())
def test_tokens_of_a_stretch_are_those_that_share_a_character_with_it(text: str, data: st.DataObject):
    tokens = tokenize(text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    touched = [number for number, (left, right) in enumerate(tokens) if left < end and right > start]
    if touched:
        assert find_touched_tokens(start, end, tokens) == (touched[0], touched[-1] + 1)
    else:
        with pytest.raises(ValueError, match="touch no token"):
            find_touched_tokens(start, end, tokens)


@unhurried
@given(texts)
def test_utf_16_units_are_those_of_a_browser(text: str):
    unit = 0
    for index, character in enumerate(text):
        assert find_code_point(text, unit) == index
        if ord(character) > 0xFFFF:
            with pytest.raises(ValueError, match="within a character"):
                find_code_point(text, unit + 1)
        unit += 2 if ord(character) > 0xFFFF else 1
    assert find_code_point(text, unit) == len(text)
    with pytest.raises(ValueError, match="has no UTF-16 unit"):
        find_code_point(text, unit + 1)


def test_a_span_outside_the_passage_is_refused():
    with pytest.raises(ValueError, match="outside the passage of 3"):
        build_span("s", 1, 4, "abc", tokenize("abc"))


def test_a_span_between_tokens_is_refused_and_can_be_trimmed():
    passage = "a \u00a0b\r\n c"
    with pytest.raises(ValueError, match="between tokens"):
        build_span("s", 1, 4, passage, tokenize(passage))
    assert trim_stretch(1, 6, passage) == (3, 4)
    assert trim_stretch(1, 3, passage) == (3, 3)
