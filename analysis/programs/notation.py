r"""Notation of a single module: its name, and its argument in `[ ]`.

Inside the brackets a backslash takes the next character as it is, so `\[`, `\]` and `\\` are those
characters; `\n`, `\r` and `\t` are a line break, a carriage return and a tab. White space around an argument
does not count unless it is escaped. Every argument is written so that reading gives it back.
"""

import re

from .errors import ProgramError

_INSIDE = re.compile(r"(?:[^\[\]\\]|\\.)*", re.DOTALL)
_TO_ESCAPE = re.compile(r"[\[\]\\\n\r\t]|^\s|\s\Z")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_LETTERS = {character: letter for letter, character in _CONTROLS.items()}


def format_module(module: str, argument: str | None) -> str:
    """Print one module: `find[dogs]`."""
    return module if argument is None else f"{module}[{escape(argument)}]"


def escape(argument: str) -> str:
    """Escape an argument as it stands between brackets."""
    return _TO_ESCAPE.sub(lambda match: "\\" + _LETTERS.get(match[0], match[0]), argument)


def unescape(text: str) -> str:
    """Undo `escape` of an argument, dropping unescaped white space around it."""
    if "\\" not in text:
        return text.strip()
    text = text.lstrip()
    bare = text.rstrip()
    if len(bare) < len(text) and (len(bare) - len(bare.rstrip("\\"))) % 2:
        bare = text[: len(bare) + 1]  # the backslash at the end holds the white space after it
    return _ESCAPED.sub(lambda match: _CONTROLS.get(match[1], match[1]), bare)


def read_argument(text: str, offset: int) -> tuple[str | None, int]:
    """Read the argument at an offset, and the offset after its bracket.

    The argument is None if none begins there.
    """
    if text[offset : offset + 1] != "[":
        return None, offset
    match = _INSIDE.match(text, offset + 1)
    assert match is not None  # it also matches nothing
    after = text[match.end() : match.end() + 1]
    if after == "[":
        raise ProgramError.from_offset(
            "a bracket inside an argument is written \\[ or \\]", text, match.end()
        )
    if after != "]":
        raise ProgramError.from_offset("the argument that begins here has no “]”", text, offset)
    return unescape(match[0]), match.end() + 1
