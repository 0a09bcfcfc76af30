"""Texts that show nothing, although they have characters.

Pure: no Django.
"""

import unicodedata

from pydantic import AfterValidator

from foundation.messages import value_error

# Control and format characters, and the three kinds of separators.
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
# Letters and marks that Unicode counts among neither, and that fonts show as nothing.
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe0e\ufe0f\uffa0"


def is_blank(text: str) -> bool:
    """Tell if a text has only spaces, control and zero-width characters."""
    return all(sign in _FILLERS or unicodedata.category(sign) in _UNSEEN for sign in text)


def _check_visible(text: str) -> str:
    if text and is_blank(text):
        raise value_error("this text has no visible character")
    return text


# Of a text that people read.
VISIBLE = AfterValidator(_check_visible)
