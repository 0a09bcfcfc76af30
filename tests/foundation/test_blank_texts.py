"""Blank texts: all that a reader cannot see counts as nothing."""

from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from foundation.blank_texts import VISIBLE, is_blank


@pytest.mark.parametrize(
    "text", ["", " ", "\t\n", "\u00a0", "\u200b", " \u200d\ufeff ", "\u2800", "\u3164\ufe0f"]
)
def test_blank_texts(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " \u200b. ", "\u540d", "\U0001f600", "\u2764\ufe0f", "\u0301"])
def test_texts_that_show_something(text: str) -> None:
    assert not is_blank(text)


def test_a_text_for_people_shows_something() -> None:
    text = TypeAdapter(Annotated[str, VISIBLE])
    assert text.validate_python("") == ""  # whether a text may be missing is for its length to say
    with pytest.raises(ValidationError, match="has no visible character"):
        text.validate_python("\u200b")
